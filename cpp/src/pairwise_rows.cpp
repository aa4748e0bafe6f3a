#include "pairwise_rows.hpp"

#include <limits>
#include <type_traits>

#include "entries.hpp"
#include "neuraltrees/clones.hpp"

namespace neuraltrees {
namespace {

// Of unsigned differences, the highest bit tells of numbers that are too small or too large.
constexpr std::uint64_t highest = std::uint64_t{1} << 63;

template <typename Real>
NEURALTREES_INLINE bool all_below_infinity(const Real* values, std::int64_t size) {
    using Flag = std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>;  // as wide, for vectors
    Flag wrong = 0;
    for (std::int64_t i = 0; i < size; ++i) wrong |= values[i] < std::numeric_limits<Real>::infinity() ? 0 : 1;
    return wrong == 0;
}

/// So many blocks of the sum of a row and of some rows of tables, from entry `begin` on.
template <int blocks, typename Real>
NEURALTREES_INLINE void add_blocks(const Real* own, std::span<const double* const> added, std::size_t begin,
                                   double* row) {
    Entries<largest_lanes> sum[blocks];
    for (int b = 0; b < blocks; ++b) sum[b] = Entries<largest_lanes>(own + b * largest_lanes);
    for (const double* other : added)
        for (int b = 0; b < blocks; ++b) sum[b].add(Entries<largest_lanes>(other + begin + b * largest_lanes));
    for (int b = 0; b < blocks; ++b) sum[b].store(row + begin + b * largest_lanes);
}

template <typename Real>
NEURALTREES_INLINE void add_all(std::span<const Real> own, std::span<const double* const> added,
                                std::span<double> row) {
    constexpr std::size_t lanes = largest_lanes;
    std::size_t s = 0;
    for (; s + 4 * lanes <= own.size(); s += 4 * lanes) add_blocks<4>(own.data() + s, added, s, row.data());
    for (; s + lanes <= own.size(); s += lanes) add_blocks<1>(own.data() + s, added, s, row.data());
    for (; s < row.size(); s += lanes) {
        Real rest[lanes];
        for (std::size_t i = 0; i < lanes; ++i)
            rest[i] = s + i < own.size() ? own[s + i] : -std::numeric_limits<Real>::infinity();
        add_blocks<1>(rest, added, s, row.data());
    }
}

}  // namespace

NEURALTREES_CLONES bool below_infinity(const float* values, std::int64_t size) {
    return all_below_infinity(values, size);
}
NEURALTREES_CLONES bool below_infinity(const double* values, std::int64_t size) {
    return all_below_infinity(values, size);
}

NEURALTREES_CLONES bool all_inside(const std::int64_t* values, std::int64_t size, std::int64_t end) {
    std::uint64_t wrong = 0;
    for (std::int64_t i = 0; i < size; ++i) {
        const auto x = static_cast<std::uint64_t>(values[i]);
        wrong |= x | (end - 1 - x);
    }
    return (wrong & highest) == 0;
}

NEURALTREES_CLONES std::int64_t count_known(const std::int64_t* known, std::span<const std::int64_t> labels) {
    std::uint64_t wrong = 0, unknown = 0;
    for (std::size_t v = 0; v < labels.size(); ++v) {
        const auto x = static_cast<std::uint64_t>(known[v]);
        wrong |= (x + 1) | (labels[v] - 1 - x);
        unknown += x >> 63;
    }
    return (wrong & highest) == 0 ? static_cast<std::int64_t>(labels.size() - unknown) : -1;
}

NEURALTREES_CLONES void sum_rows(std::span<const float> own, std::span<const double* const> added,
                                 std::span<double> row) {
    add_all(own, added, row);
}
NEURALTREES_CLONES void sum_rows(std::span<const double> own, std::span<const double* const> added,
                                 std::span<double> row) {
    add_all(own, added, row);
}

}  // namespace neuraltrees
