#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "decompositions.hpp"
#include "graphs.hpp"
#include "neuraltrees/decompose.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/htree.hpp"
#include "neuraltrees/pace.hpp"
#include "neuraltrees/sampling.hpp"
#include "oracles.hpp"

using namespace neuraltrees;

namespace {

[[noreturn]] void crash(const std::string& why) {
    std::fprintf(stderr, "fuzz: %s\n", why.c_str());
    std::abort();
}

void require(bool condition, const char* what) {
    if (!condition) crash(std::string("broken promise: ") + what);
}

void require_none(const std::optional<std::string>& violation, const char* what) {
    if (violation) crash(std::string(what) + ": " + *violation);
}

/// The bytes of an input, one decision after another; zeros once they are used up.
class Bytes {
public:
    Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    bool left() const { return at_ < size_; }
    int byte() { return left() ? data_[at_++] : 0; }
    int below(int n) { return byte() % n; }
    std::uint64_t number(int bytes) {
        std::uint64_t out = 0;
        for (int i = 0; i < bytes; ++i) out = out << 8 | static_cast<std::uint64_t>(byte());
        return out;
    }
    std::string_view rest() {
        const auto* begin = reinterpret_cast<const char*>(data_ + at_);
        const std::size_t count = size_ - at_;
        at_ = size_;
        return {begin, count};
    }

private:
    const std::uint8_t* data_;
    std::size_t size_, at_ = 0;
};

/// A graph of up to `most` nodes: listed edge by edge, drawn from a seed, or two such graphs that share a node or none.
Graph graph_of(Bytes& in, int most, int depth = 0) {
    switch (in.below(depth == 0 ? 5 : 3)) {
        case 0: {
            const int n = 1 + in.below(std::min(most, 24));
            Edges edges;
            for (int i = in.below(64); i > 0 && in.left(); --i) {
                const int u = in.below(n);  // the order of two calls within one expression is not fixed
                edges.push_back({u, in.below(n)});
            }
            return graph(n, edges);
        }
        case 1: {
            const int n = in.below(most + 1), density = in.byte();
            return random_graph(n, density / 255.0, in.number(2));
        }
        case 2: {
            const int n = 1 + in.below(most), k = 1 + in.below(9), keep = in.byte();
            return partial_k_tree(n, k, keep / 255.0, in.number(2));
        }
        case 3: {
            const Graph a = graph_of(in, most / 2, 1);
            return disjoint_union({a, graph_of(in, most / 2, 1)});
        }
        default: {
            // A node in common: what hangs there is a part of its own to the safe reductions.
            const Graph a = graph_of(in, most / 2, 1), b = cocktail_party(2 + in.below(10));
            Edges edges = edges_of(a);
            const std::int64_t n = a.view().num_nodes(), at = n == 0 ? 0 : in.below(static_cast<int>(n));
            auto name = [&](std::int64_t v) { return v == 0 ? at : std::max<std::int64_t>(n, 1) + v - 1; };
            for (auto [u, v] : edges_of(b)) edges.push_back({name(u), name(v)});
            return graph(std::max<std::int64_t>(n, 1) + b.view().num_nodes() - 1, edges);
        }
    }
}

HTreeView view(const HTree& t) {
    return {t.parent.view(),    t.level.view(),      t.kappa.view(),     t.component.view(), t.bag_ptr.view(),
            t.bag_nodes.view(), t.edge_index.view(), t.edge_type.view(), t.kind.view()};
}

void build_and_check(const Graph& g, const TreeDecomposition& td, Bytes& in) {
    HTreeOptions options;
    options.nested.method = static_cast<Method>(in.below(6));
    options.terminal = in.below(3) == 0 ? Terminal::bag : Terminal::clique;
    options.nested.seed = in.byte();
    options.nested.restarts = 1 + in.below(4);
    options.nested.threads = 1 + in.below(3);
    options.max_nodes = 1 + static_cast<std::int64_t>(in.number(1)) * 64;
    try {
        const HTree tree = build_htree(g, td, options);
        require(tree.parent.size <= options.max_nodes, "no more nodes than allowed");
        require_none(first_violation(g, view(tree)), "the H-tree");
        const auto trees = static_cast<std::int64_t>(diameters(view(tree)).size());
        require(trees == connected_components(g).count(), "a diameter a component");
    } catch (const TreeTooLargeError& error) {
        require(error.limit == options.max_nodes, "the error names the limit");
    }
}

void fuzz_decompose(Bytes& in) {
    const Graph g = graph_of(in, 110);
    const int exact = g.view().num_nodes() <= 9 ? oracle::treewidth(g) : -1;
    DecomposeOptions options;
    options.seed = in.byte();
    options.restarts = 1 + in.below(4);
    options.threads = 1 + in.below(3);
    const double seconds = 0.001 * in.below(6);
    const int stop_after = in.byte();
    for (Method method : {Method::min_fill, Method::min_degree, Method::junction_tree, Method::exact, Method::best,
                          Method::canonical}) {
        options.method = method;
        options.refine = in.below(2) == 0;
        int calls = 0;
        const Report report = [&](int lower_bound, int width) {
            require(width < 0 || lower_bound <= width, "a bound no larger than the width");
            return ++calls < stop_after;
        };
        Caller caller(report, std::chrono::milliseconds(in.below(2)));
        TreeDecomposition td;
        try {
            td = decompose(g, options, Watch(caller, seconds));
        } catch (const Interrupted&) {
            require(calls >= stop_after, "an end only if it was asked for");
            continue;
        }
        require_none(first_violation(g, td), "the decomposition");
        const Nested nested = method == Method::canonical ? Nested::keep : Nested::merge;
        require(is_normalised(g, td, nested), "a normalised decomposition");
        require(td.lower_bound <= td.width(), "a lower bound no larger than the width");
        if (exact >= 0) require(td.lower_bound <= exact && exact <= td.width(), "bounds around the treewidth");
        build_and_check(g, td, in);
    }
}

/// Bags and edges byte by byte, or a valid decomposition with a few random errors.
TreeDecomposition decomposition_of(Bytes& in, const Graph& g) {
    const int n = g.view().num_nodes();
    Bags bags;
    std::vector<std::array<Vertex, 2>> edges;
    if (in.below(3) == 0) {
        for (int b = in.below(8); b > 0; --b) {
            std::vector<Vertex> bag;
            for (int i = in.below(8); i > 0; --i) bag.push_back(static_cast<Vertex>(in.byte() % (n + 2)) - 1);
            if (in.below(8) > 0) {
                std::sort(bag.begin(), bag.end());
                bag.erase(std::unique(bag.begin(), bag.end()), bag.end());
            }
            bags.push_back(bag);
        }
        for (int e = in.below(8); e > 0; --e) {
            const auto a = static_cast<Vertex>(in.below(9) - 1), b = static_cast<Vertex>(in.below(9) - 1);
            edges.push_back({a, b});
        }
        return decomposition(bags, edges);
    }
    TreeDecomposition td = messy_decomposition(g, in.number(2));
    bags = bags_of(td);
    for (int errors = in.below(4); errors > 0 && !bags.empty(); --errors) {
        auto& bag = bags[in.byte() % bags.size()];
        const auto v = static_cast<Vertex>(in.byte() % (n + 1));
        const auto at = std::lower_bound(bag.begin(), bag.end(), v);
        if (at != bag.end() && *at == v)
            bag.erase(at);
        else
            bag.insert(at, v);
        if (in.below(8) == 0 && !td.edges.empty()) td.edges.pop_back();
    }
    return decomposition(bags, td.edges);
}

void fuzz_decomposition(Bytes& in) {
    const Graph g = graph_of(in, 12);
    const TreeDecomposition td = decomposition_of(in, g);
    const bool valid = !first_violation(g, td);
    require(valid == oracle::is_tree_decomposition(g, td), "a violation exactly where the definition is broken");
    if (!valid) return;
    const TreeDecomposition normal = normalised(g, td);
    require_none(first_violation(g, normal), "the normalised decomposition");
    require(is_normalised(g, normal), "a normalised decomposition is recognised");
    require(!oracle::some_bag_inside_another(normal), "no bag inside another");
    require(normal.width() <= td.width(), "normalising widens no bag");
    build_and_check(g, normal, in);
}

void fuzz_sampling(Bytes& in) {
    const Graph g = graph_of(in, 110);
    const int kind = in.below(4);
    const int k = kind == 0 ? static_cast<int>(static_cast<std::uint32_t>(in.number(4))) : in.below(12);
    const std::uint64_t seed = in.number(kind == 1 ? 8 : 1);
    BoundedSample sample;
    try {
        sample = sample_bounded_treewidth(g, k, seed);
    } catch (const InputError&) {
        require(k < 1, "an error only for a bound below 1");
        return;
    }
    require(k >= 1, "an error for a bound below 1");
    require_none(first_violation(sample.subgraph, sample.decomposition), "the sample's decomposition");
    require(is_normalised(sample.subgraph, sample.decomposition), "a normalised sample");
    require(sample.decomposition.width() <= k, "no bag of more than k + 1 nodes");
    const Components before = connected_components(g);
    require(connected_components(sample.subgraph).label == before.label, "the same connected components");
    std::int64_t most = 0;
    for (std::int64_t c = 0; c < before.count(); ++c) {
        const auto n = static_cast<std::int64_t>(before.members(c).size());
        most += n <= k ? n * (n - 1) / 2 : k * n - static_cast<std::int64_t>(k) * (k + 1) / 2;
    }
    const std::int64_t kept = sample.subgraph.view().num_edges();
    require(kept <= most, "at most kn - k(k+1)/2 edges");
    if (k == 1) require(kept == g.view().num_nodes() - before.count(), "a spanning forest");
    for (auto [u, v] : edges_of(sample.subgraph))
        require(g.view().has_edge(static_cast<Vertex>(u), static_cast<Vertex>(v)), "only edges of the graph");
    build_and_check(sample.subgraph, sample.decomposition, in);
}

/// A short file may promise max_graph_nodes nodes; their row pointers alone take 16 GiB, too much for this test.
bool promises_too_much(std::string_view text) {
    std::size_t digits = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        const bool digit = i < text.size() && text[i] >= '0' && text[i] <= '9';
        if (digit && (digits > 0 || text[i] != '0')) ++digits;
        if (digit) continue;
        if (digits >= 6 && digits <= 10) return true;
        digits = 0;
    }
    return false;
}

void check_message(const ParseError& error) {
    const std::string_view text = error.what();
    require(text.starts_with("line ") && text.ends_with("."), "a message that begins with the line");
    for (char c : text) require(c >= 32 && c < 127, "a printable message");
}

void fuzz_gr(Bytes& in) {
    const std::string_view text = in.rest();
    if (promises_too_much(text)) return;
    try {
        const Graph graph = parse_gr(text);
        const GraphView g = graph;
        for (Vertex v = 0; v < g.num_nodes(); ++v) {
            Vertex before = -1;
            for (Vertex u : g.neighbours(v)) {
                require(before < u && u < g.num_nodes() && u != v && g.has_edge(u, v), "sorted symmetric rows");
                before = u;
            }
        }
    } catch (const ParseError& error) {
        check_message(error);
    }
}

void fuzz_td(Bytes& in) {
    try {
        const auto [td, nodes] = parse_td(in.rest());
        const auto entries = static_cast<std::int64_t>(td.bag_nodes.size());
        require(td.bag_ptr.front() == 0 && td.bag_ptr.back() == entries, "bag_ptr spans bag_nodes");
        for (Vertex v : td.bag_nodes) require(0 <= v && v < nodes, "bags of the promised nodes");
        for (auto [a, b] : td.edges)
            require(0 <= std::min(a, b) && std::max(a, b) < td.view().num_bags(), "edges between the promised bags");
        if (nodes > 1000) return;
        const Graph g = graph(nodes, {});
        if (first_violation(g, td)) return;
        const TreeDecomposition normal = normalised(g, td);
        require(is_normalised(g, normal), "a normalised decomposition is recognised");
        require(normal.view().num_bags() == nodes, "one bag a node of a graph without edges");
    } catch (const ParseError& error) {
        check_message(error);
    }
}

/// The arrays of an H-tree with random changes.
void fuzz_arrays(Bytes& in) {
    const Graph g = graph_of(in, 7);
    const HTree tree = build_htree(g, decompose(g, {}), {});
    std::vector<std::vector<std::int64_t>> array;
    for (const Buffer* b : {&tree.parent, &tree.level, &tree.kappa, &tree.component, &tree.bag_ptr, &tree.bag_nodes,
                            &tree.edge_index, &tree.edge_type})
        array.emplace_back(b->view().begin(), b->view().end());
    while (in.left()) {
        auto& chosen = array[in.below(8)];
        const int what = in.byte();
        if (what == 0) chosen.push_back(in.byte());
        if (what == 1 && !chosen.empty()) chosen.pop_back();
        if (chosen.empty()) continue;
        auto& entry = chosen[in.number(2) % chosen.size()];
        if (what < 8)
            entry = static_cast<std::int64_t>(in.number(8));
        else
            entry += in.byte() - 128;
    }
    const HTreeView changed{array[0], array[1], array[2], array[3], array[4], array[5], array[6], array[7]};
    const bool valid = !first_violation(g, changed);
    try {
        diameters(changed);
    } catch (const InputError&) {
        require(!valid, "a tree without violations has diameters");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bytes in(data, size);
    constexpr void (*kinds[])(Bytes&) = {fuzz_gr,       fuzz_td,    fuzz_decompose, fuzz_decomposition,
                                         fuzz_sampling, fuzz_arrays};
    try {
        kinds[in.below(std::size(kinds))](in);
    } catch (const std::exception& error) {
        crash(std::string("uncaught exception: ") + error.what());
    } catch (...) {
        crash("uncaught exception of an unknown type");
    }
    return 0;
}
