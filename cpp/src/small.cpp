#include "neuraltrees/small.hpp"

#include <bit>

namespace neuraltrees {
namespace {

using Mask = std::uint64_t;
constexpr Mask bit(int i) { return Mask{1} << i; }
int lowest(Mask m) { return std::countr_zero(m); }

struct Eliminator {
    SmallGraph g;
    Mask alive;
    std::array<std::int16_t, SmallGraph::max_nodes> fill{};

    explicit Eliminator(const SmallGraph& graph) : g(graph), alive(graph.all()) {
        for (Mask m = alive; m; m &= m - 1) recount(lowest(m));
    }

    void recount(int v) {
        const Mask around = g.row[v];
        int missing = 0;
        for (Mask m = around; m; m &= m - 1) missing += std::popcount(around & ~g.row[lowest(m)]) - 1;
        fill[v] = static_cast<std::int16_t>(missing / 2);
    }

    bool almost_simplicial(int v) const {
        const Mask around = g.row[v];
        auto missing = [&](int a) { return std::popcount(around & ~g.row[a] & ~bit(a)); };
        for (Mask m = around; m; m &= m - 1) {
            const int a = lowest(m), gap = missing(a);
            if (gap == 0) continue;
            // Every missing pair must hold one common vertex: a itself, or the only one that a misses.
            return gap == fill[v] || (gap == 1 && missing(lowest(around & ~g.row[a] & ~bit(a))) == fill[v]);
        }
        return true;
    }

    void eliminate(int v) {
        const Mask around = g.row[v];
        alive &= ~bit(v);
        if (fill[v] == 0) {
            const int degree = std::popcount(around);
            for (Mask m = around; m; m &= m - 1) {
                const int a = lowest(m);
                fill[a] = static_cast<std::int16_t>(fill[a] - (std::popcount(g.row[a]) - degree));
                g.row[a] &= ~bit(v);
            }
            return;
        }
        Mask changed = around;
        for (Mask m = around; m; m &= m - 1) {
            const int a = lowest(m);
            for (Mask gap = around & ~g.row[a] & ~bit(a) & ~(bit(a) - 1); gap; gap &= gap - 1)
                changed |= g.row[a] & g.row[lowest(gap)];
        }
        for (Mask m = around; m; m &= m - 1) {
            const int a = lowest(m);
            g.row[a] = (g.row[a] | around) & ~bit(a) & ~bit(v);
        }
        for (Mask m = changed & alive; m; m &= m - 1) recount(lowest(m));
    }
};

}  // namespace

int minor_min_degree(const SmallGraph& graph) {
    SmallGraph g = graph;
    Mask alive = g.all();
    int bound = graph.n > 0 ? 0 : -1;
    while (std::popcount(alive) > bound + 1) {
        int v = -1, degree = 65;
        for (Mask m = alive; m; m &= m - 1)
            if (const int d = std::popcount(g.row[lowest(m)]); d < degree) v = lowest(m), degree = d;
        bound = std::max(bound, degree);
        alive &= ~bit(v);
        if (degree == 0) continue;
        const Mask around = g.row[v];
        int into = -1, least = 65;
        for (Mask m = around; m; m &= m - 1)
            if (const int c = std::popcount(around & g.row[lowest(m)]); c < least) into = lowest(m), least = c;
        for (Mask m = around; m; m &= m - 1) g.row[lowest(m)] = (g.row[lowest(m)] & ~bit(v)) | bit(into);
        g.row[into] = (g.row[into] | around) & ~bit(into) & ~bit(v);
    }
    return bound;
}

SmallElimination small_greedy(const SmallGraph& graph, Greedy rule, std::uint64_t seed, int& lower_bound) {
    SmallElimination out;
    Eliminator e(graph);
    int low = lower_bound;
    for (int step = 0; step < graph.n; ++step) {
        // The lowest tie among the simplicial vertices; with seed 0 that is the first of them.
        int chosen = -1;
        for (Mask m = e.alive; m && !(chosen >= 0 && seed == 0); m &= m - 1)
            if (const int v = lowest(m); e.fill[v] == 0 && (chosen < 0 || tie_break(seed, v) < tie_break(seed, chosen)))
                chosen = v;
        if (chosen < 0 && lower_bound < 0) low = std::max(low, lower_bound = minor_min_degree(graph));
        // Else key 0 for an almost simplicial vertex, the greedy score above.
        std::uint64_t best = ~std::uint64_t{0};
        for (Mask m = chosen < 0 ? e.alive : 0; m; m &= m - 1) {
            const int v = lowest(m), degree = std::popcount(e.g.row[v]), fill = e.fill[v];
            std::uint64_t score = 1 + rule.score(fill, degree);
            if (degree <= low && fill < degree && e.almost_simplicial(v)) score = 0;
            const std::uint64_t key = score << 32 | tie_break(seed, v);
            if (key < best) best = key, chosen = v;
        }
        out.order[step] = static_cast<std::uint8_t>(chosen);
        out.higher[chosen] = e.g.row[chosen];
        low = std::max(low, std::popcount(e.g.row[chosen]));
        e.eliminate(chosen);
    }
    if (lower_bound < 0) lower_bound = low;  // all were simplicial: the graph is chordal, and this is its treewidth
    return out;
}

SmallElimination small_eliminate(const SmallGraph& graph, std::span<const Vertex> order) {
    SmallElimination out;
    SmallGraph g = graph;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const int v = order[i];
        const Mask around = g.row[v];
        out.order[i] = static_cast<std::uint8_t>(v);
        out.higher[v] = around;
        for (Mask m = around; m; m &= m - 1) g.row[lowest(m)] = (g.row[lowest(m)] | around) & ~bit(lowest(m)) & ~bit(v);
    }
    return out;
}

SmallDecomposition clique_tree(int n, const SmallElimination& elimination) {
    std::array<std::uint8_t, SmallGraph::max_nodes> position, clique_of;
    for (int i = 0; i < n; ++i) position[elimination.order[i]] = static_cast<std::uint8_t>(i);
    SmallDecomposition td;
    for (int i = n; i-- > 0;) {
        const int v = elimination.order[i];
        const Mask higher = elimination.higher[v];
        int host = -1;
        if (higher != 0) {
            int first = lowest(higher);
            for (Mask m = higher; m; m &= m - 1)
                if (position[lowest(m)] < position[first]) first = lowest(m);
            host = clique_of[first];
            if (td.bag[host] == higher) {
                td.bag[host] |= bit(v);
                clique_of[v] = static_cast<std::uint8_t>(host);
                continue;
            }
        }
        clique_of[v] = static_cast<std::uint8_t>(td.count);
        td.bag[td.count] = higher | bit(v);
        td.parent[td.count++] = static_cast<std::int8_t>(host);
    }
    return td;
}

}  // namespace neuraltrees
