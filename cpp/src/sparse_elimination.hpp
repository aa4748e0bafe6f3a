#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// Elimination on neighbour lists; the fill of every vertex is updated incrementally and stays exact. Lists keep
/// eliminated neighbours until half of them are gone, and one hub among the neighbours of a vertex is never scanned, so
/// a star or a wheel costs linear time.
class SparseElimination {
public:
    /// The lists alone, for as long as the watch is not late; `copied` says whether there are all.
    SparseElimination(GraphView graph, Watch& watch)
        : degree(graph.num_nodes()), fill(graph.num_nodes(), 0), alive(graph.num_nodes(), 1),
          remaining(graph.num_nodes()), entries(2 * graph.num_edges()), adj_(graph.num_nodes()),
          stamp_(graph.num_nodes(), 0), slot_(graph.num_nodes(), -1), queued_(graph.num_nodes(), 0), watch_(&watch) {
        for (Vertex v = 0; v < graph.num_nodes(); ++v) {
            adj_[v].assign(graph.neighbours(v).begin(), graph.neighbours(v).end());
            degree[v] = graph.degree(v);
            if (watch_->late(8 + degree[v])) return;
        }
        copied = true;
    }

    /// Counts the fill of all vertices, before any is eliminated, unless the watch is late.
    void count_fill(GraphView graph) {
        for (Vertex v = 0; v < graph.num_nodes(); ++v) {
            fill[v] = count_fill(graph, v);
            if (watch_->late(8)) return;
        }
        effort = 0;
        counted = true;
    }

    void follow(Watch& watch) { watch_ = &watch; }

    const std::vector<Vertex>& neighbours(Vertex v) {
        compact(v);
        return adj_[v];
    }

    bool almost_simplicial(Vertex v) {
        meet(v);
        bool found = false;
        for (std::size_t i = 0; i < around_.size(); ++i) found |= degree[v] - 1 - inside_[i] == fill[v];
        forget();
        return found;
    }

    /// Removes v, joins its neighbours, and returns the vertices whose degree or fill changed.
    const std::vector<Vertex>& eliminate(Vertex v) {
        for (Vertex u : touched_) queued_[u] = 0;
        touched_.clear();
        alive[v] = 0;
        --remaining;
        entries -= 2 * degree[v];
        if (fill[v] == 0) {
            for (Vertex a : neighbours(v)) {
                fill[a] -= degree[a]-- - degree[v];
                touch(a);
            }
            return touched_;
        }
        meet(v);
        for (std::size_t i = 0; i < around_.size(); ++i) {
            fill[around_[i]] -= degree[around_[i]]-- - 1 - inside_[i];
            touch(around_[i]);
        }
        forget();
        const std::vector<std::array<Vertex, 2>> gaps = missing_pairs();
        for (std::size_t i = 0; i < gaps.size(); ++i) {
            if (i == 0 || gaps[i][0] != gaps[i - 1][0]) mark(gaps[i][0]);
            join(gaps[i][0], gaps[i][1]);
        }
        return touched_;
    }

    /// Removes v and joins its neighbours without counting fill, which is wrong from then on; returns the neighbours.
    const std::vector<Vertex>& eliminate_uncounted(Vertex v) {
        around_ = neighbours(v);
        alive[v] = 0;
        --remaining;
        entries -= 2 * degree[v];
        for (Vertex a : around_) {
            --degree[a];
            mark(a);
            work(static_cast<std::int64_t>(around_.size()));
            for (Vertex b : around_)
                if (stamp_[b] != now_) adj_[a].push_back(b);
            entries += static_cast<std::int64_t>(adj_[a].size()) - degree[a];
            degree[a] = static_cast<std::int64_t>(adj_[a].size());
        }
        return around_;
    }

    /// About how much `effort` grows if v is eliminated with its fill counted.
    std::int64_t cost(Vertex v) {
        if (fill[v] == 0) return degree[v];
        std::int64_t sum = 0;
        for (Vertex a : neighbours(v)) sum += degree[a];
        return 2 * sum + degree[v] * degree[v] / 2 + fill[v] * (sum / degree[v]);
    }

    std::vector<std::int64_t> degree, fill;
    std::vector<char> alive;
    Vertex remaining;
    std::int64_t entries;
    std::int64_t effort = 0;  // list entries that were read
    bool copied = false, counted = false;

private:
    std::vector<std::vector<Vertex>> adj_;
    std::vector<std::uint32_t> stamp_;
    std::uint32_t now_ = 0;
    std::vector<Vertex> slot_, around_, touched_;
    std::vector<std::int64_t> inside_;
    std::vector<char> queued_;
    Watch* watch_;

    void work(std::int64_t steps) {
        effort += steps;
        watch_->check(steps);
    }
    void compact(Vertex v) {
        if (static_cast<std::int64_t>(adj_[v].size()) == degree[v]) return;
        std::erase_if(adj_[v], [&](Vertex u) { return !alive[u]; });
    }
    void touch(Vertex v) {
        if (queued_[v]) return;
        queued_[v] = 1;
        touched_.push_back(v);
    }
    void mark(Vertex a) {
        ++now_;
        stamp_[a] = now_;
        for (Vertex u : neighbours(a)) stamp_[u] = now_;
        work(degree[a]);
    }

    /// The neighbours of v, the largest hub last, and for each how many of the others it is joined to.
    void meet(Vertex v) {
        around_ = neighbours(v);
        if (around_.empty()) return;
        std::swap(*std::max_element(around_.begin(), around_.end(),
                                    [&](Vertex a, Vertex b) { return degree[a] < degree[b]; }),
                  around_.back());
        inside_.assign(around_.size(), 0);
        for (std::size_t i = 0; i < around_.size(); ++i) slot_[around_[i]] = static_cast<Vertex>(i);
        const auto hub = static_cast<Vertex>(around_.size()) - 1;
        for (Vertex i = 0; i < hub; ++i) {
            if (static_cast<std::int64_t>(adj_[around_[i]].size()) > 2 * degree[around_[i]]) compact(around_[i]);
            work(static_cast<std::int64_t>(adj_[around_[i]].size()));
            for (Vertex u : adj_[around_[i]]) {
                if (slot_[u] < 0) continue;
                ++inside_[i];
                if (slot_[u] == hub) ++inside_[hub];
            }
        }
    }
    void forget() {
        for (Vertex u : around_) slot_[u] = -1;
    }

    /// The pairs of around_ that are not joined, grouped by their first vertex.
    std::vector<std::array<Vertex, 2>> missing_pairs() {
        std::vector<std::array<Vertex, 2>> pairs;
        for (std::size_t i = 0; i + 1 < around_.size(); ++i) {
            mark(around_[i]);
            work(static_cast<std::int64_t>(around_.size() - i));
            for (std::size_t j = i + 1; j < around_.size(); ++j)
                if (stamp_[around_[j]] != now_) pairs.push_back({around_[i], around_[j]});
        }
        return pairs;
    }

    /// Adds the edge a-b while a and its neighbours are marked.
    void join(Vertex a, Vertex b) {
        std::int64_t common = 0;
        work(degree[b]);
        for (Vertex c : neighbours(b))
            if (stamp_[c] == now_) {
                ++common;
                --fill[c];
                touch(c);
            }
        fill[a] += degree[a]++ - common;
        fill[b] += degree[b]++ - common;
        adj_[a].push_back(b);
        adj_[b].push_back(a);
        stamp_[b] = now_;
        entries += 2;
    }

    std::int64_t count_fill(GraphView graph, Vertex v) {
        std::int64_t d = graph.degree(v), joined = 0;
        if (d < 2) return 0;
        mark(v);
        for (Vertex a : graph.neighbours(v)) {
            work(std::min(graph.degree(a), 8 * d));
            if (graph.degree(a) > 8 * d) {
                for (Vertex b : graph.neighbours(v)) joined += b != a && graph.has_edge(a, b);
            } else {
                for (Vertex b : graph.neighbours(a)) joined += stamp_[b] == now_ && b != v;
            }
        }
        return (d * (d - 1) - joined) / 2;
    }
};

}  // namespace neuraltrees
