#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace neuraltrees {

/// splitmix64: the only source of pseudo-random numbers in the core, so that results are repeatable.
constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ (b + 0x632be59bd9b4e019ULL)); }

/// Calls f(i) for every set bit i of a row of words, in increasing order.
template <typename F>
void for_each_bit(std::span<const std::uint64_t> row, F&& f) {
    for (std::size_t w = 0; w < row.size(); ++w)
        for (std::uint64_t word = row[w]; word != 0; word &= word - 1)
            f(static_cast<std::int32_t>(64 * w + std::countr_zero(word)));
}

inline bool test_bit(std::span<const std::uint64_t> row, std::int32_t i) { return row[i >> 6] >> (i & 63) & 1; }
inline void set_bit(std::span<std::uint64_t> row, std::int32_t i) { row[i >> 6] |= std::uint64_t{1} << (i & 63); }
inline void clear_bit(std::span<std::uint64_t> row, std::int32_t i) { row[i >> 6] &= ~(std::uint64_t{1} << (i & 63)); }

/// A set of at most 64·W vertices as a value.
template <std::size_t W>
struct VertexSet {
    std::array<std::uint64_t, W> word{};

    static VertexSet first(std::int32_t n) {
        VertexSet s;
        for (std::int32_t i = 0; i < n; ++i) s.insert(i);
        return s;
    }
    void insert(std::int32_t i) { word[i >> 6] |= std::uint64_t{1} << (i & 63); }
    void erase(std::int32_t i) { word[i >> 6] &= ~(std::uint64_t{1} << (i & 63)); }
    bool contains(std::int32_t i) const { return word[i >> 6] >> (i & 63) & 1; }
    bool empty() const {
        std::uint64_t any = 0;
        for (auto w : word) any |= w;
        return any == 0;
    }
    int size() const {
        int n = 0;
        for (auto w : word) n += std::popcount(w);
        return n;
    }
    /// The smallest member; the set must not be empty.
    std::int32_t min() const {
        std::size_t w = 0;
        while (word[w] == 0) ++w;
        return static_cast<std::int32_t>(64 * w + std::countr_zero(word[w]));
    }
    bool subset_of(const VertexSet& o) const {
        std::uint64_t rest = 0;
        for (std::size_t w = 0; w < W; ++w) rest |= word[w] & ~o.word[w];
        return rest == 0;
    }
    bool intersects(const VertexSet& o) const {
        std::uint64_t both = 0;
        for (std::size_t w = 0; w < W; ++w) both |= word[w] & o.word[w];
        return both != 0;
    }
    template <typename F>
    void for_each(F&& f) const {
        for_each_bit(std::span<const std::uint64_t>(word), f);
    }
    VertexSet& operator|=(const VertexSet& o) {
        for (std::size_t w = 0; w < W; ++w) word[w] |= o.word[w];
        return *this;
    }
    VertexSet& operator&=(const VertexSet& o) {
        for (std::size_t w = 0; w < W; ++w) word[w] &= o.word[w];
        return *this;
    }
    VertexSet& operator-=(const VertexSet& o) {
        for (std::size_t w = 0; w < W; ++w) word[w] &= ~o.word[w];
        return *this;
    }
    friend VertexSet operator|(VertexSet a, const VertexSet& b) { return a |= b; }
    friend VertexSet operator&(VertexSet a, const VertexSet& b) { return a &= b; }
    friend VertexSet operator-(VertexSet a, const VertexSet& b) { return a -= b; }
    friend bool operator==(const VertexSet&, const VertexSet&) = default;
    friend auto operator<=>(const VertexSet&, const VertexSet&) = default;

    struct Hash {
        std::size_t operator()(const VertexSet& s) const {
            std::uint64_t h = 0;
            for (auto w : s.word) h = mix(h ^ w);
            return h;
        }
    };
};

}  // namespace neuraltrees
