#include "neuraltrees/graph.hpp"

#include <algorithm>
#include <string>

#include "neuraltrees/error.hpp"

namespace neuraltrees {
namespace {

void check_count(std::int64_t num_nodes) {
    if (num_nodes < 0)
        throw InputError("Expected a number of nodes of at least 0; got " + std::to_string(num_nodes) + ".");
    if (num_nodes > max_graph_nodes)
        throw InputError("Expected at most " + std::to_string(max_graph_nodes) +
                         " nodes, which the core numbers in 32 bits; got " + std::to_string(num_nodes) +
                         ". Number the nodes 0, 1, 2, … without gaps, or split the graph.");
}

/// Refuses ids with huge gaps, and headers that lie, before gigabytes are allocated for nodes without edges.
void check_gaps(std::int64_t num_nodes, std::int64_t edges) {
    constexpr std::int64_t many = std::int64_t{1} << 27;
    if (num_nodes <= many || num_nodes / 16 <= edges) return;
    throw InputError("Expected a graph in which most nodes have edges; got " + std::to_string(num_nodes) +
                     " nodes and " + std::to_string(edges) + " edges, which would take " +
                     std::to_string(num_nodes >> 26) +
                     " GiB for isolated nodes. Number the nodes 0, 1, 2, … without gaps, and leave out isolated ones.");
}

template <typename Id>
void check_ids(Strided<Id> ids, std::int64_t num_nodes, Watch& watch) {
    for (std::int64_t i = 0; i < ids.size; ++i) {
        watch.check();
        if (ids[i] < 0 || ids[i] >= num_nodes)
            throw InputError("Expected node ids between 0 and " + std::to_string(num_nodes - 1) + "; got " +
                             std::to_string(ids[i]) + " in edge " + std::to_string(i) + ".");
    }
}

void sort_and_merge_rows(Graph& graph, Watch& watch) {
    std::int64_t write = 0, begin = 0;
    for (std::size_t v = 0; v + 1 < graph.ptr.size(); ++v) {
        const std::int64_t end = graph.ptr[v + 1];
        watch.check(1 + 4 * (end - begin));
        auto first = graph.adj.begin() + begin, last = graph.adj.begin() + end;
        if (!std::is_sorted(first, last)) std::sort(first, last);
        last = std::unique(first, last);
        const std::int64_t kept = last - first;
        if (write != begin) std::copy(first, last, graph.adj.begin() + write);
        write += kept;
        begin = end;
        graph.ptr[v + 1] = write;
    }
    graph.adj.resize(write);
}

}  // namespace

bool GraphView::has_edge(Vertex u, Vertex v) const {
    if (degree(u) > degree(v)) std::swap(u, v);
    const auto row = neighbours(u);
    if (row.size() <= 16) return std::find(row.begin(), row.end(), v) != row.end();
    return std::binary_search(row.begin(), row.end(), v);
}

template <typename Id>
Graph graph_from_edges(Strided<Id> source, Strided<Id> target, std::int64_t num_nodes, Watch watch) {
    if (source.size != target.size) throw InputError("Expected as many sources as targets.");
    check_count(num_nodes);
    check_gaps(num_nodes, source.size);
    check_ids(source, num_nodes, watch);
    check_ids(target, num_nodes, watch);

    Graph graph;
    graph.ptr.assign(num_nodes + 1, 0);
    for (std::int64_t i = 0; i < source.size; ++i) {
        watch.check(2);
        if (source[i] != target[i]) {
            ++graph.ptr[source[i] + 1];
            ++graph.ptr[target[i] + 1];
        }
    }
    for (std::int64_t v = 0; v < num_nodes; ++v) graph.ptr[v + 1] += graph.ptr[v];
    graph.adj.resize(graph.ptr[num_nodes]);
    std::vector<std::int64_t> next(graph.ptr.begin(), graph.ptr.end() - 1);
    for (std::int64_t i = 0; i < source.size; ++i) {
        watch.check(8);
        if (source[i] != target[i]) {
            graph.adj[next[source[i]]++] = static_cast<Vertex>(target[i]);
            graph.adj[next[target[i]]++] = static_cast<Vertex>(source[i]);
        }
    }
    sort_and_merge_rows(graph, watch);
    return graph;
}

template Graph graph_from_edges(Strided<std::int32_t>, Strided<std::int32_t>, std::int64_t, Watch);
template Graph graph_from_edges(Strided<std::int64_t>, Strided<std::int64_t>, std::int64_t, Watch);

Graph induced_subgraph(GraphView graph, std::span<const Vertex> nodes, std::vector<Vertex>& position, Watch watch) {
    for (std::size_t i = 0; i < nodes.size(); ++i) position[nodes[i]] = static_cast<Vertex>(i);
    Graph out;
    out.ptr.reserve(nodes.size() + 1);
    for (Vertex v : nodes) {
        watch.check(1 + 4 * graph.degree(v));
        for (Vertex u : graph.neighbours(v))
            if (position[u] >= 0) out.adj.push_back(position[u]);
        std::sort(out.adj.begin() + out.ptr.back(), out.adj.end());
        out.ptr.push_back(static_cast<std::int64_t>(out.adj.size()));
    }
    for (Vertex v : nodes) position[v] = -1;
    return out;
}

Graph moral_graph(std::span<const std::int64_t> source, std::span<const std::int64_t> target, std::int64_t num_nodes,
                  Watch watch) {
    check_count(num_nodes);
    check_gaps(num_nodes, std::ssize(source));
    check_ids(Strided<std::int64_t>{source.data(), std::ssize(source)}, num_nodes, watch);
    check_ids(Strided<std::int64_t>{target.data(), std::ssize(target)}, num_nodes, watch);
    std::vector<std::vector<std::int64_t>> parents(num_nodes);
    std::vector<std::int64_t> from(source.begin(), source.end()), to(target.begin(), target.end());
    for (std::size_t i = 0; i < source.size(); ++i)
        if (source[i] != target[i]) parents[target[i]].push_back(source[i]);
    for (auto& group : parents) {
        std::sort(group.begin(), group.end());
        group.erase(std::unique(group.begin(), group.end()), group.end());
        for (std::size_t i = 0; i < group.size(); ++i) {
            watch.check(static_cast<std::int64_t>(group.size()));
            for (std::size_t j = i + 1; j < group.size(); ++j) {
                from.push_back(group[i]);
                to.push_back(group[j]);
            }
        }
    }
    return graph_from_edges(from, to, num_nodes, watch);
}

}  // namespace neuraltrees
