#pragma once

#include <cstdint>

#include "neuraltrees/pairwise.hpp"

namespace neuraltrees {

/// A leaf of a plan: the table of its node and its separator is a product of potentials of nodes and pairs, of which
/// sums are computed without the table. For given states of the first nodes of the separator they are products of two
/// matrices, the tables of the last two pairs: a row per state of the separator's last node but one, and a row per
/// state of the leaf's node.
struct Leaf {
    const double* unary;
    const double* pairs;  // the tables of all pairs, one after another
    double* scratch;
    int states, depth;                       // of a separator that is not empty
    const double *rows, *columns;            // the tables of the last two pairs
    int num_rows, num_columns;               // one row of ones if there is one pair
    std::int32_t sizes[most_pairwise_axes];  // of the separator's first axes

    Leaf(const PairwisePlan& plan, const PairwisePlan::Step& step, const double* unary, const double* pairs,
         double* scratch);

    /// How many entries of scratch a leaf needs.
    static std::int64_t scratch_entries(std::int64_t states, std::int64_t depth, std::int64_t columns) {
        return states * depth + 2 * states * columns;
    }
};

/// The sums over the states of the node.
void sum_leaf(const Leaf& leaf, double* message);

/// The distribution of the node, given that of the separator; `message` holds the sums times `scale`.
void spread_leaf(const Leaf& leaf, const double* message, double scale, const double* belief, double* own);

}  // namespace neuraltrees
