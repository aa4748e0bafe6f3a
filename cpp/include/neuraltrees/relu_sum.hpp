#pragma once

#include <cstdint>
#include <span>

#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// Messages along edges: edge e sends the state of row `source[e]`, plus row `kind[e]` of a table, to row `target[e]`.
/// `kind` is empty where the table has one row for all edges.
struct ReluEdges {
    std::span<const std::int64_t> source, target, kind;
};

/// Throws InputError unless all numbers are those of existing rows.
void check_edges(const ReluEdges& edges, std::int64_t sources, std::int64_t targets, std::int64_t kinds);

/// out_t = sum over the edges e to t of max(0, x_source(e) + table_kind(e)), without a tensor of all messages. Rows of
/// `channels` numbers; `table` may be null for zeros. NaN is passed on. Results do not depend on `threads`.
template <typename T>
void relu_sum(const ReluEdges& edges, const T* x, const T* table, T* out, std::int64_t targets, std::int64_t channels,
              int threads, Watch watch = {});

/// The gradients of `x` and, unless it is null, of the `kinds` rows of `table`, from that of `out`.
template <typename T>
void relu_sum_gradients(const ReluEdges& edges, const T* grad, const T* x, const T* table, T* of_x, T* of_table,
                        std::int64_t sources, std::int64_t kinds, std::int64_t channels, int threads, Watch watch = {});

/// out_t = sum over the edges e to t of x_source(e). Its gradient is the same sum with source and target exchanged.
template <typename T>
void edge_sum(const ReluEdges& edges, const T* x, T* out, std::int64_t targets, std::int64_t channels, int threads,
              Watch watch = {});

}  // namespace neuraltrees
