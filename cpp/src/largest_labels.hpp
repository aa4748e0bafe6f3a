#pragma once

#include <cstdint>
#include <span>

namespace neuraltrees {

inline constexpr int largest_lanes = 8;  // rows whose largest entries are found at once

/// The largest and the `most`-th largest entry of every row, and in the bits of `chosen` which entries are at least as
/// large as the latter: entry 64 w + b in bit b of chosen[w][lane].
struct LargestLabels {
    double largest[largest_lanes], least[largest_lanes];
    bool nan = false;  // whether there is one; then the rest is unspecified
};

/// Finds them in rows of `stride` entries, a multiple of eight, of which the labels that a node does not have are -inf.
/// Rows become columns here, so that one instruction compares entries of all of them.
///
/// Shapes: rows lanes x stride, scratch (stride + most) x lanes, aligned to as many entries, chosen words x lanes
LargestLabels find_largest(std::span<const double> rows, int most, std::span<double> scratch,
                           std::span<std::uint64_t> chosen);

/// Removes labels from those chosen of a row until `most` are left: of the ones with the least potential, the last.
void drop_last(const double* row, double least, int most, std::span<std::uint64_t> chosen, int lane);

}  // namespace neuraltrees
