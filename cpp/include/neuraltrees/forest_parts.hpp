#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuraltrees/watch.hpp"

namespace neuraltrees {

inline constexpr double CUT_SLACK = 0.04;

/// Cuts a forest into parts of nearly equal weight, between which few edges run; the part of every node, from 0.
///
/// The nodes are lined up so that every subtree is an interval, the heaviest child of a node last: then few subtrees
/// are open at once. The line is cut near the places that divide its weight evenly. A cut may move by `slack` of the
/// weight of a part, to where the fewest edges cross it. So a part weighs at most 1 + 2 slack times the mean, and more
/// only by one node where nodes are heavier than that. Takes linear time.
///
/// `parent[k]` is the place above place k or -1, and stands before k. Throws InputError for parents that do not,
/// weights that are negative or not finite, or fewer than one part.
std::vector<std::int32_t> cut_forest(std::span<const std::int64_t> parent, std::span<const double> weight,
                                     std::int64_t parts, double slack = CUT_SLACK, Watch watch = {});

}  // namespace neuraltrees
