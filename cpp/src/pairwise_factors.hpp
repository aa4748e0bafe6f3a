#pragma once

#include <cstdint>
#include <span>

#include "neuraltrees/buffer.hpp"
#include "neuraltrees/pairwise.hpp"

namespace neuraltrees {

/// The potentials of a plan's unknown nodes, with those of their known neighbours, and of its pairs, for the labels
/// that are kept: products, each table divided by its largest entry.
///
/// Args: ranges: the logarithms of the largest entry of each over the smallest one above zero; of nodes by step
struct PairwiseFactors {
    BufferOf<double> nodes, pairs, node_ranges, pair_ranges;
    BufferOf<std::int32_t> kept;  // the labels, by step

    explicit PairwiseFactors(const PairwisePlan& plan)
        : nodes(plan.num_states), pairs(plan.pair_entries), node_ranges(std::ssize(plan.steps)),
          pair_ranges(std::ssize(plan.pairs)), kept(plan.num_states) {}
};

/// Reads them, and adds the logarithms that they were divided by and the potentials of what is known to those of the
/// graphs. False, with unspecified results, for potentials or labels that `run_pairwise` declines.
template <typename Real>
bool load_factors(const PairwisePlan& plan, const PairwiseTables<Real>& given, PairwiseFactors& factors, double* total);

}  // namespace neuraltrees
