#pragma once

#include <cstdint>
#include <cstring>

#include "neuraltrees/clones.hpp"

namespace neuraltrees {

/// So many numbers, which stay in registers; N is a power of two. Only for functions that are compiled for several
/// processors, and for what is inlined there.
template <int N>
struct Entries {
    typedef double Vector __attribute__((vector_size(N * sizeof(double))));
    Vector entries;

    NEURALTREES_INLINE Entries() : entries{} {}
    NEURALTREES_INLINE explicit Entries(const double* from) { std::memcpy(&entries, from, sizeof entries); }
    NEURALTREES_INLINE explicit Entries(const float* from) {
        double converted[N];
        for (int i = 0; i < N; ++i) converted[i] = from[i];
        std::memcpy(&entries, converted, sizeof entries);
    }
    NEURALTREES_INLINE void add(const Entries& other) { entries += other.entries; }
    NEURALTREES_INLINE void add(double factor, const Entries& other) { entries += factor * other.entries; }
    NEURALTREES_INLINE void multiply(double factor) { entries *= factor; }
    NEURALTREES_INLINE void multiply(const Entries& other) { entries *= other.entries; }
    /// Becomes 0 where it is divided by 0.
    NEURALTREES_INLINE void divide(const Entries& other) {
        const Vector found = entries / other.entries;
        entries = other.entries > 0 ? found : Vector{};
    }
    NEURALTREES_INLINE void store(double* to) const { std::memcpy(to, &entries, sizeof entries); }
    NEURALTREES_INLINE double total() const {
        typedef double Two __attribute__((vector_size(2 * sizeof(double))));
        double part[N];
        store(part);
        for (int half = N / 2; half > 1; half /= 2)
            for (int s = 0; s < half; ++s) part[s] += part[s + half];
        Two last;  // added in a register
        std::memcpy(&last, part, sizeof last);
        return last[0] + last[1];
    }
};

}  // namespace neuraltrees
