#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/greedy.hpp"

/// Slow answers that follow the definitions word by word, to compare the library with.
namespace oracle {

using namespace neuraltrees;
using Matrix = std::vector<std::vector<char>>;

inline Matrix matrix(GraphView g) {
    Matrix out(g.num_nodes(), std::vector<char>(g.num_nodes(), 0));
    for (Vertex v = 0; v < g.num_nodes(); ++v)
        for (Vertex u : g.neighbours(v)) out[v][u] = 1;
    return out;
}

/// Dynamic programming over the sets of vertices eliminated first (Bodlaender et al. 2012); for up to 14 vertices.
inline int treewidth(GraphView g) {
    const int n = g.num_nodes();
    if (n == 0) return -1;
    std::vector<std::uint32_t> row(n, 0);
    for (int v = 0; v < n; ++v)
        for (Vertex u : g.neighbours(v)) row[v] |= 1u << u;
    // The vertices outside `gone` that v sees, directly or through `gone`: its neighbours once `gone` is eliminated.
    auto degree_after = [&](std::uint32_t gone, int v) {
        std::uint32_t seen = row[v] | 1u << v, done = 0;
        for (std::uint32_t todo; (todo = seen & gone & ~done) != 0; done |= todo)
            for (std::uint32_t m = todo; m != 0; m &= m - 1) seen |= row[std::countr_zero(m)];
        return std::popcount(seen & ~gone & ~(1u << v));
    };
    std::vector<int> best(std::size_t{1} << n, 0);
    for (std::uint32_t s = 1; s < 1u << n; ++s) {
        best[s] = n;
        for (std::uint32_t m = s; m != 0; m &= m - 1) {
            const std::uint32_t before = s & ~(m & -m);
            if (best[before] >= best[s]) continue;
            best[s] = std::min(best[s], std::max(best[before], degree_after(before, std::countr_zero(m))));
        }
    }
    return best.back();
}

/// Adds the fill edges of an elimination order; returns its width.
inline int fill_in(Matrix& adj, const std::vector<Vertex>& order) {
    std::vector<char> gone(adj.size(), 0);
    int width = -1;
    for (Vertex v : order) {
        std::vector<Vertex> around;
        for (std::size_t u = 0; u < adj.size(); ++u)
            if (adj[v][u] && !gone[u]) around.push_back(static_cast<Vertex>(u));
        for (Vertex a : around)
            for (Vertex b : around)
                if (a != b) adj[a][b] = 1;
        width = std::max(width, static_cast<int>(around.size()));
        gone[v] = 1;
    }
    return width;
}

/// A graph is chordal if simplicial vertices can be removed until nothing is left.
inline bool chordal(const Matrix& adj) {
    const std::size_t n = adj.size();
    std::vector<char> gone(n, 0);
    auto simplicial = [&](std::size_t v) {
        for (std::size_t a = 0; a < n; ++a)
            for (std::size_t b = a + 1; b < n; ++b)
                if (!gone[a] && !gone[b] && adj[v][a] && adj[v][b] && !adj[a][b]) return false;
        return true;
    };
    for (std::size_t left = n; left > 0; --left) {
        std::size_t v = 0;
        while (v < n && (gone[v] || !simplicial(v))) ++v;
        if (v == n) return false;
        gone[v] = 1;
    }
    return true;
}

inline std::vector<std::vector<Vertex>> maximal_cliques_of_chordal(const Matrix& adj) {
    const std::size_t n = adj.size();
    std::vector<std::vector<Vertex>> cliques;
    std::vector<char> gone(n, 0);
    for (std::size_t left = n; left > 0; --left)
        for (std::size_t v = 0; v < n; ++v) {
            if (gone[v]) continue;
            std::vector<Vertex> closed;
            for (std::size_t u = 0; u < n; ++u)
                if (!gone[u] && (u == v || adj[v][u])) closed.push_back(static_cast<Vertex>(u));
            const bool clique = std::all_of(closed.begin(), closed.end(), [&](Vertex a) {
                return std::all_of(closed.begin(), closed.end(), [&](Vertex b) { return a == b || adj[a][b]; });
            });
            if (!clique) continue;
            gone[v] = 1;
            const bool inside = std::any_of(cliques.begin(), cliques.end(), [&](const auto& c) {
                return std::includes(c.begin(), c.end(), closed.begin(), closed.end());
            });
            if (!inside) cliques.push_back(closed);
            break;
        }
    std::sort(cliques.begin(), cliques.end());
    return cliques;
}

/// When greedy_order scores a vertex anew: at every step, or only after its degree or fill may have changed.
enum class Rescoring { always, when_touched };

/// A greedy elimination that counts everything from scratch.
inline std::vector<Vertex> greedy_order(GraphView g, Greedy rule, std::uint64_t seed, int low, Rescoring rescoring) {
    const int n = g.num_nodes();
    Matrix adj = matrix(g);
    std::vector<char> alive(n, 1), stale(n, 1);
    std::vector<std::uint64_t> key(n);
    std::vector<Vertex> order;
    auto around = [&](Vertex v) {
        std::vector<Vertex> out;
        for (Vertex u = 0; u < n; ++u)
            if (alive[u] && adj[v][u]) out.push_back(u);
        return out;
    };
    auto score = [&](Vertex v) -> std::uint64_t {
        const auto nodes = around(v);
        std::int64_t gaps = 0, most = 0;  // pairs of neighbours that are not joined, and the most that share a vertex
        for (Vertex a : nodes) {
            std::int64_t gaps_at_a = 0;
            for (Vertex b : nodes) gaps_at_a += a != b && !adj[a][b];
            gaps += gaps_at_a;
            most = std::max(most, gaps_at_a);
        }
        const std::int64_t fill = gaps / 2, degree = static_cast<std::int64_t>(nodes.size());
        if (fill == 0) return 0;
        if (degree <= low && most == fill) return 1;
        return 2 + rule.score(fill, degree);
    };
    bool on_words = false;
    for (int left = n; left > 0; --left) {
        // Moving to bitset rows scores all vertices anew, and happens once the lists take as much memory as the rows.
        std::int64_t entries = 0;
        for (Vertex v = 0; v < n && !on_words; ++v)
            if (alive[v]) entries += static_cast<std::int64_t>(around(v).size());
        if (!on_words && 32 * entries > static_cast<std::int64_t>(left) * left) {
            on_words = true;
            std::fill(stale.begin(), stale.end(), 1);
        }
        Vertex best = -1;
        for (Vertex v = 0; v < n; ++v) {
            if (!alive[v]) continue;
            if (stale[v] || rescoring == Rescoring::always) key[v] = score(v) << 32 | tie_break(seed, v);
            stale[v] = 0;
            if (best < 0 || key[v] < key[best]) best = v;
        }
        const auto nodes = around(best);
        low = std::max(low, static_cast<int>(nodes.size()));
        order.push_back(best);
        alive[best] = 0;
        for (Vertex a : nodes) stale[a] = 1;
        for (Vertex a : nodes)
            for (Vertex b : nodes)
                if (a < b && !adj[a][b])
                    for (Vertex c = 0; c < n; ++c)
                        if (adj[a][c] && adj[b][c]) stale[c] = 1;
        for (Vertex a : nodes)
            for (Vertex b : nodes)
                if (a != b) adj[a][b] = 1;
    }
    return order;
}

/// The definition: every node and every edge in a bag, the bags joined to a forest, those of a node connected in it.
inline bool is_tree_decomposition(GraphView g, DecompositionView td) {
    const auto bags = static_cast<int>(td.num_bags());
    std::vector<std::set<Vertex>> bag(bags);
    for (int b = 0; b < bags; ++b) {
        bag[b] = {td.bag(b).begin(), td.bag(b).end()};
        if (bag[b].size() != td.bag(b).size() || !std::is_sorted(td.bag(b).begin(), td.bag(b).end())) return false;
        for (Vertex v : bag[b])
            if (v < 0 || v >= g.num_nodes()) return false;
    }
    for (auto [a, b] : td.edges)
        if (a < 0 || b < 0 || a >= bags || b >= bags) return false;
    // Trees joined by flooding; a forest has as many edges as bags less trees.
    auto trees_among = [&](auto&& wanted) {
        std::vector<int> mark(bags, 0);
        int trees = 0;
        for (int start = 0; start < bags; ++start) {
            if (mark[start] || !wanted(start)) continue;
            ++trees;
            mark[start] = 1;
            for (bool grown = true; grown;) {
                grown = false;
                for (auto [a, b] : td.edges)
                    if (wanted(a) && wanted(b) && mark[a] != mark[b]) mark[a] = mark[b] = 1, grown = true;
            }
        }
        return trees;
    };
    if (trees_among([](int) { return true; }) + static_cast<int>(td.edges.size()) != bags) return false;
    for (Vertex v = 0; v < g.num_nodes(); ++v) {
        if (trees_among([&](int b) { return bag[b].contains(v); }) != 1) return false;
        for (Vertex u : g.neighbours(v))
            if (std::none_of(bag.begin(), bag.end(), [&](const auto& b) { return b.contains(u) && b.contains(v); }))
                return false;
    }
    return true;
}

inline bool some_bag_inside_another(DecompositionView td) {
    for (std::int64_t a = 0; a < td.num_bags(); ++a)
        for (std::int64_t b = 0; b < td.num_bags(); ++b) {
            const auto x = td.bag(a), y = td.bag(b);
            if (a != b && std::includes(x.begin(), x.end(), y.begin(), y.end())) return true;
        }
    return false;
}

/// The largest least degree of a subgraph.
inline int degeneracy(GraphView g) {
    const Matrix adj = matrix(g);
    const int n = g.num_nodes();
    std::vector<char> gone(n, 0);
    int out = -1;
    for (int left = n; left > 0; --left) {
        int best = -1, least = n;
        for (int v = 0; v < n; ++v) {
            if (gone[v]) continue;
            int degree = 0;
            for (int u = 0; u < n; ++u) degree += !gone[u] && adj[v][u];
            if (degree < least) best = v, least = degree;
        }
        out = std::max(out, least);
        gone[best] = 1;
    }
    return out;
}

}  // namespace oracle
