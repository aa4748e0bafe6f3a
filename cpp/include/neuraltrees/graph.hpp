#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "neuraltrees/watch.hpp"

namespace neuraltrees {

using Vertex = std::int32_t;

/// The largest number of nodes of a graph and of bags of a decomposition: one less than the largest Vertex, because
/// this number plus one, the length of the row pointers, must be a Vertex as well. Files and Python have the same
/// limit.
inline constexpr std::int64_t max_graph_nodes = std::numeric_limits<Vertex>::max() - 1;

/// A view of the compressed rows of an undirected simple graph; neighbours are sorted.
struct GraphView {
    std::span<const std::int64_t> ptr;
    std::span<const Vertex> adj;

    Vertex num_nodes() const { return static_cast<Vertex>(ptr.size()) - 1; }
    std::int64_t num_edges() const { return static_cast<std::int64_t>(adj.size()) / 2; }
    std::int64_t degree(Vertex v) const { return ptr[v + 1] - ptr[v]; }
    std::span<const Vertex> neighbours(Vertex v) const { return adj.subspan(ptr[v], ptr[v + 1] - ptr[v]); }
    bool has_edge(Vertex u, Vertex v) const;
};

/// The same graph, owning its rows.
struct Graph {
    std::vector<std::int64_t> ptr{0};
    std::vector<Vertex> adj;

    GraphView view() const { return {ptr, adj}; }
    operator GraphView() const { return view(); }
};

/// The connected components, numbered by their smallest vertex; `nodes` lists them one after another, each sorted.
struct Components {
    std::vector<Vertex> label;
    std::vector<std::int64_t> ptr;
    std::vector<Vertex> nodes;

    std::int64_t count() const { return static_cast<std::int64_t>(ptr.size()) - 1; }
    std::span<const Vertex> members(std::int64_t c) const {
        return std::span(nodes).subspan(ptr[c], ptr[c + 1] - ptr[c]);
    }
};

/// Numbers with a stride, such as a column of an array of pairs, possibly in a memory-mapped file.
template <typename Id>
struct Strided {
    const Id* data = nullptr;
    std::int64_t size = 0, stride = 1;

    std::int64_t operator[](std::int64_t i) const { return data[i * stride]; }
};

/// Drops self-loops, merges parallel and reversed edges. Throws InputError for an id outside 0 … num_nodes - 1. Reads
/// the edges sequentially three times without copying them, so that they may be a file larger than memory.
template <typename Id>
Graph graph_from_edges(Strided<Id> source, Strided<Id> target, std::int64_t num_nodes, Watch watch = {});

inline Graph graph_from_edges(std::span<const std::int64_t> source, std::span<const std::int64_t> target,
                              std::int64_t num_nodes, Watch watch = {}) {
    const auto all = [](auto ids) { return Strided<std::int64_t>{ids.data(), std::ssize(ids)}; };
    return graph_from_edges(all(source), all(target), num_nodes, watch);
}

/// The same for any number of threads.
Components connected_components(GraphView graph, Watch watch = {}, int threads = 1);

/// G[nodes], relabelled in the given order. `position` is scratch of num_nodes entries, all -1 before and after.
Graph induced_subgraph(GraphView graph, std::span<const Vertex> nodes, std::vector<Vertex>& position, Watch watch = {});

/// Joins the parents of every node of a directed graph and drops the directions.
Graph moral_graph(std::span<const std::int64_t> source, std::span<const std::int64_t> target, std::int64_t num_nodes,
                  Watch watch = {});

}  // namespace neuraltrees
