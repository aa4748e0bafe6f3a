#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "neuraltrees/bits.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

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

/// The cheapest rule that a greedy elimination had to use.
enum class Shortcut {
    none,
    min_degree,  ///< vertices of least degree after some point, without looking at their fill
    one_bag,     ///< all vertices after some point in one bag
};

/// An elimination order; empty if the elimination gave up. The vertices after the first `eliminated` ones form one bag.
struct Elimination {
    std::vector<Vertex> order;
    Vertex eliminated = 0;
    int width = -1;
    Shortcut shortcut = Shortcut::none;
};

/// The limits of a greedy elimination, in addition to the time of its watch.
struct GreedyLimits {
    /// Give up when a vertex with more neighbours would have to be eliminated.
    int width = std::numeric_limits<int>::max();
    /// The number of steps per vertex, edge and member of a bag, in addition to about a billion steps for any graph,
    /// after which shortcuts are taken; 0 for never. The same graph always takes the same shortcuts.
    std::int64_t effort = 0;
    /// If false, give up instead of taking shortcuts.
    bool shortcuts = true;
};

/// Eliminates vertices that are safe to eliminate first, else the vertex with the least greedy score. Safe vertices are
/// simplicial ones (including all of degree 0 and 1), and almost simplicial ones (including all of degree 2) of degree
/// at most `lower_bound` or the width reached so far.
///
/// Starts with sparse sets and changes to bitset rows when the rest of the graph is dense. If fill explodes, so that
/// the time or the limits would be exceeded, it continues by least degree, which needs no count of fill, and puts the
/// dense rest into one bag. The time includes that of `decomposition_from`.
Elimination eliminate_greedily(GraphView graph, Greedy rule, std::uint64_t seed, int lower_bound, Watch watch = {},
                               GreedyLimits limits = {});

/// The order alone; empty if the watch was late or a vertex of more than `give_up` neighbours would be eliminated.
std::vector<Vertex> greedy_order(GraphView graph, Greedy rule, std::uint64_t seed, int lower_bound, Watch watch = {},
                                 int give_up = std::numeric_limits<int>::max());

/// The safe eliminations only: the eliminated vertices in order, and the lower bound that they prove. Stops early if
/// the watch is late.
struct Reduction {
    std::vector<Vertex> eliminated;
    int lower_bound;
    std::vector<Vertex> core_nodes;  // sorted
    Graph core;                      // what is left, with its fill edges, relabelled by core_nodes
};
Reduction reduce_safely(GraphView graph, int lower_bound, Watch watch = {});

}  // namespace neuraltrees
