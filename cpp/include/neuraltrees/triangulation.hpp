#pragma once

#include <algorithm>
#include <vector>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// MCS-M (Berry, Blair, Heggernes, Peyton 2004): an elimination order whose fill is a minimal triangulation.
/// Vertices are numbered from last to first; a vertex gains weight from the one being numbered if a path of lighter
/// unnumbered vertices joins them. O(n m) time; empty if the watch is late.
///
/// Args: `neighbours(v)` returns an iterable over the neighbours of v.
template <typename Neighbours>
std::vector<Vertex> minimal_triangulation_order(Vertex n, Neighbours&& neighbours, Watch watch = {}) {
    std::vector<Vertex> order(n), weight(n, 0), gain;
    std::vector<char> numbered(n, 0);
    std::vector<Vertex> reached(n, -1);
    std::vector<std::vector<Vertex>> by_weight(n + 1), reach(n + 1);
    for (Vertex v = n; v-- > 0;) by_weight[0].push_back(v);
    Vertex heaviest = 0;
    for (Vertex i = n; i-- > 0;) {
        Vertex v = -1;
        for (;; --heaviest) {
            auto& bucket = by_weight[heaviest];
            while (!bucket.empty() && (numbered[bucket.back()] || weight[bucket.back()] != heaviest)) bucket.pop_back();
            if (bucket.empty()) continue;
            v = bucket.back();
            bucket.pop_back();
            break;
        }
        order[i] = v;
        numbered[v] = 1;
        if (watch.late(16)) return {};
        reached[v] = i;
        gain.clear();
        for (Vertex u : neighbours(v))
            if (!numbered[u]) {
                reached[u] = i;
                reach[weight[u]].push_back(u);
                gain.push_back(u);
            }
        for (Vertex level = 0; level <= heaviest; ++level)
            while (!reach[level].empty()) {
                const Vertex x = reach[level].back();
                reach[level].pop_back();
                watch.check(4);
                for (Vertex z : neighbours(x)) {
                    if (numbered[z] || reached[z] == i) continue;
                    reached[z] = i;
                    if (weight[z] > level) {
                        gain.push_back(z);
                        reach[weight[z]].push_back(z);
                    } else {
                        reach[level].push_back(z);
                    }
                }
            }
        for (Vertex u : gain) {
            by_weight[++weight[u]].push_back(u);
            heaviest = std::max(heaviest, weight[u]);
        }
    }
    return order;
}

}  // namespace neuraltrees
