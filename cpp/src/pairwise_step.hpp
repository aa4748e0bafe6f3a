#pragma once

#include <cstdint>
#include <span>

#include "neuraltrees/pairwise.hpp"

namespace neuraltrees {

/// The places of the factors of a step while its rows are visited; those along the last axis of the separator in an
/// inner loop.
struct Visit {
    int depth = 0;
    std::int64_t sizes[most_pairwise_axes], at[most_pairwise_axes];

    Visit(const PairwisePlan& plan, const PairwisePlan::Step& step) : depth(step.depth) {
        for (int a = 0; a < depth; ++a) {
            sizes[a] = plan.steps[plan.separator[step.separator + a]].states;
            at[a] = 0;
        }
    }

    std::int64_t inner() const { return depth ? sizes[depth - 1] : 1; }

    /// Goes to the next place along all axes but the last; false after the last place.
    template <typename Move>
    bool next(Move&& move) {
        for (int a = depth - 2; a >= 0; --a) {
            if (++at[a] < sizes[a]) {
                move(a, 1);
                return true;
            }
            at[a] = 0;
            move(a, 1 - sizes[a]);
        }
        return false;
    }
};

/// A factor of a step: an entry per state of the step's node at every place.
struct Factor {
    double* data;
    const std::int64_t* strides;
    std::int64_t inner;
};

/// The table of a step with `n` states, the product of its own potentials and its factors, and the sums of its rows,
/// which are the message. The first `outer` factors are constant along the last axis of the separator.
void fill_table(const double* unary, std::span<Factor> factors, int outer, Visit& visit, int n, double* table,
                double* message);

/// The distributions of all rows, of so much weight, added to that of the node and to those of the children's
/// separators.
void spread_table(const double* weight, std::span<Factor> children, int outer, Visit& visit, int n, const double* table,
                  double* own);

}  // namespace neuraltrees
