#include "neuraltrees/rooted_forest.hpp"

#include <algorithm>
#include <string>

#include "neuraltrees/error.hpp"

namespace neuraltrees {
namespace {

using Nodes = std::vector<std::int64_t>;

/// Places the nodes of a forest, given the parent of each and all nodes in an order with children before parents.
RootedForest placed(const Nodes& parent, const Nodes& upwards, Watch watch) {
    const auto n = static_cast<std::int64_t>(parent.size());
    Nodes root(n), child_ptr(n + 1, 0), children(n), depth(n, 0);
    for (auto v = upwards.rbegin(); v != upwards.rend(); ++v) {
        watch.check();
        const std::int64_t p = parent[*v];
        root[*v] = p < 0 ? *v : root[p];
        depth[*v] = p < 0 ? 0 : depth[p] + 1;
        if (p >= 0) ++child_ptr[p + 1];
    }
    for (std::int64_t v = 0; v < n; ++v) child_ptr[v + 1] += child_ptr[v];
    Nodes next(child_ptr.begin(), child_ptr.end() - 1);
    for (std::int64_t v = 0; v < n; ++v)
        if (parent[v] >= 0) children[next[parent[v]]++] = v;

    RootedForest forest;
    forest.order.reserve(n);
    forest.parent.reserve(n);
    std::vector<char> seen(n, 0);
    const auto place = [&](std::int64_t v, std::int64_t above) {
        forest.order.push_back(v);
        forest.parent.push_back(above);
    };
    for (std::int64_t v = 0; v < n; ++v) {
        if (seen[root[v]]) continue;
        seen[root[v]] = 1;
        const std::int64_t begin = forest.tree_ptr.back();
        place(root[v], -1);
        for (std::int64_t k = begin; k < static_cast<std::int64_t>(forest.order.size()); ++k) {
            watch.check();
            const std::int64_t u = forest.order[k];
            for (std::int64_t c = child_ptr[u]; c < child_ptr[u + 1]; ++c) place(children[c], k);
        }
        const auto end = static_cast<std::int64_t>(forest.order.size());
        forest.tree_ptr.push_back(end);
        forest.largest = std::max(forest.largest, end - begin);
        forest.depth = std::max(forest.depth, depth[forest.order.back()]);
    }
    return forest;
}

}  // namespace

RootedForest root_at_centres(GraphView graph, Watch watch) {
    // Leaves are removed layer by layer. The remaining neighbour of a leaf is its parent, and the last node of a tree
    // is its centre, or one of its two centres; the nodes of a cycle never become leaves.
    const std::int64_t n = graph.num_nodes();
    Nodes parent(n, -1), degree(n), upwards;
    std::vector<char> taken(n, 0);
    upwards.reserve(n);
    for (std::int64_t v = 0; v < n; ++v) {
        degree[v] = graph.degree(static_cast<Vertex>(v));
        if (degree[v] <= 1) upwards.push_back(v);
    }
    for (std::size_t at = 0; at < upwards.size(); ++at) {
        const std::int64_t v = upwards[at];
        taken[v] = 1;
        for (const Vertex u : graph.neighbours(static_cast<Vertex>(v))) {
            watch.check();
            if (taken[u]) continue;
            parent[v] = u;
            if (--degree[u] == 1) upwards.push_back(u);
            break;
        }
    }
    if (static_cast<std::int64_t>(upwards.size()) < n) {
        const auto free = std::find(taken.begin(), taken.end(), 0) - taken.begin();
        throw InputError("Expected a forest; got " + std::to_string(n) + " nodes and " +
                         std::to_string(graph.num_edges()) + " edges with a cycle at or near node " +
                         std::to_string(free) + ". Pass the edges of a tree decomposition or of an H-tree.");
    }
    return placed(parent, upwards, watch);
}

RootedForest root_as_given(std::span<const std::int64_t> parent, Watch watch) {
    const auto n = static_cast<std::int64_t>(parent.size());
    Nodes children(n, 0), upwards;
    upwards.reserve(n);
    for (std::int64_t v = 0; v < n; ++v) {
        watch.check();
        if (parent[v] < -1 || parent[v] >= n)
            throw InputError("Expected the parent of every node between 0 and " + std::to_string(n - 1) +
                             ", or -1 for a root; got " + std::to_string(parent[v]) + " at node " + std::to_string(v) +
                             ".");
        if (parent[v] >= 0) ++children[parent[v]];
    }
    for (std::int64_t v = 0; v < n; ++v)
        if (children[v] == 0) upwards.push_back(v);
    for (std::size_t at = 0; at < upwards.size(); ++at) {
        watch.check();
        const std::int64_t p = parent[upwards[at]];
        if (p >= 0 && --children[p] == 0) upwards.push_back(p);
    }
    if (static_cast<std::int64_t>(upwards.size()) < n) {
        const auto open = std::find_if(children.begin(), children.end(), [](auto c) { return c > 0; });
        throw InputError("Expected parents that end in a root (-1); got a cycle above node " +
                         std::to_string(open - children.begin()) + ". Give one node of every tree the parent -1.");
    }
    return placed({parent.begin(), parent.end()}, upwards, watch);
}

}  // namespace neuraltrees
