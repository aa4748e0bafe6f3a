#pragma once

#include <cstdint>
#include <span>

#include "largest_labels.hpp"

namespace neuraltrees {

/// Whether no number is nan or +inf.
bool below_infinity(const float* values, std::int64_t size);
bool below_infinity(const double* values, std::int64_t size);

/// Whether all numbers are at least 0 and below an end.
bool all_inside(const std::int64_t* values, std::int64_t size, std::int64_t end);

/// How many nodes have a known label, -1 elsewhere; -1 if a number is neither that nor one of the node's labels.
std::int64_t count_known(const std::int64_t* known, std::span<const std::int64_t> labels);

/// The sum of the potentials of a node's labels and of some rows of tables; -inf at labels that the node does not have.
/// The rows have as many entries as the sum, a multiple of `largest_lanes`.
void sum_rows(std::span<const float> own, std::span<const double* const> added, std::span<double> sum);
void sum_rows(std::span<const double> own, std::span<const double* const> added, std::span<double> sum);

}  // namespace neuraltrees
