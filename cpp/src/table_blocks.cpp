#include "neuraltrees/table_blocks.hpp"

#include <bit>
#include <type_traits>
#include <utility>

#include "neuraltrees/clones.hpp"

namespace neuraltrees {
namespace {

enum class Op { assign, multiply, sum };

template <Op op>
using Table = std::conditional_t<op == Op::sum, const double, double>;
template <Op op>
using Other = std::conditional_t<op == Op::sum, double, const double>;

/// The smaller table has the columns: its row meets every row of the table. A known number of columns N > 0 lets the
/// compiler keep the row in registers.
template <Op op, int N>
NEURALTREES_INLINE void repeat_row(Table<op>* __restrict table, Other<op>* __restrict other, std::int64_t rows,
                                   std::int64_t given) {
    const std::int64_t columns = N > 0 ? N : given;
    if constexpr (op == Op::sum && N > 0) {
        double total[N] = {};
        for (std::int64_t r = 0; r < rows; ++r)
            for (int c = 0; c < N; ++c) total[c] += table[r * N + c];
        for (int c = 0; c < N; ++c) other[c] += total[c];
    } else {
        for (std::int64_t r = 0; r < rows; ++r) {
            auto* row = table + r * columns;
            for (std::int64_t c = 0; c < columns; ++c) {
                if constexpr (op == Op::assign) row[c] = other[c];
                if constexpr (op == Op::multiply) row[c] *= other[c];
                if constexpr (op == Op::sum) other[c] += row[c];
            }
        }
    }
}

/// The smaller table has the rows: each of its entries meets a whole row of the table.
template <Op op, int N>
NEURALTREES_INLINE void repeat_entry(Table<op>* __restrict table, Other<op>* __restrict other, std::int64_t rows,
                                     std::int64_t given) {
    const std::int64_t columns = N > 0 ? N : given;
    for (std::int64_t r = 0; r < rows; ++r) {
        auto* row = table + r * columns;
        if constexpr (op == Op::sum) {
            double total = 0;
            std::int64_t c = 0;
            if constexpr (N == 0) {
                double part[8] = {};
                for (; c + 8 <= columns; c += 8)
                    for (int i = 0; i < 8; ++i) part[i] += row[c + i];
                for (int i = 0; i < 8; ++i) total += part[i];
            }
            for (; c < columns; ++c) total += row[c];
            other[r] += total;
        } else {
            const double factor = other[r];
            for (std::int64_t c = 0; c < columns; ++c) {
                if constexpr (op == Op::assign) row[c] = factor;
                if constexpr (op == Op::multiply) row[c] *= factor;
            }
        }
    }
}

template <Op op, int N>
NEURALTREES_INLINE void matrix(const BlockPattern& p, Table<op>* table, Other<op>* other) {
    p.has_columns ? repeat_row<op, N>(table, other, p.rows, p.columns)
                  : repeat_entry<op, N>(table, other, p.rows, p.columns);
}

/// The matrices of a block: those of the last group of `outer` by a loop, those before it by counting.
template <Op op, int N>
NEURALTREES_INLINE void block(const BlockPattern& p, Table<op>* table, Other<op>* other) {
    if (p.outer.empty()) return matrix<op, N>(p, table, other);
    std::int64_t at[64] = {};
    const std::size_t last = p.outer.size() - 1;
    const auto [count, table_step, other_step] = p.outer[last];
    for (;;) {
        for (std::int64_t i = 0; i < count; ++i) matrix<op, N>(p, table + i * table_step, other + i * other_step);
        std::size_t level = last;
        for (;; --level) {
            if (level == 0) return;
            const auto& group = p.outer[level - 1];
            table += group.table_step;
            other += group.other_step;
            if (++at[level - 1] < group.count) break;
            at[level - 1] = 0;
            table -= group.count * group.table_step;
            other -= group.count * group.other_step;
        }
    }
}

template <Op op>
NEURALTREES_INLINE void dispatch(const BlockPattern& p, Table<op>* table, Other<op>* other) {
    switch (p.columns) {
        case 2: return block<op, 2>(p, table, other);
        case 3: return block<op, 3>(p, table, other);
        case 4: return block<op, 4>(p, table, other);
        case 8: return block<op, 8>(p, table, other);
        default: return block<op, 0>(p, table, other);
    }
}

}  // namespace

NEURALTREES_CLONES void assign_block(const BlockPattern& pattern, double* table, const double* other) {
    dispatch<Op::assign>(pattern, table, other);
}

NEURALTREES_CLONES void multiply_block(const BlockPattern& pattern, double* table, const double* other) {
    dispatch<Op::multiply>(pattern, table, other);
}

NEURALTREES_CLONES void sum_block(const BlockPattern& pattern, const double* table, double* other) {
    dispatch<Op::sum>(pattern, table, other);
}

NEURALTREES_CLONES void exponentials(std::span<double> values) {
    // exp(x) = 2^n exp(r) with |r| <= ln(2) / 2 and the Taylor series of exp(r) up to r^13, whose rest is below 1e-17.
    // Adding `round` leaves n in the lowest bits of a sum.
    constexpr double round = 0x1.8p52, ln2_high = 0x1.62e42fefa0000p-1, ln2_low = 0x1.cf79abc9e3b3ap-40;
    constexpr double log2_e = 0x1.71547652b82fep0;
    constexpr double series[] = {
        1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
        1.0 / 720,        1.0 / 120,       1.0 / 24,       1.0 / 6,       1.0 / 2,      1.0,         1.0};
    double* const data = values.data();
    const std::size_t size = values.size();
    for (std::size_t i = 0; i < size; ++i) {
        const double x = data[i] < -708.0 ? -708.0 : data[i];
        const double shifted = x * log2_e + round;
        const double n = shifted - round;
        const double r = (x - n * ln2_high) - n * ln2_low;
        double value = series[0];
        for (int k = 1; k < 14; ++k) value = value * r + series[k];
        const auto power = std::bit_cast<std::uint64_t>(shifted) << 52;
        value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) + power);
        data[i] = data[i] < -708.0 ? 0.0 : value;
    }
}

Axes make_axes(std::vector<Vertex> variables, std::span<const std::int64_t> cardinalities) {
    Axes axes;
    axes.variables = std::move(variables);
    axes.num_outer = axes.variables.size();
    for (Vertex v : axes.variables) {
        axes.lengths.push_back(cardinalities[v]);
        axes.size *= cardinalities[v];
    }
    while (axes.num_outer > 0 && (axes.block == 1 || axes.block * axes.lengths[axes.num_outer - 1] <= block_entries))
        axes.block *= axes.lengths[--axes.num_outer];
    return axes;
}

Walk make_walk(const Axes& table, std::span<const Vertex> other, std::span<const std::int64_t> cardinalities) {
    Walk walk;
    walk.steps.assign(table.variables.size(), 0);
    std::int64_t step = 1;
    std::size_t left = other.size();
    for (std::size_t i = table.variables.size(); i-- > 0;) {
        if (left == 0 || other[left - 1] != table.variables[i]) continue;
        walk.steps[i] = step;
        step *= cardinalities[other[--left]];
    }
    std::vector<BlockPattern::Group>& groups = walk.block.outer;
    std::int64_t inner = table.block;
    for (std::size_t i = table.num_outer; i < table.variables.size(); ++i) {
        inner /= table.lengths[i];
        const bool merged = i > table.num_outer && (walk.steps[i] == 0) == (walk.steps[i - 1] == 0);
        if (!merged) groups.push_back({1, 0, 0});
        groups.back() = {groups.back().count * table.lengths[i], inner, walk.steps[i]};
    }
    if (!groups.empty()) {
        walk.block.has_columns = groups.back().other_step != 0;
        walk.block.columns = groups.back().count;
        groups.pop_back();
    }
    if (!groups.empty()) {
        walk.block.rows = groups.back().count;
        groups.pop_back();
    }
    return walk;
}

}  // namespace neuraltrees
