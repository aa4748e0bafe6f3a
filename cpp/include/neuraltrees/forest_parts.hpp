#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuraltrees/watch.hpp"

namespace neuraltrees {

inline constexpr double CUT_SLACK = 0.04;

/// Cuts a forest into parts of nearly equal weight with few edges between them; returns the part of every node, from 0.
///
/// The nodes are ordered so that every subtree is an interval, with the heaviest child of a node last, which keeps the
/// number of edges across any position small. The sequence is cut near the positions that divide its weight evenly: a
/// cut may move by `slack` times the weight of a part, to where the fewest edges cross it. So a part weighs at most
/// 1 + 2 slack times the mean, plus at most one node if nodes are heavier than that. Takes linear time.
///
/// `parent[k]` is the place of the parent of place k, which precedes k, or -1. Throws InputError for other parents, for
/// weights that are negative or not finite, and for fewer than one part.
std::vector<std::int32_t> cut_forest(std::span<const std::int64_t> parent, std::span<const double> weight,
                                     std::int64_t parts, double slack = CUT_SLACK, Watch watch = {});

}  // namespace neuraltrees
