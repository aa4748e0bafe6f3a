#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// The score of a weighted greedy elimination: size_power · log2(states of the bag) + fill_power · log2(1 + fill), plus
/// at most `noise`, drawn for every vertex from the seed.
struct WeightedGreedy {
    double size_power = 1;
    double fill_power = 1;
    double noise = 0;
};

/// An elimination order that takes simplicial vertices first and else the vertex of the least score. A bag's number of
/// states is the product of those of its vertices; `log_states` are their logarithms to base 2.
///
/// Returns an empty order once a bag of more than 2^give_up states would be needed.
std::vector<Vertex> weighted_order(GraphView graph, std::span<const double> log_states, WeightedGreedy rule,
                                   std::uint64_t seed, double give_up = std::numeric_limits<double>::infinity(),
                                   Watch watch = {});

}  // namespace neuraltrees
