#pragma once

#include <limits>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// The MMD+ lower bound on treewidth: repeatedly contracts a vertex of least degree into the neighbour with which it
/// shares the fewest neighbours. The largest of these least degrees is a lower bound, since the treewidth of a minor is
/// no larger. Stops after about `effort` steps, when the watch is late, or when the bound is `enough`, and returns the
/// bound found so far.
int minor_min_degree(GraphView graph, Watch watch = {}, std::int64_t effort = 20'000'000,
                     int enough = std::numeric_limits<int>::max());

}  // namespace neuraltrees
