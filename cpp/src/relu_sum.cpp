#include "neuraltrees/relu_sum.hpp"

#include <algorithm>
#include <vector>

#include "neuraltrees/clones.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/parallel.hpp"

namespace neuraltrees {
namespace {

constexpr std::int64_t block_channels = 256;  // channels that a thread computes at once
constexpr std::int64_t flush_edges = 64;  // edges whose gradients are summed before they are added in double precision

bool all_below(std::span<const std::int64_t> values, std::int64_t count) {
    return std::ranges::all_of(values, [count](std::int64_t x) { return 0 <= x && x < count; });
}

/// One block of channels.
struct Block {
    const ReluEdges& edges;
    std::int64_t channels, first, width;

    template <typename T>
    T* at(T* rows, std::int64_t row) const {
        return rows + row * channels + first;
    }
    std::int64_t kind(std::size_t e) const { return edges.kind.empty() ? 0 : edges.kind[e]; }
};

// Where a sum is NaN, the comparison is false and NaN is passed on.
template <typename T>
NEURALTREES_INLINE void add_messages(const Block& block, const T* x, const T* table, T* out) {
    for (std::size_t e = 0; e < block.edges.source.size(); ++e) {
        const T* __restrict state = block.at(x, block.edges.source[e]);
        T* __restrict sum = block.at(out, block.edges.target[e]);
        if (table) {
            const T* __restrict row = block.at(table, block.kind(e));
            for (std::int64_t c = 0; c < block.width; ++c) {
                const T message = state[c] + row[c];
                sum[c] += message <= 0 ? T{0} : message;
            }
        } else {
            for (std::int64_t c = 0; c < block.width; ++c) sum[c] += state[c] <= 0 ? T{0} : state[c];
        }
    }
}

template <typename T>
NEURALTREES_INLINE void add_states(const Block& block, const T* x, T* out) {
    for (std::size_t e = 0; e < block.edges.source.size(); ++e) {
        const T* __restrict state = block.at(x, block.edges.source[e]);
        T* __restrict sum = block.at(out, block.edges.target[e]);
        for (std::int64_t c = 0; c < block.width; ++c) sum[c] += state[c];
    }
}

/// `part` and `total` have a row of `block_channels` numbers per row of the table; null where its gradient is not
/// wanted.
template <typename T>
NEURALTREES_INLINE void add_gradients(const Block& block, const T* grad, const T* x, const T* table, T* of_x, T* part,
                                      double* total, std::int64_t kinds) {
    std::int64_t pending = 0;
    const auto flush = [&] {
        const std::int64_t count = kinds * block_channels;
        for (std::int64_t i = 0; i < count; ++i) total[i] += part[i];
        std::fill_n(part, count, T{0});
        pending = 0;
    };
    for (std::size_t e = 0; e < block.edges.source.size(); ++e) {
        const T* __restrict state = block.at(x, block.edges.source[e]);
        const T* __restrict received = block.at(grad, block.edges.target[e]);
        T* __restrict sum = block.at(of_x, block.edges.source[e]);
        if (!table) {
            for (std::int64_t c = 0; c < block.width; ++c) sum[c] += state[c] <= 0 ? T{0} : received[c];
            continue;
        }
        const std::int64_t kind = block.kind(e);
        const T* __restrict row = block.at(table, kind);
        if (!part) {
            for (std::int64_t c = 0; c < block.width; ++c) sum[c] += state[c] + row[c] <= 0 ? T{0} : received[c];
            continue;
        }
        T* __restrict of_row = part + kind * block_channels;
        for (std::int64_t c = 0; c < block.width; ++c) {
            const T passed = state[c] + row[c] <= 0 ? T{0} : received[c];
            sum[c] += passed;
            of_row[c] += passed;
        }
        if (++pending == flush_edges * kinds) flush();
    }
    if (part) flush();
}

NEURALTREES_CLONES void add_messages_clone(const Block& block, const float* x, const float* table, float* out) {
    add_messages(block, x, table, out);
}

NEURALTREES_CLONES void add_messages_clone(const Block& block, const double* x, const double* table, double* out) {
    add_messages(block, x, table, out);
}

NEURALTREES_CLONES void add_states_clone(const Block& block, const float* x, float* out) { add_states(block, x, out); }

NEURALTREES_CLONES void add_states_clone(const Block& block, const double* x, double* out) {
    add_states(block, x, out);
}

NEURALTREES_CLONES void add_gradients_clone(const Block& block, const float* grad, const float* x, const float* table,
                                            float* of_x, float* part, double* total, std::int64_t kinds) {
    add_gradients(block, grad, x, table, of_x, part, total, kinds);
}

NEURALTREES_CLONES void add_gradients_clone(const Block& block, const double* grad, const double* x,
                                            const double* table, double* of_x, double* part, double* total,
                                            std::int64_t kinds) {
    add_gradients(block, grad, x, table, of_x, part, total, kinds);
}

}  // namespace

void check_edges(const ReluEdges& edges, std::int64_t sources, std::int64_t targets, std::int64_t kinds) {
    const std::size_t count = edges.source.size();
    if (edges.target.size() != count || (!edges.kind.empty() && edges.kind.size() != count))
        throw InputError("Expected a source, a target and a kind per edge; got other numbers of them.");
    if (!all_below(edges.source, sources) || !all_below(edges.target, targets) || !all_below(edges.kind, kinds) ||
        (kinds != 1 && edges.kind.empty() && count > 0))
        throw InputError("Expected sources, targets and kinds as numbers of rows; got other numbers.");
}

template <typename T>
void relu_sum(const ReluEdges& edges, const T* x, const T* table, T* out, std::int64_t targets, std::int64_t channels,
              int threads, Watch watch) {
    std::fill_n(out, targets * channels, T{0});
    parallel_chunks(
        channels, block_channels, threads,
        [&](std::int64_t begin, std::int64_t end, int) {
            add_messages_clone(Block{edges, channels, begin, end - begin}, x, table, out);
        },
        watch);
}

template <typename T>
void relu_sum_gradients(const ReluEdges& edges, const T* grad, const T* x, const T* table, T* of_x, T* of_table,
                        std::int64_t sources, std::int64_t kinds, std::int64_t channels, int threads, Watch watch) {
    std::fill_n(of_x, sources * channels, T{0});
    const std::int64_t size = of_table ? kinds * block_channels : 0;
    parallel_chunks(
        channels, block_channels, threads,
        [&](std::int64_t begin, std::int64_t end, int) {
            std::vector<T> part(size, T{0});
            std::vector<double> total(size, 0.0);
            const Block block{edges, channels, begin, end - begin};
            add_gradients_clone(block, grad, x, table, of_x, size ? part.data() : nullptr, total.data(), kinds);
            for (std::int64_t k = 0; size && k < kinds; ++k)
                std::copy_n(total.data() + k * block_channels, block.width, block.at(of_table, k));
        },
        watch);
}

template <typename T>
void edge_sum(const ReluEdges& edges, const T* x, T* out, std::int64_t targets, std::int64_t channels, int threads,
              Watch watch) {
    std::fill_n(out, targets * channels, T{0});
    parallel_chunks(
        channels, block_channels, threads,
        [&](std::int64_t begin, std::int64_t end, int) {
            add_states_clone(Block{edges, channels, begin, end - begin}, x, out);
        },
        watch);
}

template void edge_sum(const ReluEdges&, const float*, float*, std::int64_t, std::int64_t, int, Watch);
template void edge_sum(const ReluEdges&, const double*, double*, std::int64_t, std::int64_t, int, Watch);
template void relu_sum(const ReluEdges&, const float*, const float*, float*, std::int64_t, std::int64_t, int, Watch);
template void relu_sum(const ReluEdges&, const double*, const double*, double*, std::int64_t, std::int64_t, int, Watch);
template void relu_sum_gradients(const ReluEdges&, const float*, const float*, const float*, float*, float*,
                                 std::int64_t, std::int64_t, std::int64_t, int, Watch);
template void relu_sum_gradients(const ReluEdges&, const double*, const double*, const double*, double*, double*,
                                 std::int64_t, std::int64_t, std::int64_t, int, Watch);

}  // namespace neuraltrees
