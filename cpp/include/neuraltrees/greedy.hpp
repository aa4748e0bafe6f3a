#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "neuraltrees/bits.hpp"
#include "neuraltrees/graph.hpp"

namespace neuraltrees {

/// The score of a greedy elimination: the degree, or fill / degree^power. Power 0 is min-fill; larger powers are
/// narrower where min-fill is misled by low degrees, and wider elsewhere.
struct Greedy {
    bool by_fill = true;
    double power = 0;

    static constexpr Greedy min_fill() { return {true, 0}; }
    static constexpr Greedy min_degree() { return {false, 0}; }
    static constexpr Greedy fill_per_degree(double power = 1) { return {true, power}; }

    std::uint64_t score(std::int64_t fill, std::int64_t degree) const {
        if (!by_fill) return static_cast<std::uint64_t>(degree);
        if (power == 0) return static_cast<std::uint64_t>(fill);
        const double scale = power == 1 ? static_cast<double>(degree) : std::pow(static_cast<double>(degree), power);
        return static_cast<std::uint64_t>(64.0 * static_cast<double>(fill) / scale);
    }
};

/// Ties between equally good vertices: node number for seed 0, a hash of (seed, node) otherwise.
inline std::uint32_t tie_break(std::uint64_t seed, Vertex v) {
    return seed == 0 ? static_cast<std::uint32_t>(v)
                     : static_cast<std::uint32_t>(mix(seed, static_cast<std::uint64_t>(v)) >> 32);
}

/// An elimination order that takes vertices that are safe to eliminate first, and else the vertex with the least greedy
/// score. Safe are simplicial vertices (all of degree 0 and 1 among them), and almost simplicial ones (all of degree 2
/// among them) of degree at most `lower_bound` or the width reached so far.
///
/// Starts on sparse sets and moves to bitset rows when the rest of the graph is dense. Returns an empty order once a
/// vertex of more than `give_up` neighbours would have to be eliminated.
std::vector<Vertex> greedy_order(GraphView graph, Greedy rule, std::uint64_t seed, int lower_bound,
                                 int give_up = std::numeric_limits<int>::max());

/// The safe eliminations alone: the vertices eliminated, in order, with the lower bound that they prove.
struct Reduction {
    std::vector<Vertex> eliminated;
    int lower_bound;
    std::vector<Vertex> core_nodes;  // sorted
    Graph core;                      // what is left, with its fill edges, relabelled by core_nodes
};
Reduction reduce_safely(GraphView graph, int lower_bound);

}  // namespace neuraltrees
