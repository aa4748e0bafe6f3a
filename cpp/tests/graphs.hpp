#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "neuraltrees/bits.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/small.hpp"

namespace neuraltrees {

using Edges = std::vector<std::array<std::int64_t, 2>>;

inline Graph graph(std::int64_t n, const Edges& edges) {
    std::vector<std::int64_t> source, target;
    for (auto [u, v] : edges) {
        source.push_back(u);
        target.push_back(v);
    }
    return graph_from_edges(source, target, n);
}

inline Edges edges_of(GraphView g) {
    Edges out;
    for (Vertex v = 0; v < g.num_nodes(); ++v)
        for (Vertex u : g.neighbours(v))
            if (u > v) out.push_back({v, u});
    return out;
}

inline std::string describe(const Graph& g) {
    std::string out = "graph(" + std::to_string(g.view().num_nodes()) + ", {";
    for (auto [u, v] : edges_of(g)) out += "{" + std::to_string(u) + "," + std::to_string(v) + "},";
    return out + "})";
}

/// At most 64 nodes.
inline SmallGraph small(GraphView g) {
    SmallGraph out;
    out.n = g.num_nodes();
    for (int v = 0; v < out.n; ++v) {
        out.row[v] = 0;
        for (Vertex u : g.neighbours(v)) out.row[v] |= std::uint64_t{1} << u;
    }
    return out;
}

/// A stream of draws that is the same everywhere, unlike the distributions of <random>.
struct Rng {
    std::uint64_t state;

    explicit Rng(std::uint64_t seed) : state(mix(seed)) {}
    std::uint64_t next() { return state = mix(state); }
    int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
    bool chance(double p) { return static_cast<double>(next() >> 11) * 0x1p-53 < p; }
    template <typename T>
    void shuffle(std::vector<T>& items) {
        for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[next() % i]);
    }
};

inline Graph random_graph(int n, double density, std::uint64_t seed) {
    Rng rng(seed);
    Edges edges;
    for (int u = 0; u < n; ++u)
        for (int v = u + 1; v < n; ++v)
            if (rng.chance(density)) edges.push_back({u, v});
    return graph(n, edges);
}

/// A random tree underneath, so that it is connected.
inline Graph random_connected(int n, double density, std::uint64_t seed) {
    Rng rng(mix(seed, 7));
    Edges edges = edges_of(random_graph(n, density, seed));
    for (int v = 1; v < n; ++v) edges.push_back({rng.below(v), v});
    return graph(n, edges);
}

/// A k-tree less some of its edges, its nodes shuffled: treewidth at most k.
inline Graph partial_k_tree(int n, int k, double keep, std::uint64_t seed) {
    Rng rng(seed);
    std::vector<std::int64_t> name(n);
    for (int v = 0; v < n; ++v) name[v] = v;
    rng.shuffle(name);
    std::vector<std::vector<int>> cliques{{}};
    Edges edges;
    for (int v = 0; v < n; ++v) {
        std::vector<int> base = v <= k ? cliques.back() : cliques[rng.below(static_cast<int>(cliques.size()))];
        if (static_cast<int>(base.size()) > k) base.erase(base.begin() + rng.below(k + 1));
        for (int u : base)
            if (rng.chance(keep)) edges.push_back({name[u], name[v]});
        base.push_back(v);
        cliques.push_back(base);
        if (v == k) cliques = {base};
    }
    return graph(n, edges);
}

inline Graph path(int n) {
    Edges edges;
    for (int v = 0; v + 1 < n; ++v) edges.push_back({v, v + 1});
    return graph(n, edges);
}

inline Graph cycle(int n) {
    Edges edges;
    for (int v = 0; v < n; ++v) edges.push_back({v, (v + 1) % n});
    return graph(n, edges);
}

inline Graph complete(int n) { return random_graph(n, 2.0, 0); }

/// Node 0 joined to all others.
inline Graph star(int n) {
    Edges edges;
    for (int v = 1; v < n; ++v) edges.push_back({0, v});
    return graph(n, edges);
}

/// A star whose leaves form a cycle.
inline Graph wheel(int n) {
    Edges edges;
    for (int v = 1; v < n; ++v) {
        edges.push_back({0, v});
        edges.push_back({v, v + 1 < n ? v + 1 : 1});
    }
    return graph(n, edges);
}

inline Graph grid(int rows, int columns) {
    Edges edges;
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c) {
            if (c + 1 < columns) edges.push_back({r * columns + c, r * columns + c + 1});
            if (r + 1 < rows) edges.push_back({r * columns + c, (r + 1) * columns + c});
        }
    return graph(rows * columns, edges);
}

/// K_n without a perfect matching: 2i and 2i + 1 are strangers.
inline Graph cocktail_party(int n) {
    Edges edges;
    for (int u = 0; u < n; ++u)
        for (int v = u + 1; v < n; ++v)
            if (u / 2 != v / 2) edges.push_back({u, v});
    return graph(n, edges);
}

inline Graph complete_bipartite(int a, int b) {
    Edges edges;
    for (int u = 0; u < a; ++u)
        for (int v = 0; v < b; ++v) edges.push_back({u, a + v});
    return graph(a + b, edges);
}

inline Graph hypercube(int dimension) {
    Edges edges;
    for (int v = 0; v < 1 << dimension; ++v)
        for (int i = 0; i < dimension; ++i) edges.push_back({v, v ^ 1 << i});
    return graph(1 << dimension, edges);
}

inline Graph petersen() {
    Edges edges;
    for (int v = 0; v < 5; ++v) {
        edges.push_back({v, (v + 1) % 5});
        edges.push_back({v, v + 5});
        edges.push_back({v + 5, 5 + (v + 2) % 5});
    }
    return graph(10, edges);
}

/// A cubic Hamiltonian graph by its LCF code: node v is also joined to v + jumps[v mod size].
inline Graph lcf(int n, const std::vector<int>& jumps) {
    Edges edges;
    for (int v = 0; v < n; ++v) {
        edges.push_back({v, (v + 1) % n});
        edges.push_back({v, (v + jumps[v % jumps.size()] + n) % n});
    }
    return graph(n, edges);
}

inline Graph heawood() { return lcf(14, {5, -5}); }
inline Graph mcgee() { return lcf(24, {12, 7, -7}); }

inline Graph disjoint_union(const std::vector<Graph>& parts) {
    Edges edges;
    std::int64_t n = 0;
    for (const Graph& part : parts) {
        for (auto [u, v] : edges_of(part)) edges.push_back({n + u, n + v});
        n += part.view().num_nodes();
    }
    return graph(n, edges);
}

/// The same graph under a random renaming.
inline Graph shuffled(const Graph& g, std::uint64_t seed) {
    std::vector<std::int64_t> name(g.view().num_nodes());
    for (std::size_t v = 0; v < name.size(); ++v) name[v] = static_cast<std::int64_t>(v);
    Rng(seed).shuffle(name);
    Edges edges = edges_of(g);
    for (auto& [u, v] : edges) u = name[u], v = name[v];
    return graph(g.view().num_nodes(), edges);
}

/// The paper's figure, numbered from 0; the chord 1-2 of its bags {0,1,2}, {1,2,3} and {2,3,4} is no edge.
inline Graph paper_graph() { return graph(5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {2, 4}, {3, 4}}); }

}  // namespace neuraltrees
