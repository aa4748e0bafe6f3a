#include "neuraltrees/bounds.hpp"

#include <algorithm>
#include <vector>

namespace neuraltrees {

int minor_min_degree(GraphView graph, Watch watch, std::int64_t effort, int enough) {
    const Vertex n = graph.num_nodes();
    if (n == 0) return -1;
    const double size = static_cast<double>(n) + static_cast<double>(graph.adj.size());
    if (watch.left() < 5e-8 * size) return graph.num_edges() > 0 ? 1 : 0;  // no time to copy the lists
    std::vector<std::vector<Vertex>> adj(n), bucket(1);
    std::vector<char> alive(n, 1);
    std::vector<std::uint32_t> stamp(n, 0);
    std::uint32_t now = 0;
    auto enlist = [&](Vertex v) {
        if (adj[v].size() >= bucket.size()) bucket.resize(adj[v].size() + 1);
        bucket[adj[v].size()].push_back(v);
    };
    for (Vertex v = 0; v < n; ++v) {
        adj[v].assign(graph.neighbours(v).begin(), graph.neighbours(v).end());
        enlist(v);
        if (watch.late(16 + graph.degree(v))) return graph.num_edges() > 0 ? 1 : 0;
    }
    int bound = 0;
    Vertex left = n;
    std::size_t least = 0;
    while (left > bound + 1 && effort > 0 && bound < enough && !watch.late(32)) {
        Vertex v = -1;
        for (; least < bucket.size(); ++least) {
            auto& row = bucket[least];
            while (!row.empty() && (!alive[row.back()] || adj[row.back()].size() != least)) row.pop_back();
            if (row.empty()) continue;
            v = row.back();
            row.pop_back();
            break;
        }
        bound = std::max(bound, static_cast<int>(least));
        alive[v] = 0;
        --left;
        const std::vector<Vertex> around = std::move(adj[v]);
        if (around.empty()) continue;

        ++now;
        for (Vertex u : around) stamp[u] = now;
        Vertex into = around.front();
        std::int64_t fewest = -1;
        for (Vertex u : around) {
            std::int64_t common = 0;
            for (Vertex w : adj[u]) common += stamp[w] == now;
            watch.check(2 * static_cast<std::int64_t>(adj[u].size()));
            effort -= static_cast<std::int64_t>(adj[u].size());
            if (fewest < 0 || common < fewest) fewest = common, into = u;
        }
        ++now;
        for (Vertex u : adj[into]) stamp[u] = now;
        stamp[into] = now;
        for (Vertex u : around) {
            auto& row = adj[u];
            row.erase(std::find(row.begin(), row.end(), v));
            effort -= static_cast<std::int64_t>(row.size());
            if (stamp[u] != now) {
                row.push_back(into);
                adj[into].push_back(u);
            }
            enlist(u);
        }
        enlist(into);
        least = least > 0 ? least - 1 : 0;
        for (Vertex u : around) least = std::min(least, adj[u].size());
    }
    return bound;
}

}  // namespace neuraltrees
