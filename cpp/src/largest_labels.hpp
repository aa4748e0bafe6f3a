#pragma once

#include <cstdint>
#include <span>

namespace neuraltrees {

inline constexpr int largest_lanes = 8;  // rows whose largest entries are found at once

/// The `most` largest entries of some rows, in descending order. Rows are columns here, so that one instruction
/// compares entries of all of them.
///
/// Shapes: columns width x lanes, best most x lanes
void find_largest(std::span<const double> columns, int most, double* best);

/// The labels of a node with the largest potentials in ascending order, given the least of these potentials; of equal
/// ones the first. `place` has room for all labels.
void keep_largest(std::span<const double> own, double least, std::span<std::int32_t> kept, std::int32_t* place);

}  // namespace neuraltrees
