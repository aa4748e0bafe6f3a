#pragma once

#include <cstdint>
#include <vector>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// An elimination order, the width it gives, and a proven lower bound on the treewidth; no order if there was no time
/// to find one.
struct SearchResult {
    std::vector<Vertex> order;
    int width = -1;
    int lower_bound = -1;
};

enum class Goal {
    proof,    ///< raise the lower bound until it meets the width
    descent,  ///< lower the width as far as the time allows
};

/// Searches a connected graph: safe reductions first. On each component of the rest, random triangulations whose
/// potential maximal cliques are recombined, and exhaustive enumeration. A component too large for that is improved
/// region by region.
SearchResult search(GraphView graph, Goal goal, std::uint64_t seed, Watch watch);

}  // namespace neuraltrees
