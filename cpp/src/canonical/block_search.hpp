#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// An arc of a palm tree between numbers of a depth-first search: a tree arc leads to a larger number, a frond to a
/// smaller one.
using Arc = std::array<Vertex, 2>;

/// Depth-first search that hands over every block as it is complete. Numbers begin at 1. `low1` and `low2` are the
/// lowest and the second lowest number that the subtree of a vertex reaches by one frond, or its own number.
///
/// A vertex looks at its row once, when the search enters it: neighbours that have a number are above it, and the
/// others go onto one stack, where most of them are numbered by the time they come up. In a large graph nearly every
/// look at a neighbour misses the caches, so it asks for what it will need some steps ahead.
class BlockSearch {
public:
    explicit BlockSearch(GraphView graph)
        : graph_(graph), number_(graph.num_nodes(), 0), vertex_(graph.num_nodes() + 1), low_(vertex_.size()) {}

    Vertex vertex(Vertex number) const { return vertex_[number]; }
    Vertex low1(Vertex number) const { return low_[number].first; }
    Vertex low2(Vertex number) const { return low_[number].second; }

    /// Calls block(arcs) for every block: its arcs in the order of the search, that is, a tree arc into a vertex before
    /// every other arc at it, and tree arcs in the order of their targets.
    template <typename Block>
    void run(Block&& block, Watch& watch) {
        for (Vertex v = 0; v < graph_.num_nodes(); ++v) {
            watch.check();
            if (number_[v] != 0) continue;
            enter(v, watch);
            while (!path_.empty()) {
                const Frame frame = path_.back();
                const Vertex next = unvisited_below(frame.waiting);
                if (next >= 0) {
                    arcs_.push_back({frame.number, count_ + 1});
                    enter(next, watch);
                    continue;
                }
                path_.pop_back();
                if (path_.empty()) break;
                const Vertex above = path_.back().number;
                if (low_[frame.number].first < above) {
                    low_[above].reach(low_[frame.number].first, low_[frame.number].second);
                    continue;
                }
                block(std::span<const Arc>(arcs_).subspan(frame.arcs));
                arcs_.resize(frame.arcs);
            }
        }
    }

private:
    /// A vertex on the way from the root.
    struct Frame {
        Vertex number;
        std::int64_t arcs;     // how many there were before the arc into the vertex
        std::int64_t waiting;  // how many vertices waited before its neighbours
    };
    struct Low {
        Vertex first, second;

        /// The subtree reaches the numbers a ≤ b.
        void reach(Vertex a, Vertex b) {
            if (a < first) {
                second = std::min(first, b);
                first = a;
            } else {
                second = std::min(second, a == first ? b : a);
            }
        }
    };

    void enter(Vertex v, Watch& watch) {
        const Vertex at = ++count_, parent = path_.empty() ? 0 : path_.back().number;
        number_[v] = at;
        vertex_[at] = v;
        const auto arcs = static_cast<std::int64_t>(arcs_.size());
        path_.push_back({at, parent == 0 ? arcs : arcs - 1, static_cast<std::int64_t>(waiting_.size())});
        Low& low = low_[at] = {at, at};
        const auto row = graph_.neighbours(v);
        watch.check(1 + static_cast<std::int64_t>(row.size()));
        for (Vertex u : row) {
            __builtin_prefetch(&number_[u]);
            __builtin_prefetch(&graph_.ptr[u]);
        }
        for (auto it = row.rbegin(); it != row.rend(); ++it) {
            const Vertex other = number_[*it];
            if (other == 0) {
                waiting_.push_back(*it);
            } else if (other != parent) {
                arcs_.push_back({at, other});
                low.reach(other, at);
            }
        }
    }

    /// Takes vertices from the stack, down to the given height, until one has no number; -1 if there is none.
    Vertex unvisited_below(std::int64_t height) {
        constexpr std::int64_t ahead = 8;
        while (static_cast<std::int64_t>(waiting_.size()) > height) {
            const Vertex u = waiting_.back();
            waiting_.pop_back();
            const auto left = static_cast<std::int64_t>(waiting_.size());
            if (left > ahead) __builtin_prefetch(&number_[waiting_[left - ahead]]);
            if (left > 0) __builtin_prefetch(&graph_.ptr[waiting_[left - 1]]);
            if (number_[u] == 0) return u;
        }
        return -1;
    }

    GraphView graph_;
    Vertex count_ = 0;
    std::vector<Vertex> number_;  // per vertex, 0 before it is met
    std::vector<Vertex> vertex_;  // per number
    std::vector<Low> low_;        // per number
    std::vector<Frame> path_;
    std::vector<Arc> arcs_;
    std::vector<Vertex> waiting_;
};

}  // namespace neuraltrees
