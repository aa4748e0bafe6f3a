#include "largest_labels.hpp"

#include <algorithm>
#include <limits>

#include "neuraltrees/clones.hpp"

namespace neuraltrees {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr int lanes = largest_lanes;
using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;

/// Of all entries, those that are larger move up.
template <int N>
NEURALTREES_INLINE void insert_all(std::span<const double> columns, int most, double* best) {
    const int size = N > 0 ? N : most;
    std::fill_n(best, size * lanes, -infinite);
    auto* const rows = reinterpret_cast<Lanes*>(best);
    for (std::size_t c = 0; c < columns.size(); c += lanes) {
        Lanes x = *reinterpret_cast<const Lanes*>(columns.data() + c);
        for (int s = 0; s < size; ++s) {
            const Lanes old = rows[s];
            rows[s] = old < x ? x : old;
            x = old < x ? old : x;
        }
    }
}

}  // namespace

NEURALTREES_CLONES void find_largest(std::span<const double> columns, int most, double* best) {
    switch (most) {
        case 4: return insert_all<4>(columns, most, best);
        case 8: return insert_all<8>(columns, most, best);
        default: return insert_all<0>(columns, most, best);
    }
}

void keep_largest(std::span<const double> own, double least, std::span<std::int32_t> kept, std::int32_t* place) {
    const auto most = std::ssize(kept);
    std::ptrdiff_t count = 0;
    for (std::int32_t label = 0; label < std::ssize(own); ++label) {
        place[count] = label;
        count += own[label] >= least;
    }
    for (std::ptrdiff_t i = count; count > most; --count) {
        while (own[place[--i]] > least) {
        }
        std::copy(place + i + 1, place + count, place + i);
    }
    std::copy(place, place + most, kept.begin());
}

}  // namespace neuraltrees
