#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// Thresholds of the rules by which objects are related, in metres but for the factor; see `TypedGraphSpec` in Python.
struct NearbyRules {
    double on_gap, near_factor, near_gap;
};

/// Related objects, sorted by source and target.
struct NearbyPairs {
    std::vector<std::int64_t> source, target, relation;  // of relations 0 on, 1 under and 2 near
};

/// The pairs of objects of one group that are on, under or near each other; those with an unknown number (NaN) have
/// none. Of on and under, the source is the object that is on or under the other; of near, the first. Rows of three
/// numbers for position and size.
NearbyPairs nearby_pairs(std::span<const double> position, std::span<const double> size,
                         std::span<const std::int64_t> group, const NearbyRules& rules, Watch watch = {});

}  // namespace neuraltrees
