#pragma once

#include <cstdint>

#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// A matrix per run: entry (i, j) of run r is data[r * run + i * row + j * column].
template <typename T>
struct Matrices {
    T* data;
    std::int64_t run, row, column;
};

/// Rows of the results, rows of the right factors, columns of both, and the number of runs.
struct ProductShape {
    std::int64_t runs, rows, depth, columns;
};

/// Whether `multiply` is faster here than the library of PyTorch, which has no AVX-512 kernels for processors of AMD.
bool multiplies_faster();

/// out = a b for every run. Consecutive columns of `out` must be neighbours. Results do not depend on `threads`.
void multiply(const ProductShape& shape, const Matrices<const float>& a, const Matrices<const float>& b,
              const Matrices<float>& out, int threads, Watch watch = {});

}  // namespace neuraltrees
