#pragma once

#include <limits>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// The MMD+ lower bound on treewidth: contract a vertex of least degree into the neighbour with which it shares the
/// fewest neighbours; the largest least degree met on the way bounds the treewidth from below, since a minor's
/// treewidth is no larger. Stops after about `effort` steps, when the watch is late, or once the bound is `enough`,
/// with the bound found so far.
int minor_min_degree(GraphView graph, Watch watch = {}, std::int64_t effort = 20'000'000,
                     int enough = std::numeric_limits<int>::max());

}  // namespace neuraltrees
