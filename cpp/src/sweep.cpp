#include "neuraltrees/sweep.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "neuraltrees/clones.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/parallel.hpp"

namespace neuraltrees {
namespace {

constexpr std::int64_t block_channels = 64;  // channels that a thread computes at once
constexpr std::int64_t chunk_nodes = 1024;   // least number of nodes in the trees of a chunk
constexpr std::int64_t flush_nodes = 64;  // nodes whose gradients are summed before they are added in double precision

/// One block of channels of a sweep and of its gradients.
template <typename T>
struct Block {
    SweepForest forest;
    std::int64_t channels, first, width;
    const T* factors;
    std::int64_t factor_step;

    T* at(T* rows, std::int64_t row) const { return rows + row * channels + first; }
    const T* at(const T* rows, std::int64_t row) const { return rows + row * channels + first; }
    const T* factor(std::int64_t row) const { return factors + row * factor_step + first; }
};

/// sums = values plus what comes from the children, for places [begin, end).
template <typename T>
NEURALTREES_INLINE void walk_up(const Block<T>& block, const T* values, T* sums, std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
        const std::int64_t row = block.forest.row(k);
        std::copy_n(block.at(values, row), block.width, block.at(sums, row));
    }
    for (std::int64_t k = end; k-- > begin;) {
        const std::int64_t above = block.forest.parent[k];
        if (above < 0) continue;
        const std::int64_t row = block.forest.row(k);
        const T* __restrict a = block.factor(row);
        const T* __restrict own = block.at(sums, row);
        T* __restrict upper = block.at(sums, block.forest.row(above));
        for (std::int64_t c = 0; c < block.width; ++c) upper[c] += a[c] * own[c];
    }
}

template <typename T>
NEURALTREES_INLINE void walk_down(const Block<T>& block, const T* sums, T* out, std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
        const std::int64_t row = block.forest.row(k), above = block.forest.parent[k];
        const T* own = block.at(sums, row);  // may be `z`
        T* z = block.at(out, row);
        if (above < 0) {
            if (own != z) std::copy_n(own, block.width, z);
            continue;
        }
        const T* __restrict a = block.factor(row);
        const T* __restrict upper = block.at(out, block.forest.row(above));
#pragma GCC ivdep
        for (std::int64_t c = 0; c < block.width; ++c) z[c] = own[c] + a[c] * (upper[c] - a[c] * own[c]);
    }
}

/// The second pass over the gradient, in place, with the gradients of the factors: stored per node in `grad_factors`
/// or, where that is null, added to `total`.
template <typename T>
NEURALTREES_INLINE void walk_down_with_factors(const Block<T>& block, const T* sums, const T* out, T* grad,
                                               T* grad_factors, double* total, std::int64_t begin, std::int64_t end) {
    T part[block_channels] = {};
    std::int64_t pending = 0;
    const auto flush = [&] {
        for (std::int64_t c = 0; c < block.width; ++c) total[c] += part[c];
        std::fill_n(part, block_channels, T{0});
        pending = 0;
    };
    for (std::int64_t k = begin; k < end; ++k) {
        const std::int64_t row = block.forest.row(k), above = block.forest.parent[k];
        if (above < 0) {
            if (grad_factors) std::fill_n(block.at(grad_factors, row), block.width, T{0});
            continue;
        }
        const std::int64_t upper = block.forest.row(above);
        const T* __restrict a = block.factor(row);
        const T* __restrict s = block.at(sums, row);
        const T* __restrict z = block.at(out, upper);
        const T* __restrict down = block.at(grad, upper);
        T* __restrict own = block.at(grad, row);
        if (grad_factors) {
            T* __restrict into = block.at(grad_factors, row);
            for (std::int64_t c = 0; c < block.width; ++c) {
                const T beyond = down[c] - a[c] * own[c];
                into[c] = s[c] * beyond + own[c] * (z[c] - a[c] * s[c]);
                own[c] += a[c] * beyond;
            }
        } else {
            for (std::int64_t c = 0; c < block.width; ++c) {
                const T beyond = down[c] - a[c] * own[c];
                part[c] += s[c] * beyond + own[c] * (z[c] - a[c] * s[c]);
                own[c] += a[c] * beyond;
            }
            if (++pending == flush_nodes) flush();
        }
    }
    if (!grad_factors) flush();
}

template <typename T>
NEURALTREES_INLINE void walk(const Block<T>& block, const T* values, T* sums, T* out, std::int64_t begin,
                             std::int64_t end) {
    walk_up(block, values, sums, begin, end);
    walk_down(block, static_cast<const T*>(sums), out, begin, end);
}

template <typename T>
NEURALTREES_INLINE void walk_back(const Block<T>& block, const T* grad, const T* sums, const T* out, T* grad_values,
                                  T* grad_factors, double* total, std::int64_t begin, std::int64_t end) {
    walk_up(block, grad, grad_values, begin, end);
    walk_down_with_factors(block, sums, out, grad_values, grad_factors, total, begin, end);
}

// Clones of templates cannot be made, so each type has its own.
NEURALTREES_CLONES void walk_clone(const Block<float>& block, const float* values, float* sums, float* out,
                                   std::int64_t begin, std::int64_t end) {
    walk(block, values, sums, out, begin, end);
}
NEURALTREES_CLONES void walk_clone(const Block<double>& block, const double* values, double* sums, double* out,
                                   std::int64_t begin, std::int64_t end) {
    walk(block, values, sums, out, begin, end);
}
NEURALTREES_CLONES void walk_back_clone(const Block<float>& block, const float* grad, const float* sums,
                                        const float* out, float* grad_values, float* grad_factors, double* total,
                                        std::int64_t begin, std::int64_t end) {
    walk_back(block, grad, sums, out, grad_values, grad_factors, total, begin, end);
}
NEURALTREES_CLONES void walk_back_clone(const Block<double>& block, const double* grad, const double* sums,
                                        const double* out, double* grad_values, double* grad_factors, double* total,
                                        std::int64_t begin, std::int64_t end) {
    walk_back(block, grad, sums, out, grad_values, grad_factors, total, begin, end);
}

/// Groups of whole trees with enough nodes each, and the places after the last tree in groups of their own.
std::vector<std::int64_t> chunk_borders(const SweepForest& forest) {
    std::vector<std::int64_t> borders{0};
    for (const std::int64_t end : forest.tree_ptr)
        if (end - borders.back() >= chunk_nodes) borders.push_back(end);
    const std::int64_t trees_end = forest.tree_ptr.empty() ? 0 : forest.tree_ptr.back();
    if (borders.back() < trees_end) borders.push_back(trees_end);
    while (borders.back() < forest.num_nodes())
        borders.push_back(std::min(borders.back() + chunk_nodes, forest.num_nodes()));
    return borders;
}

/// Calls work(block, chunk, begin, end) for every block of channels and chunk of nodes.
template <typename T, typename Work>
void each_block(const SweepForest& forest, const SweepFactors<T>& factors, const std::vector<std::int64_t>& borders,
                std::int64_t channels, int threads, Watch watch, Work&& work) {
    const auto chunks = static_cast<std::int64_t>(borders.size()) - 1;
    const std::int64_t blocks = (channels + block_channels - 1) / block_channels;
    parallel_chunks(
        chunks * blocks, 1, threads,
        [&](std::int64_t task, std::int64_t, int worker) {
            const std::int64_t chunk = task / blocks, first = task % blocks * block_channels;
            const Block<T> block{forest,       channels,
                                 first,        std::min(block_channels, channels - first),
                                 factors.data, factors.per_node ? channels : 0};
            if (worker == 0) watch.check((borders[chunk + 1] - borders[chunk]) * block.width / 16);
            work(block, chunk, borders[chunk], borders[chunk + 1]);
        },
        watch);
}

std::string at_place(std::int64_t place) { return " at place " + std::to_string(place); }

}  // namespace

void check_forest(const SweepForest& forest) {
    const std::int64_t n = forest.num_nodes();
    std::int64_t begin = 0;
    const auto check_range = [&](std::int64_t end) {
        for (std::int64_t k = begin; k < end; ++k)
            if (forest.parent[k] != -1 && (forest.parent[k] < begin || forest.parent[k] >= k))
                throw InputError("Expected the parent of every place to be -1 or an earlier place of its tree; got " +
                                 std::to_string(forest.parent[k]) + at_place(k) +
                                 ". Make the plan by SweepPlan.of_edges or SweepPlan.of_parents.");
    };
    if (forest.tree_ptr.empty() || forest.tree_ptr[0] != 0)
        throw InputError("Expected tree_ptr to start with 0. Make the plan by SweepPlan.of_edges.");
    for (const std::int64_t end : forest.tree_ptr) {
        if (end < begin || end > n)
            throw InputError("Expected tree_ptr to grow from 0 to at most " + std::to_string(n) + " nodes; got " +
                             std::to_string(end) + " after " + std::to_string(begin) +
                             ". Make the plan by SweepPlan.of_edges or SweepPlan.of_parents.");
        check_range(end);
        begin = end;
    }
    for (std::int64_t k = begin; k < n; ++k)
        if (forest.parent[k] != -1)
            throw InputError("Expected no parent after the last tree; got " + std::to_string(forest.parent[k]) +
                             at_place(k) + ". End tree_ptr with the number of nodes.");
    if (!forest.order.empty() && static_cast<std::int64_t>(forest.order.size()) != n)
        throw InputError("Expected an order of " + std::to_string(n) + " nodes; got " +
                         std::to_string(forest.order.size()) + ".");
    for (const std::int64_t row : forest.order)
        if (row < 0 || row >= n)
            throw InputError("Expected an order of the nodes 0 to " + std::to_string(n - 1) + "; got " +
                             std::to_string(row) + ".");
}

template <typename T>
void sweep(const SweepForest& forest, const T* values, SweepFactors<T> factors, T* sums, T* out, std::int64_t channels,
           int threads, Watch watch) {
    each_block<T>(forest, factors, chunk_borders(forest), channels, threads, watch,
                  [&](const Block<T>& block, std::int64_t, std::int64_t begin, std::int64_t end) {
                      walk_clone(block, values, sums, out, begin, end);
                  });
}

template <typename T>
void sweep_gradients(const SweepForest& forest, const T* grad, SweepFactors<T> factors, const T* sums, const T* out,
                     T* grad_values, T* grad_factors, std::int64_t channels, int threads, Watch watch) {
    if (!grad_factors) return sweep(forest, grad, factors, grad_values, grad_values, channels, threads, watch);
    const auto borders = chunk_borders(forest);
    // One row per chunk, summed in the order of the chunks, so that the sums do not depend on the threads.
    std::vector<double> total(factors.per_node ? 0 : (borders.size() - 1) * channels, 0.0);
    each_block<T>(forest, factors, borders, channels, threads, watch,
                  [&](const Block<T>& block, std::int64_t chunk, std::int64_t begin, std::int64_t end) {
                      double* row = factors.per_node ? nullptr : total.data() + chunk * channels + block.first;
                      walk_back_clone(block, grad, sums, out, grad_values, factors.per_node ? grad_factors : nullptr,
                                      row, begin, end);
                  });
    if (factors.per_node) return;
    for (std::int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (std::size_t at = c; at < total.size(); at += channels) sum += total[at];
        grad_factors[c] = static_cast<T>(sum);
    }
}

template void sweep(const SweepForest&, const float*, SweepFactors<float>, float*, float*, std::int64_t, int, Watch);
template void sweep(const SweepForest&, const double*, SweepFactors<double>, double*, double*, std::int64_t, int,
                    Watch);
template void sweep_gradients(const SweepForest&, const float*, SweepFactors<float>, const float*, const float*, float*,
                              float*, std::int64_t, int, Watch);
template void sweep_gradients(const SweepForest&, const double*, SweepFactors<double>, const double*, const double*,
                              double*, double*, std::int64_t, int, Watch);

}  // namespace neuraltrees
