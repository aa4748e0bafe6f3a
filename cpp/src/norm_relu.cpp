#include "neuraltrees/norm_relu.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "neuraltrees/clones.hpp"
#include "neuraltrees/parallel.hpp"

namespace neuraltrees {
namespace {

constexpr std::int64_t most_channels = 64;  // channels that a thread computes at once
constexpr std::int64_t chunk_rows = 64;     // rows that are summed before they are added in double precision
constexpr double epsilon = 1e-5;

/// Some channels of one run.
struct Block {
    NormShape shape;
    std::int64_t run, within, width;

    template <typename T>
    T* at(T* rows, std::int64_t row) const {
        return rows + row * shape.channels + run * shape.size + within;
    }
    template <typename T>
    T* of_channel(T* numbers) const {
        return numbers + run * shape.size + within;
    }
};

/// What dropout multiplies the entries of one row by; must equal `DropoutMasks.mask` in Python.
NEURALTREES_INLINE void kept(const Block& block, const DropHashes& drop, std::int64_t row, float* __restrict out) {
    const std::int32_t* __restrict entry = drop.entries + row * block.shape.size + block.within;
    const std::int32_t key = drop.keys[block.run];
    const float low = drop.low, factor = drop.factor;
    for (std::int64_t c = 0; c < block.width; ++c) {
        auto bits = static_cast<std::uint32_t>(entry[c] ^ key);
        bits = (bits ^ (bits >> 15)) * 0x21F0AAADU;
        bits = (bits ^ (bits >> 15)) * 0xD35A2D97U;
        const float uniform = static_cast<float>(static_cast<std::int32_t>(bits)) * 2.3283064365386963e-10F;  // 2^-32
        out[c] = uniform + low > 0.0F ? factor : 0.0F;
    }
}

/// The mean of every channel, and the sum of squared differences from it: exact within chunks of rows, which are then
/// combined.
template <typename T>
NEURALTREES_INLINE void moments(const Block& block, const T* h, const NormCopies<T>& copies, double* __restrict mean,
                                double* __restrict spread) {
    std::fill_n(mean, block.width, 0.0);
    std::fill_n(spread, block.width, 0.0);
    T sum[most_channels], squares[most_channels];
    double before = 0;  // nodes of the rows so far
    for (std::int64_t begin = 0; begin < block.shape.rows; begin += chunk_rows) {
        const std::int64_t end = std::min(block.shape.rows, begin + chunk_rows);
        std::fill_n(sum, block.width, T{0});
        std::fill_n(squares, block.width, T{0});
        T count = static_cast<T>(end - begin);
        if (copies.of_row) {
            count = 0;
            for (std::int64_t row = begin; row < end; ++row) {
                const T* __restrict x = block.at(h, row);
                const T times = copies.of_row[row];
                count += times;
                for (std::int64_t c = 0; c < block.width; ++c) sum[c] += times * x[c];
            }
        } else {
            for (std::int64_t row = begin; row < end; ++row) {
                const T* __restrict x = block.at(h, row);
                for (std::int64_t c = 0; c < block.width; ++c) sum[c] += x[c];
            }
        }
        for (std::int64_t c = 0; c < block.width; ++c) sum[c] /= count;
        for (std::int64_t row = begin; row < end; ++row) {
            const T* __restrict x = block.at(h, row);
            const T times = copies.of_row ? copies.of_row[row] : T{1};
            for (std::int64_t c = 0; c < block.width; ++c) squares[c] += times * ((x[c] - sum[c]) * (x[c] - sum[c]));
        }
        const auto here = static_cast<double>(count);
        const double share = here / (before + here);
        for (std::int64_t c = 0; c < block.width; ++c) {
            const double step = static_cast<double>(sum[c]) - mean[c];
            spread[c] += static_cast<double>(squares[c]) + step * step * before * share;
            mean[c] += step * share;
        }
        before += here;
    }
}

template <typename T>
NEURALTREES_INLINE void normalise(const Block& block, const T* h, const NormCopies<T>& copies,
                                  const NormParameters<T>& norm, bool relu, const DropHashes* drop, const T* residual,
                                  T* out, T* mean, T* inverse) {
    double means[most_channels], spread[most_channels];
    moments(block, h, copies, means, spread);
    T middle[most_channels], factor[most_channels];
    for (std::int64_t c = 0; c < block.width; ++c) {
        T* old = block.of_channel(norm.running_mean) + c;
        *old = static_cast<T>(*old + norm.momentum * (means[c] - *old));
        old = block.of_channel(norm.running_var) + c;
        *old = static_cast<T>(*old + norm.momentum * (spread[c] / (copies.all - 1) - *old));
        const double inverted = 1 / std::sqrt(spread[c] / copies.all + epsilon);
        block.of_channel(mean)[c] = middle[c] = static_cast<T>(means[c]);
        block.of_channel(inverse)[c] = static_cast<T>(inverted);
        factor[c] = static_cast<T>(block.of_channel(norm.scale)[c] * inverted);
    }
    const T* __restrict shift = block.of_channel(norm.shift);
    float keeps[most_channels];
    for (std::int64_t row = 0; row < block.shape.rows; ++row) {
        const T* x = block.at(h, row);
        T* __restrict y = block.at(out, row);
        for (std::int64_t c = 0; c < block.width; ++c) y[c] = (x[c] - middle[c]) * factor[c] + shift[c];
        if (relu)
            for (std::int64_t c = 0; c < block.width; ++c) y[c] = y[c] <= 0 ? T{0} : y[c];
        if (drop) {
            kept(block, *drop, row, keeps);
            for (std::int64_t c = 0; c < block.width; ++c) y[c] *= static_cast<T>(keeps[c]);
        }
        if (residual) {
            const T* __restrict added = block.at(residual, row);
            for (std::int64_t c = 0; c < block.width; ++c) y[c] += added[c];
        }
    }
}

template <typename T>
NEURALTREES_INLINE void normalise_back(const Block& block, const T* grad, const T* h, const NormCopies<T>& copies,
                                       const T* scale, const T* shift, const T* mean, const T* inverse, bool relu,
                                       const DropHashes* drop, T* of_h, T* of_scale, T* of_shift) {
    T middle[most_channels], inverted[most_channels], factor[most_channels], start[most_channels];
    for (std::int64_t c = 0; c < block.width; ++c) {
        middle[c] = block.of_channel(mean)[c];
        inverted[c] = block.of_channel(inverse)[c];
        factor[c] = block.of_channel(scale)[c] * inverted[c];
        start[c] = block.of_channel(shift)[c];
    }
    double plain[most_channels] = {}, along[most_channels] = {};
    float keeps[most_channels];
    // First what comes through dropout and ReLU, and its sums.
    for (std::int64_t begin = 0; begin < block.shape.rows; begin += chunk_rows) {
        const std::int64_t end = std::min(block.shape.rows, begin + chunk_rows);
        T sum[most_channels] = {}, product[most_channels] = {};
        for (std::int64_t row = begin; row < end; ++row) {
            const T* __restrict x = block.at(h, row);
            const T* __restrict received = block.at(grad, row);
            T* __restrict passed = block.at(of_h, row);
            for (std::int64_t c = 0; c < block.width; ++c) passed[c] = received[c];
            if (drop) {
                kept(block, *drop, row, keeps);
                for (std::int64_t c = 0; c < block.width; ++c) passed[c] *= static_cast<T>(keeps[c]);
            }
            if (relu)
                for (std::int64_t c = 0; c < block.width; ++c)
                    passed[c] = (x[c] - middle[c]) * factor[c] + start[c] <= 0 ? T{0} : passed[c];
            for (std::int64_t c = 0; c < block.width; ++c) {
                sum[c] += passed[c];
                product[c] += passed[c] * ((x[c] - middle[c]) * inverted[c]);
            }
        }
        for (std::int64_t c = 0; c < block.width; ++c) {
            plain[c] += sum[c];
            along[c] += product[c];
        }
    }
    T constant[most_channels], slope[most_channels];
    for (std::int64_t c = 0; c < block.width; ++c) {
        block.of_channel(of_scale)[c] = static_cast<T>(along[c]);
        block.of_channel(of_shift)[c] = static_cast<T>(plain[c]);
        constant[c] = static_cast<T>(plain[c] / copies.all);
        slope[c] = static_cast<T>(along[c] / copies.all * inverted[c]);
    }
    for (std::int64_t row = 0; row < block.shape.rows; ++row) {
        const T* __restrict x = block.at(h, row);
        T* __restrict passed = block.at(of_h, row);
        const T times = copies.of_row ? copies.of_row[row] : T{1};
        for (std::int64_t c = 0; c < block.width; ++c)
            passed[c] = factor[c] * (passed[c] - times * (constant[c] + (x[c] - middle[c]) * slope[c]));
    }
}

template <typename T>
NEURALTREES_INLINE void drop_some(const Block& block, const T* h, const DropHashes& drop, T* out, std::int64_t begin,
                                  std::int64_t end) {
    float keeps[most_channels];
    for (std::int64_t row = begin; row < end; ++row) {
        const T* __restrict x = block.at(h, row);
        T* __restrict y = block.at(out, row);
        kept(block, drop, row, keeps);
        for (std::int64_t c = 0; c < block.width; ++c) y[c] = x[c] * static_cast<T>(keeps[c]);
    }
}

NEURALTREES_CLONES void drop_clone(const Block& block, const float* h, const DropHashes& drop, float* out,
                                   std::int64_t begin, std::int64_t end) {
    drop_some(block, h, drop, out, begin, end);
}

NEURALTREES_CLONES void drop_clone(const Block& block, const double* h, const DropHashes& drop, double* out,
                                   std::int64_t begin, std::int64_t end) {
    drop_some(block, h, drop, out, begin, end);
}

NEURALTREES_CLONES void normalise_clone(const Block& block, const float* h, const NormCopies<float>& copies,
                                        const NormParameters<float>& norm, bool relu, const DropHashes* drop,
                                        const float* residual, float* out, float* mean, float* inverse) {
    normalise(block, h, copies, norm, relu, drop, residual, out, mean, inverse);
}

NEURALTREES_CLONES void normalise_clone(const Block& block, const double* h, const NormCopies<double>& copies,
                                        const NormParameters<double>& norm, bool relu, const DropHashes* drop,
                                        const double* residual, double* out, double* mean, double* inverse) {
    normalise(block, h, copies, norm, relu, drop, residual, out, mean, inverse);
}

NEURALTREES_CLONES void normalise_back_clone(const Block& block, const float* grad, const float* h,
                                             const NormCopies<float>& copies, const float* scale, const float* shift,
                                             const float* mean, const float* inverse, bool relu, const DropHashes* drop,
                                             float* of_h, float* of_scale, float* of_shift) {
    normalise_back(block, grad, h, copies, scale, shift, mean, inverse, relu, drop, of_h, of_scale, of_shift);
}

NEURALTREES_CLONES void normalise_back_clone(const Block& block, const double* grad, const double* h,
                                             const NormCopies<double>& copies, const double* scale, const double* shift,
                                             const double* mean, const double* inverse, bool relu,
                                             const DropHashes* drop, double* of_h, double* of_scale, double* of_shift) {
    normalise_back(block, grad, h, copies, scale, shift, mean, inverse, relu, drop, of_h, of_scale, of_shift);
}

template <typename Work>
void each_block(const NormShape& shape, int threads, Watch watch, Work&& work) {
    const std::int64_t per_run = (shape.size + most_channels - 1) / most_channels;
    const std::int64_t blocks = shape.size ? shape.channels / shape.size * per_run : 0;
    parallel_chunks(
        blocks, 1, threads,
        [&](std::int64_t number, std::int64_t, int) {
            const std::int64_t within = number % per_run * most_channels;
            work(Block{shape, number / per_run, within, std::min(most_channels, shape.size - within)});
        },
        watch);
}

}  // namespace

template <typename T>
void drop_entries(const NormShape& shape, const T* h, const DropHashes& drop, T* out, int threads, Watch watch) {
    parallel_chunks(
        shape.rows, chunk_rows, threads,
        [&](std::int64_t begin, std::int64_t end, int) {
            each_block(shape, 1, {}, [&](const Block& block) { drop_clone(block, h, drop, out, begin, end); });
        },
        watch);
}

template <typename T>
NormCopies<T> norm_copies(const T* of_row, std::int64_t rows) {
    if (!of_row) return {nullptr, static_cast<double>(rows)};
    return {of_row, std::accumulate(of_row, of_row + rows, 0.0)};
}

template <typename T>
void norm_relu(const NormShape& shape, const T* h, const NormCopies<T>& copies, const NormParameters<T>& norm,
               bool relu, const DropHashes* drop, const T* residual, T* out, T* mean, T* inverse, int threads,
               Watch watch) {
    each_block(shape, threads, watch, [&](const Block& block) {
        normalise_clone(block, h, copies, norm, relu, drop, residual, out, mean, inverse);
    });
}

template <typename T>
void norm_relu_gradients(const NormShape& shape, const T* grad, const T* h, const NormCopies<T>& copies, const T* scale,
                         const T* shift, const T* mean, const T* inverse, bool relu, const DropHashes* drop, T* of_h,
                         T* of_scale, T* of_shift, int threads, Watch watch) {
    each_block(shape, threads, watch, [&](const Block& block) {
        normalise_back_clone(block, grad, h, copies, scale, shift, mean, inverse, relu, drop, of_h, of_scale, of_shift);
    });
}

template void drop_entries(const NormShape&, const float*, const DropHashes&, float*, int, Watch);
template void drop_entries(const NormShape&, const double*, const DropHashes&, double*, int, Watch);
template void norm_relu(const NormShape&, const float*, const NormCopies<float>&, const NormParameters<float>&, bool,
                        const DropHashes*, const float*, float*, float*, float*, int, Watch);
template void norm_relu(const NormShape&, const double*, const NormCopies<double>&, const NormParameters<double>&, bool,
                        const DropHashes*, const double*, double*, double*, double*, int, Watch);
template NormCopies<float> norm_copies(const float*, std::int64_t);
template void norm_relu_gradients(const NormShape&, const float*, const float*, const NormCopies<float>&, const float*,
                                  const float*, const float*, const float*, bool, const DropHashes*, float*, float*,
                                  float*, int, Watch);
template NormCopies<double> norm_copies(const double*, std::int64_t);
template void norm_relu_gradients(const NormShape&, const double*, const double*, const NormCopies<double>&,
                                  const double*, const double*, const double*, const double*, bool, const DropHashes*,
                                  double*, double*, double*, int, Watch);

}  // namespace neuraltrees
