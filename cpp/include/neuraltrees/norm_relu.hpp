#pragma once

#include <cstdint>

#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// Dropout by hashes: an entry of run r is kept if the hash of `entries` and the key of r, as a number between -1/2 and
/// 1/2, is above -`low`; it is then multiplied by `factor`. `entries` has `size` numbers per row, `keys` one per run.
struct DropHashes {
    const std::int32_t* entries;
    const std::int32_t* keys;
    float low, factor;
};

/// Rows of states, with the `size` channels of each of `channels` / `size` runs side by side.
struct NormShape {
    std::int64_t rows, channels, size;
};

/// The number of nodes that each row stands for, and of all; `of_row` is null if each stands for one.
template <typename T>
struct NormCopies {
    const T* of_row;
    double all;
};

/// One node per row, or the sum of these numbers; they must be positive.
template <typename T>
NormCopies<T> norm_copies(const T* of_row, std::int64_t rows);

/// out = drop(h).
template <typename T>
void drop_entries(const NormShape& shape, const T* h, const DropHashes& drop, T* out, int threads, Watch watch = {});

/// What a batch norm learns and remembers, a number per channel each.
template <typename T>
struct NormParameters {
    const T* scale;
    const T* shift;
    T* running_mean;
    T* running_var;
    double momentum;
};

/// out = residual + drop(relu(scale (h - mean) / sqrt(variance + 1e-5) + shift)), where mean and variance are those of
/// a channel over all nodes. The ReLU is optional; `drop` and `residual` may be null. `mean` and `inverse` get the mean
/// and one over the standard deviation; the running statistics are updated. At least two rows. NaN is passed on.
/// Results do not depend on `threads`.
template <typename T>
void norm_relu(const NormShape& shape, const T* h, const NormCopies<T>& copies, const NormParameters<T>& norm,
               bool relu, const DropHashes* drop, const T* residual, T* out, T* mean, T* inverse, int threads,
               Watch watch = {});

/// The gradients of `h`, scale and shift, from that of `out` and what the forward pass stored. That of the residual is
/// the gradient of `out` itself.
template <typename T>
void norm_relu_gradients(const NormShape& shape, const T* grad, const T* h, const NormCopies<T>& copies, const T* scale,
                         const T* shift, const T* mean, const T* inverse, bool relu, const DropHashes* drop, T* of_h,
                         T* of_scale, T* of_shift, int threads, Watch watch = {});

}  // namespace neuraltrees
