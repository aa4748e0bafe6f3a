#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace neuraltrees {

/// Sorts values by a key of 31 bits, key(value) ≥ 0, in linear time: long lists by their digits.
template <typename T, typename Key>
void sort_by_key(std::span<T> values, std::vector<T>& scratch, Key&& key) {
    constexpr std::size_t few = 1024;
    constexpr int digit = 11;
    if (values.size() <= few) {
        std::sort(values.begin(), values.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
        return;
    }
    scratch.resize(values.size());
    std::span<T> from = values, to = scratch;
    for (int shift = 0; shift < 3 * digit; shift += digit) {
        std::array<std::size_t, (1 << digit) + 1> begin{};
        const auto part = [&](const T& value) {
            return (static_cast<std::uint32_t>(key(value)) >> shift) & ((1u << digit) - 1);
        };
        for (const T& value : from) ++begin[part(value) + 1];
        for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
        for (const T& value : from) to[begin[part(value)]++] = value;
        std::swap(from, to);
    }
    std::copy(from.begin(), from.end(), values.begin());
}

}  // namespace neuraltrees
