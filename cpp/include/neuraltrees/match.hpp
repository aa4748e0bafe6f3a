#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace neuraltrees {

/// Up to 16 vertices, all of which are compared with a given vertex at once, without a branch.
class Members {
public:
    static constexpr std::size_t most = 16;

    explicit Members(std::span<const std::int32_t> bag) : quads_((bag.size() + 3) / 4) {
        std::fill(std::copy(bag.begin(), bag.end(), member_.begin()), member_.end(), -1);
    }

    /// Bit i is set if the i-th member equals v; v must not be negative.
    std::uint32_t match(std::int32_t v) const {
        std::uint32_t met = 0;
#ifdef __SSE2__
        const __m128i wanted = _mm_set1_epi32(v);
        for (std::size_t q = 0; q < quads_; ++q) {
            const __m128i four = _mm_load_si128(reinterpret_cast<const __m128i*>(member_.data() + 4 * q));
            met |= static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(four, wanted))))
                   << 4 * q;
        }
#else
        for (std::size_t i = 0; i < 4 * quads_; ++i) met |= std::uint32_t{member_[i] == v} << i;
#endif
        return met;
    }

private:
    alignas(16) std::array<std::int32_t, most> member_;
    std::size_t quads_;
};

}  // namespace neuraltrees
