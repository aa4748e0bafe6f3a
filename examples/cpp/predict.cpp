// Predicts with an exported network: builds the H-tree by the core of neuraltrees and runs the package of AOTInductor.
//
//     neuraltrees export model.safetensors --format aoti --out model.pt2
//     predict model.pt2 graph.txt
//
// graph.txt has the number of nodes, features and edges; then a line per node with its type and its features, and a
// line per edge with its two ends. For a network on H-trees of one or several node types, without edge features.
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "neuraltrees/decompose.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/htree.hpp"

namespace {

struct Input {
    torch::Tensor x, node_type;
    neuraltrees::Graph graph;
};

Input read(const std::string& path) {
    std::ifstream file(path);
    std::int64_t nodes = 0, features = 0, edges = 0;
    if (!(file >> nodes >> features >> edges) || nodes < 1 || features < 1 || edges < 0) {
        throw std::runtime_error("Expected nodes, features and edges in the first line of " + path + ".");
    }
    Input input{torch::empty({nodes, features}), torch::empty({nodes}, torch::kInt64), {}};
    auto x = input.x.accessor<float, 2>();
    auto type = input.node_type.accessor<std::int64_t, 1>();
    for (std::int64_t v = 0; v < nodes; ++v) {
        file >> type[v];
        for (std::int64_t i = 0; i < features; ++i) file >> x[v][i];
    }
    std::vector<std::int64_t> source(edges), target(edges);
    for (std::int64_t e = 0; e < edges; ++e) file >> source[e] >> target[e];
    if (!file) throw std::runtime_error("Expected more numbers in " + path + "; it ends too soon.");
    input.graph = neuraltrees::graph_from_edges(source, target, nodes);
    return input;
}

torch::Tensor tensor(const neuraltrees::Buffer& buffer) {
    const auto view = buffer.view();
    const auto size = static_cast<std::int64_t>(view.size());
    return torch::from_blob(const_cast<std::int64_t*>(view.data()), {size}, torch::kInt64).clone();
}

}  // namespace

int main(int count, char** arguments) try {
    if (count != 3) throw std::runtime_error("Usage: predict model.pt2 graph.txt");
    torch::inductor::AOTIModelPackageLoader model(arguments[1]);
    const Input input = read(arguments[2]);

    const auto decomposition = neuraltrees::decompose(input.graph, {});
    const neuraltrees::HTree tree = neuraltrees::build_htree(input.graph, decomposition, {});

    // The package says which inputs it has, in which order.
    const std::string about = model.get_metadata().at("neuraltrees.json");
    const std::string listed = about.substr(0, about.find(']'));
    std::vector<torch::Tensor> inputs;
    const auto add = [&](const char* name, const torch::Tensor& value) {
        if (listed.find('"' + std::string(name) + '"') != std::string::npos) inputs.push_back(value);
    };
    add("x", input.x);
    add("edge_index", tensor(tree.edge_index).view({2, -1}));
    add("kappa", tensor(tree.kappa));
    add("node_type", input.node_type);
    add("edge_type", tensor(tree.edge_type));
    const torch::Tensor sizes = torch::diff(tensor(tree.bag_ptr));
    const torch::Tensor nodes = torch::repeat_interleave(torch::arange(sizes.size(0)), sizes);
    add("members", torch::stack({nodes, tensor(tree.bag_nodes)}));

    const torch::Tensor answers = model.run(inputs).at(0).contiguous();
    const auto row = answers.accessor<float, 2>();
    for (std::int64_t v = 0; v < answers.size(0); ++v) {
        for (std::int64_t c = 0; c < answers.size(1); ++c) std::printf(c ? " %.7f" : "%.7f", row[v][c]);
        std::printf("\n");
    }
    return 0;
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
