#pragma once

#include "neuraltrees/decompose.hpp"
#include "neuraltrees/greedy.hpp"

namespace neuraltrees {

struct Attempt {
    Greedy rule;
    std::uint64_t seed;
};

/// The greedy runs of a method: the plain rule first; later runs break ties at random, and min-fill alternates with
/// fill per neighbour, which is narrower on many graphs on which min-fill is wide.
Attempt attempt(const DecomposeOptions& options, int run);

/// The decomposition of a connected graph by a greedy rule or the junction tree.
TreeDecomposition decompose_large(GraphView graph, const DecomposeOptions& options, Watch watch);

}  // namespace neuraltrees
