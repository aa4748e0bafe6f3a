#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/greedy.hpp"

namespace neuraltrees {

/// A graph of at most 64 vertices, one machine word per row.
struct SmallGraph {
    static constexpr int max_nodes = 64;
    int n = 0;
    std::array<std::uint64_t, max_nodes> row;

    std::uint64_t all() const { return n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; }
};

/// The maximal bags of a decomposition, one word each. The parent of a bag has a smaller number; -1 for the root of a
/// tree.
struct SmallDecomposition {
    int count = 0;
    int lower_bound = -1;
    std::array<std::uint64_t, SmallGraph::max_nodes> bag;
    std::array<std::int8_t, SmallGraph::max_nodes> parent;
};

/// An elimination order, and for every vertex its neighbours when it is eliminated.
struct SmallElimination {
    std::array<std::uint8_t, SmallGraph::max_nodes> order;
    std::array<std::uint64_t, SmallGraph::max_nodes> higher;
};

int minor_min_degree(const SmallGraph& graph);

/// Greedy elimination. A negative `lower_bound` is computed when it is first needed, and stored.
SmallElimination small_greedy(const SmallGraph& graph, Greedy rule, std::uint64_t seed, int& lower_bound);

SmallElimination small_eliminate(const SmallGraph& graph, std::span<const Vertex> order);
SmallDecomposition clique_tree(int n, const SmallElimination& elimination);

}  // namespace neuraltrees
