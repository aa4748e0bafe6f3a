#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"
#include "rows.hpp"
#include "vertex_heap.hpp"

namespace neuraltrees {

/// A neighbour and how much is lost with it, in parts of an edge.
struct Tie {
    Vertex node;
    std::uint32_t weight;
};

inline constexpr std::uint32_t one_edge = 60;

/// Elimination of all vertices with at most k later neighbours each; what is beyond k is dropped.
struct CappedElimination {
    std::vector<Vertex> order;
    std::vector<std::int64_t> ptr;  // by position in the order
    std::vector<Tie> later;         // the neighbours of every vertex when it is eliminated, but for those dropped
};

/// Takes the vertex that loses least, then the one of least degree. Of a vertex with more than k neighbours the
/// lightest edges are dropped; the others become a clique. Vertices of degree at most k are thus peeled without a loss,
/// but their fill edges matter later: if the neighbours of an eliminated vertex of degree d end up in d different bags,
/// d - 1 of its edges are lost, so each of the d (d - 1) / 2 fill edges has 2 / d of the weight of the lighter of its
/// two edges.
class CappedEliminator {
public:
    /// Of the edges of the graph, only those count whose entries are `kept`, between the given vertices.
    CappedEliminator(GraphView graph, std::span<const char> kept, std::span<const Vertex> nodes, int k,
                     std::uint64_t seed, Watch& watch)
        : k_(k), watch_(watch), degree_(graph.num_nodes(), 0), alive_(graph.num_nodes(), 0),
          exact_(graph.num_nodes(), 0), loss_(graph.num_nodes(), 0), heap_(graph.num_nodes(), mix(seed)) {
        fill_rows(graph, kept, nodes);
        for (Vertex v : nodes) alive_[v] = 1;
        out_.order.reserve(nodes.size());
        out_.ptr.reserve(nodes.size() + 1);
        out_.ptr.push_back(0);
    }

    /// Eliminates some of the vertices in the given order.
    void run_in_order(std::span<const Vertex> order) {
        for (Vertex v : order) eliminate(v);
    }

    /// Eliminates all that are left; of equal ones without a loss, the latest in `nodes` first. No loss is worked out
    /// before all vertices without one are gone, and then only when a vertex comes up: until then it has a lower bound.
    CappedElimination run(std::span<const Vertex> nodes) {
        for (Vertex v : nodes)
            if (alive_[v]) rate(v, 0);
        for (;;) {
            if ((++steps_ & 0x3ff) == 0) watch_.check(1024);
            const Vertex v = next();
            if (v < 0) break;
            eliminate(v);
            for (auto [u, weight] : around_) rate(u, weight);
        }
        return std::move(out_);
    }

private:
    struct Entry {
        Vertex node;
        std::uint32_t edge;
    };
    static constexpr std::int64_t long_row = 64;

    void fill_rows(GraphView graph, std::span<const char> kept, std::span<const Vertex> nodes) {
        rows_.reserve(graph.num_nodes(), graph.adj.size() * 2);
        for (Vertex v = 0; v < graph.num_nodes(); ++v) rows_.add(graph.degree(v) + 2);
        for (Vertex v : nodes)
            for (std::int64_t e = graph.ptr[v]; e < graph.ptr[v + 1]; ++e) {
                const Vertex u = graph.adj[e];
                if (u > v || !kept[e]) continue;
                const auto edge = static_cast<std::uint32_t>(weight_.size());
                weight_.push_back(one_edge);
                rows_.push(v, {u, edge});
                rows_.push(u, {v, edge});
                ++degree_[u];
                ++degree_[v];
            }
    }

    void eliminate(Vertex v) {
        alive_[v] = 0;
        out_.order.push_back(v);
        around_.clear();
        for (auto [u, edge] : rows_[v])
            if (alive_[u]) around_.push_back({u, weight_[edge]});
        for (auto [u, weight] : around_) --degree_[u];
        if (static_cast<int>(around_.size()) > k_)
            std::nth_element(around_.begin(), around_.begin() + k_, around_.end(), [&](const Tie& a, const Tie& b) {
                if (a.weight != b.weight) return a.weight > b.weight;
                return degree_[a.node] != degree_[b.node] ? degree_[a.node] > degree_[b.node] : a.node < b.node;
            });
        const std::size_t kept = std::min<std::size_t>(around_.size(), k_);
        for (std::size_t i = 0; i < kept; ++i)
            for (std::size_t j = i + 1; j < kept; ++j) {
                const std::uint32_t least = std::min(around_[i].weight, around_[j].weight);
                join(around_[i].node, around_[j].node,
                     std::max<std::uint32_t>(1, 2 * least / static_cast<std::uint32_t>(kept)));
            }
        out_.later.insert(out_.later.end(), around_.begin(), around_.begin() + static_cast<std::ptrdiff_t>(kept));
        out_.ptr.push_back(static_cast<std::int64_t>(out_.later.size()));
    }

    /// Updates the place of v in the queues after it lost a neighbour by an edge of that weight, and may have got
    /// others: its loss fell by at most the weight.
    void rate(Vertex v, std::uint32_t weight) {
        const auto degree = static_cast<std::size_t>(degree_[v]);
        exact_[v] = 0;
        if (degree_[v] <= k_) {
            loss_[v] = std::min(loss_[v], 1u);
            if (degree >= light_.size()) light_.resize(degree + 1);
            light_[degree].push_back(v);
            least_ = std::min(least_, degree);
        } else if (loss_[v] == 0) {
            loss_[v] = 1;
            unrated_.push_back(v);
        } else {
            loss_[v] = loss_[v] > weight ? loss_[v] - weight : 1;
            if (rated_) heap_.set(v, key(v));
        }
    }

    /// Takes the next vertex out of the queues, in which outdated entries of light vertices stay; -1 if none is left.
    Vertex next() {
        for (; least_ < light_.size(); ++least_)
            for (auto& same = light_[least_]; !same.empty();) {
                const Vertex v = same.back();
                same.pop_back();
                if (alive_[v] && degree_[v] == static_cast<std::int64_t>(least_)) return v;
            }
        for (Vertex v : unrated_)
            if (alive_[v]) heap_.set(v, key(v));
        unrated_.clear();
        rated_ = true;
        while (!heap_.empty()) {
            const Vertex v = heap_.top();
            if (alive_[v] && !exact_[v]) {
                loss_[v] = loss(v);
                exact_[v] = 1;
                heap_.set(v, key(v));
                continue;
            }
            heap_.pop();
            if (alive_[v]) return v;
        }
        return -1;
    }

    std::uint64_t key(Vertex v) const {
        return std::uint64_t{loss_[v]} << 6 | static_cast<std::uint64_t>(std::min<std::int64_t>(degree_[v], 63));
    }

    void join(Vertex a, Vertex b, std::uint32_t weight) {
        if (degree_[a] > degree_[b]) std::swap(a, b);
        compact(a);
        auto row = rows_[a];
        for (std::size_t i = row.size(); i-- > 0;)
            if (row[i].node == b) {
                weight_[row[i].edge] += weight;
                // Hubs meet again and again: the next time, the edge is found at once.
                std::swap(row[i], row.back());
                return;
            }
        const auto edge = static_cast<std::uint32_t>(weight_.size());
        weight_.push_back(weight);
        rows_.push(a, {b, edge});
        rows_.push(b, {a, edge});
        ++degree_[a];
        ++degree_[b];
    }

    /// Removes eliminated neighbours once they are as many as the others.
    void compact(Vertex v) {
        auto row = rows_[v];
        if (static_cast<std::int64_t>(row.size()) < 2 * degree_[v]) return;
        const auto end = std::remove_if(row.begin(), row.end(), [&](const Entry& e) { return !alive_[e.node]; });
        rows_.cut(v, static_cast<std::size_t>(end - row.begin()));
    }

    /// What the elimination of v loses. For a hub it is only bounded from below.
    std::uint32_t loss(Vertex v) {
        const std::int64_t over = degree_[v] - k_;
        std::uint64_t sum = 0;
        if (over > long_row) {
            sum = static_cast<std::uint64_t>(over) * one_edge;
        } else {
            compact(v);
            weights_.clear();
            for (auto [u, edge] : rows_[v])
                if (alive_[u]) weights_.push_back(weight_[edge]);
            std::nth_element(weights_.begin(), weights_.begin() + over - 1, weights_.end());
            for (std::int64_t i = 0; i < over; ++i) sum += weights_[i];
        }
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(sum, 1, 0xffffff));
    }

    int k_;
    Watch& watch_;
    std::vector<std::int64_t> degree_;
    std::vector<char> alive_, exact_;
    std::vector<std::uint32_t> loss_;         // of vertices with more than k neighbours, exact or a lower bound
    std::vector<std::vector<Vertex>> light_;  // vertices of at most k neighbours, by their number
    std::size_t least_ = 0;
    std::vector<Vertex> unrated_;
    bool rated_ = false;
    std::uint64_t steps_ = 0;
    VertexHeap heap_;
    Rows<Entry> rows_;
    std::vector<std::uint32_t> weight_, weights_;
    std::vector<Tie> around_;
    CappedElimination out_;
};

}  // namespace neuraltrees
