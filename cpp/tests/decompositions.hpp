#pragma once

#include <numeric>
#include <set>
#include <vector>

#include "graphs.hpp"
#include "neuraltrees/decomposition.hpp"

namespace neuraltrees {

using Bags = std::vector<std::vector<Vertex>>;

inline TreeDecomposition decomposition(const Bags& bags, const std::vector<std::array<Vertex, 2>>& edges) {
    TreeDecomposition td;
    for (const auto& bag : bags) td.add_bag(bag);
    td.edges = edges;
    return td;
}

inline Bags bags_of(DecompositionView td) {
    Bags out;
    for (std::int64_t b = 0; b < td.num_bags(); ++b) out.emplace_back(td.bag(b).begin(), td.bag(b).end());
    return out;
}

inline std::vector<Vertex> random_order(int n, std::uint64_t seed) {
    std::vector<Vertex> order(n);
    std::iota(order.begin(), order.end(), 0);
    Rng(seed).shuffle(order);
    return order;
}

/// A valid decomposition in no particular form: empty and nested bags, trees of several components, bags in any order.
inline TreeDecomposition messy_decomposition(GraphView g, std::uint64_t seed) {
    Rng rng(seed);
    const TreeDecomposition base = decomposition_from_order(g, random_order(g.num_nodes(), seed));
    std::vector<std::set<Vertex>> bags;
    for (const auto& bag : bags_of(base)) bags.emplace_back(bag.begin(), bag.end());
    auto edges = base.edges;
    auto some_bag = [&] { return static_cast<Vertex>(rng.below(static_cast<int>(bags.size()))); };
    for (int step = rng.below(8); step > 0 && !bags.empty(); --step) {
        const auto fresh = static_cast<Vertex>(bags.size());
        switch (rng.below(4)) {
            case 0: {  // part of a bag, possibly nothing, beside it
                const Vertex b = some_bag();
                std::set<Vertex> part;
                for (Vertex v : bags[b])
                    if (rng.chance(0.5)) part.insert(v);
                bags.push_back(part);
                edges.push_back({b, fresh});
                break;
            }
            case 1: {  // a node of one bag also in a neighbouring one
                if (edges.empty()) break;
                const auto [a, b] = edges[rng.below(static_cast<int>(edges.size()))];
                if (!bags[a].empty()) bags[b].insert(*bags[a].begin());
                break;
            }
            case 2: {  // two trees become one
                std::vector<Vertex> tree(bags.size());
                std::iota(tree.begin(), tree.end(), 0);
                for (bool changed = true; changed;) {
                    changed = false;
                    for (auto [a, b] : edges)
                        if (tree[a] != tree[b]) tree[a] = tree[b] = std::min(tree[a], tree[b]), changed = true;
                }
                const Vertex a = some_bag(), b = some_bag();
                if (tree[a] != tree[b]) edges.push_back({a, b});
                break;
            }
            default: {  // an edge is cut in two by what its ends share
                if (edges.empty()) break;
                auto& edge = edges[rng.below(static_cast<int>(edges.size()))];
                std::set<Vertex> both;
                for (Vertex v : bags[edge[0]])
                    if (bags[edge[1]].contains(v)) both.insert(v);
                bags.push_back(both);
                const Vertex end = edge[1];
                edge[1] = fresh;
                edges.push_back({fresh, end});
            }
        }
    }
    const std::vector<Vertex> at = random_order(static_cast<int>(bags.size()), mix(seed));
    Bags out(bags.size());
    for (std::size_t b = 0; b < bags.size(); ++b) out[at[b]] = {bags[b].begin(), bags[b].end()};
    for (auto& [a, b] : edges) {
        a = at[a];
        b = at[b];
        if (rng.chance(0.5)) std::swap(a, b);
    }
    rng.shuffle(edges);
    return decomposition(out, edges);
}

}  // namespace neuraltrees
