#include "pieces.hpp"

#include <algorithm>

namespace neuraltrees {
namespace {

/// The bag that holds the ends of every edge, if parents come before children: of the two subtrees of bags, the one
/// that begins lower begins inside the other.
std::vector<Vertex> hosts(DecompositionView td, std::span<const std::array<Vertex, 2>> edges, Vertex n) {
    std::vector<Vertex> top(n, -1), out;
    for (Vertex b = 0; b < td.num_bags(); ++b)
        for (Vertex v : td.bag(b))
            if (top[v] < 0) top[v] = b;
    out.reserve(edges.size());
    for (auto [u, v] : edges) out.push_back(std::max(top[u], top[v]));
    return out;
}

}  // namespace

Pieces::Pieces(std::span<const std::array<Vertex, 2>> edges, std::span<const Vertex> members, std::int64_t first,
               const DecomposeOptions& options, Watch watch) {
    const auto n = static_cast<Vertex>(members.size());
    std::vector<std::array<Vertex, 2>> local(edges.begin(), edges.end());
    std::vector<std::int64_t> source, target;
    for (auto& ends : local) {
        for (Vertex& v : ends)
            v = static_cast<Vertex>(std::lower_bound(members.begin(), members.end(), v) - members.begin());
        source.push_back(ends[0]);
        target.push_back(ends[1]);
    }
    const Graph skeleton = graph_from_edges(source, target, n, watch);
    const TreeDecomposition found = decompose(skeleton, options, watch);
    const Vertex root = hosts(found, local, n)[first];

    // The same bags, breadth first from the root.
    const std::int64_t bags = found.view().num_bags();
    std::vector<std::int64_t> ptr(bags + 1, 0);
    for (auto [a, b] : found.edges) ++ptr[a + 1], ++ptr[b + 1];
    for (std::int64_t b = 0; b < bags; ++b) ptr[b + 1] += ptr[b];
    std::vector<Vertex> neighbours(2 * found.edges.size());
    std::vector<std::int64_t> next(ptr.begin(), ptr.end() - 1);
    for (auto [a, b] : found.edges) {
        neighbours[next[a]++] = b;
        neighbours[next[b]++] = a;
    }
    std::vector<Vertex> queue{root};
    parent.push_back(-1);
    std::vector<char> seen(bags, 0);
    seen[root] = 1;
    for (std::size_t i = 0; i < queue.size(); ++i) {
        td.add_bag(found.view().bag(queue[i]));
        for (std::int64_t e = ptr[queue[i]]; e < ptr[queue[i] + 1]; ++e) {
            if (seen[neighbours[e]]) continue;
            seen[neighbours[e]] = 1;
            queue.push_back(neighbours[e]);
            parent.push_back(static_cast<Vertex>(i));
        }
    }
    td.lower_bound = found.lower_bound;
    td.shortcut = found.shortcut;
    host = hosts(td, local, n);
    for (Vertex& v : td.bag_nodes) v = members[v];
}

}  // namespace neuraltrees
