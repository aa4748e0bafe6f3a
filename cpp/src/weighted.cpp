#include "neuraltrees/weighted.hpp"

#include <algorithm>
#include <cmath>

#include "neuraltrees/error.hpp"
#include "sparse_elimination.hpp"
#include "vertex_heap.hpp"

namespace neuraltrees {
namespace {

constexpr double steps = 4096;  // scores are compared in units of 1/4096 bit

double log_size(SparseElimination& state, std::span<const double> log_states, Vertex v) {
    double size = log_states[v];
    for (Vertex u : state.neighbours(v)) size += log_states[u];
    return size;
}

}  // namespace

std::vector<Vertex> weighted_order(GraphView graph, std::span<const double> log_states, WeightedGreedy rule,
                                   std::uint64_t seed, double give_up, Watch watch) {
    const Vertex n = graph.num_nodes();
    if (log_states.size() != static_cast<std::size_t>(n)) throw InputError("Expected the states of every node.");
    SparseElimination state(graph, watch);
    state.count_fill(graph);
    VertexHeap heap(n, seed);
    auto score = [&](Vertex v) -> std::uint64_t {
        if (state.fill[v] == 0) return 0;
        double value = rule.fill_power * std::log2(1.0 + static_cast<double>(state.fill[v]));
        if (rule.size_power != 0) value += rule.size_power * log_size(state, log_states, v);
        if (rule.noise != 0)
            value += rule.noise * static_cast<double>(mix(seed, static_cast<std::uint64_t>(v)) >> 11) * 0x1p-53;
        return 1 + static_cast<std::uint64_t>(std::clamp(value * steps, 0.0, 2e9));
    };
    for (Vertex v = 0; v < n; ++v) heap.set(v, score(v));
    std::vector<Vertex> order;
    order.reserve(n);
    while (!heap.empty()) {
        const Vertex v = heap.top();
        if (log_size(state, log_states, v) > give_up) return {};
        heap.pop();
        order.push_back(v);
        for (Vertex u : state.eliminate(v)) heap.set(u, score(u));
    }
    return order;
}

}  // namespace neuraltrees
