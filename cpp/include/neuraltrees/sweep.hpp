#pragma once

#include <cstdint>
#include <span>

#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// A forest as a sweep walks it: places 0 … num_nodes - 1 with every parent before its children. `parent[k]` is the
/// place above place k or -1, and lies in the same range of `tree_ptr`; places after the last range have no parent.
/// `order[k]` is the row of place k in the arrays of numbers; empty if that is k.
struct SweepForest {
    std::span<const std::int64_t> parent, order, tree_ptr;

    std::int64_t num_nodes() const { return static_cast<std::int64_t>(parent.size()); }
    std::int64_t row(std::int64_t place) const { return order.empty() ? place : order[place]; }
};

/// Throws InputError if the arrays do not fit together as described above.
void check_forest(const SweepForest& forest);

/// The factors of the edges to the parents: a row of `channels` numbers per node, or one row for all edges.
template <typename T>
struct SweepFactors {
    const T* data;
    bool per_node;
};

/// Sums over each tree, weighted by the product of the factors along the path between two nodes:
///     sums_B = values_B + sum over children C of factor_C sums_C,
///     out_C = sums_C + factor_C (out_B - factor_C sums_C)   for a child C of B, and out = sums at a root.
/// Rows of `channels` numbers; `sums` may be `out` where it is not kept. Results do not depend on `threads`.
template <typename T>
void sweep(const SweepForest& forest, const T* values, SweepFactors<T> factors, T* sums, T* out, std::int64_t channels,
           int threads, Watch watch = {});

/// The gradients of a sweep with the given `sums` and `out`, from the gradient of `out`. The kernel is symmetric, so
/// that of the values is the sweep of `grad`. That of the factor of the edge from C to B is
///     sums_C (down_B - factor_C up_C) + up_C (out_B - factor_C sums_C),
/// the sums below the edge times those beyond it, in both directions, where `up` and `down` are the sums of the sweep
/// of `grad`. `grad_factors` has the shape of the factors; it may be null, and then `sums` and `out` may be null as
/// well.
template <typename T>
void sweep_gradients(const SweepForest& forest, const T* grad, SweepFactors<T> factors, const T* sums, const T* out,
                     T* grad_values, T* grad_factors, std::int64_t channels, int threads, Watch watch = {});

}  // namespace neuraltrees
