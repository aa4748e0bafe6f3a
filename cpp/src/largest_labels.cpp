#include "largest_labels.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "neuraltrees/clones.hpp"

namespace neuraltrees {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr int lanes = largest_lanes;
using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;
using Bits [[gnu::vector_size(lanes * sizeof(double))]] = std::uint64_t;

/// Puts the larger entries of both first.
NEURALTREES_INLINE void order(Lanes& a, Lanes& b) {
    const Lanes old = a;
    a = old < b ? b : old;
    b = old < b ? old : b;
}

/// Sorts eight columns in descending order by a network of 19 comparisons.
NEURALTREES_INLINE void sort_eight(Lanes* x) {
    constexpr int network[][2] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1}, {2, 3},
                                  {4, 5}, {6, 7}, {2, 4}, {3, 5}, {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
#pragma GCC unroll 19
    for (const auto& [a, b] : network) order(x[a], x[b]);
}

/// The eight largest of any number of columns, eight at a time.
NEURALTREES_INLINE void largest_eight(const Lanes* columns, std::size_t count, Lanes* best) {
    Lanes top[8], x[8];
    std::copy(columns, columns + 8, top);
    sort_eight(top);
    for (std::size_t c = 8; c < count; c += 8) {
        std::copy(columns + c, columns + c + 8, x);
        sort_eight(x);
#pragma GCC unroll 8
        for (int s = 0; s < 8; ++s) top[s] = top[s] < x[7 - s] ? x[7 - s] : top[s];
#pragma GCC unroll 3
        for (int half = 4; half > 0; half /= 2)  // these are first falling, then rising, or a rotation of that
#pragma GCC unroll 8
            for (int s = 0; s < 8; ++s)
                if ((s & half) == 0) order(top[s], top[s + half]);
    }
    std::copy(top, top + 8, best);
}

/// Of all columns, entries that are larger move up.
NEURALTREES_INLINE void insert_all(const Lanes* columns, std::size_t count, int most, Lanes* best) {
    std::fill_n(best, most, Lanes{} - infinite);
    for (std::size_t c = 0; c < count; ++c) {
        Lanes x = columns[c];
        for (int s = 0; s < most; ++s) order(best[s], x);
    }
}

}  // namespace

NEURALTREES_CLONES LargestLabels find_largest(std::span<const double> rows, int most, std::span<double> scratch,
                                              std::span<std::uint64_t> chosen) {
    const std::size_t stride = rows.size() / lanes;
    for (std::size_t s = 0; s < stride; ++s)
        for (int lane = 0; lane < lanes; ++lane) scratch[s * lanes + lane] = rows[lane * stride + s];
    const auto* const columns = reinterpret_cast<const Lanes*>(scratch.data());
    auto* const best = reinterpret_cast<Lanes*>(scratch.data()) + stride;
    most == 8 ? largest_eight(columns, stride, best) : insert_all(columns, stride, most, best);
    const Lanes least = best[most - 1];
    Bits nan{};
    for (std::size_t s = 0, w = 0; s < stride; ++w) {
        Bits bits{}, bit = Bits{} + 1;
        for (const std::size_t end = std::min(stride, s + 64); s < end; ++s, bit += bit) {
            bits |= reinterpret_cast<Bits>(columns[s] >= least) & bit;
            nan |= reinterpret_cast<Bits>(columns[s] != columns[s]);
        }
        std::memcpy(chosen.data() + w * lanes, &bits, sizeof bits);
    }
    LargestLabels found;
    for (int lane = 0; lane < lanes; ++lane) {
        found.largest[lane] = best[0][lane];
        found.least[lane] = least[lane];
        found.nan |= nan[lane] != 0;
    }
    return found;
}

void drop_last(const double* row, double least, int most, std::span<std::uint64_t> chosen, int lane) {
    int count = 0;
    for (std::size_t w = lane; w < chosen.size(); w += lanes) count += std::popcount(chosen[w]);
    for (std::size_t s = chosen.size() / lanes * 64; count > most;) {
        --s;
        std::uint64_t& word = chosen[s / 64 * lanes + lane];
        const std::uint64_t bit = std::uint64_t{1} << (s % 64);
        if ((word & bit) == 0 || row[s] > least) continue;
        word &= ~bit;
        --count;
    }
}

}  // namespace neuraltrees
