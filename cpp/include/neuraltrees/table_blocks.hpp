#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuraltrees/graph.hpp"

namespace neuraltrees {

/// How the entries of a smaller table repeat in a block of a larger one. The axes of both are in the same order, so the
/// axes of the block form groups that the smaller table alternately has and lacks. The last two groups are a matrix of
/// `rows` and `columns`, of which the smaller table has one; `outer` are the groups before them.
struct BlockPattern {
    struct Group {
        std::int64_t count, table_step, other_step;
    };
    std::vector<Group> outer;
    std::int64_t rows = 1, columns = 1;
    bool has_columns = false;
};

/// The place of a smaller table in a larger one: its step along every axis of the larger table, 0 for axes that it
/// lacks, and its pattern in a block.
struct Walk {
    std::vector<std::int64_t> steps;
    BlockPattern block;
};

/// The axes of a table, outermost first, and its division into blocks of the last axes that fit the first-level cache.
struct Axes {
    std::vector<Vertex> variables;
    std::vector<std::int64_t> lengths;
    std::size_t num_outer = 0;
    std::int64_t size = 1, block = 1;
};

inline constexpr std::int64_t block_entries = 2048;

Axes make_axes(std::vector<Vertex> variables, std::span<const std::int64_t> cardinalities);

/// `other` has some of the variables of `table`, in the same order.
Walk make_walk(const Axes& table, std::span<const Vertex> other, std::span<const std::int64_t> cardinalities);

/// table = other, table *= other and other += table on a block, each entry of `other` with all entries of the block at
/// its states.
void assign_block(const BlockPattern& pattern, double* table, const double* other);
void multiply_block(const BlockPattern& pattern, double* table, const double* other);
void sum_block(const BlockPattern& pattern, const double* table, double* other);

/// Replaces numbers from -708 to 0, or -inf, by their exponentials.
void exponentials(std::span<double> values);

/// Iterates over the blocks of a table, with the current place in every smaller table.
class BlockSteps {
public:
    BlockSteps(const Axes& axes, std::span<const Walk* const> walks)
        : axes_(axes), walks_(walks), at_(axes.num_outer, 0), places(walks.size(), 0) {}

    /// Goes to the next block; false after the last one.
    bool next() {
        for (std::size_t i = axes_.num_outer; i-- > 0;) {
            const bool carry = ++at_[i] == axes_.lengths[i];
            for (std::size_t w = 0; w < walks_.size(); ++w)
                places[w] += walks_[w]->steps[i] * (carry ? 1 - axes_.lengths[i] : 1);
            if (!carry) return true;
            at_[i] = 0;
        }
        return false;
    }

private:
    const Axes& axes_;
    std::span<const Walk* const> walks_;
    std::vector<std::int64_t> at_;

public:
    std::vector<std::int64_t> places;
};

/// Calls visit(place in the table, place in the smaller one) for every entry of the table.
template <typename Visit>
void each_entry(const Axes& axes, const Walk& walk, Visit&& visit) {
    std::vector<std::int64_t> at(axes.lengths.size(), 0);
    std::int64_t other = 0;
    for (std::int64_t place = 0; place < axes.size; ++place) {
        visit(place, other);
        for (std::size_t i = axes.lengths.size(); i-- > 0;) {
            other += walk.steps[i];
            if (++at[i] < axes.lengths[i]) break;
            other -= walk.steps[i] * axes.lengths[i];
            at[i] = 0;
        }
    }
}

}  // namespace neuraltrees
