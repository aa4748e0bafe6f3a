#pragma once

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
class BlockSearch {
public:
    explicit BlockSearch(GraphView graph)
        : graph_(graph), number_(graph.num_nodes(), 0), vertex_(graph.num_nodes() + 1), parent_(vertex_.size()),
          low1_(vertex_.size()), low2_(vertex_.size()), next_(vertex_.size()), mark_(vertex_.size()) {}

    Vertex vertex(Vertex number) const { return vertex_[number]; }
    Vertex low1(Vertex number) const { return low1_[number]; }
    Vertex low2(Vertex number) const { return low2_[number]; }

    /// Calls block(arcs) for every block: its arcs in the order of the search, that is, a tree arc into a vertex before
    /// every other arc at it, and tree arcs in the order of their targets.
    template <typename Block>
    void run(Block&& block, Watch& watch) {
        Vertex count = 0;
        for (Vertex v = 0; v < graph_.num_nodes(); ++v) {
            watch.check();
            if (number_[v] != 0) continue;
            for (Vertex at = enter(v, ++count, 0); at != 0;) {
                watch.check();
                if (next_[at] < graph_.ptr[vertex_[at] + 1]) {
                    const Vertex u = graph_.adj[next_[at]++], other = number_[u];
                    if (other == 0) {
                        mark_[++count] = static_cast<std::int64_t>(arcs_.size());
                        arcs_.push_back({at, count});
                        at = enter(u, count, at);
                    } else if (other < at && other != parent_[at]) {
                        arcs_.push_back({at, other});
                        reach(at, other, at);
                    }
                    continue;
                }
                const Vertex above = parent_[at];
                if (above != 0 && low1_[at] >= above) {
                    block(std::span<const Arc>(arcs_).subspan(mark_[at]));
                    arcs_.resize(mark_[at]);
                } else if (above != 0) {
                    reach(above, low1_[at], low2_[at]);
                }
                at = above;
            }
        }
    }

private:
    Vertex enter(Vertex v, Vertex number, Vertex parent) {
        number_[v] = number;
        vertex_[number] = v;
        parent_[number] = parent;
        low1_[number] = low2_[number] = number;
        next_[number] = graph_.ptr[v];
        return number;
    }
    /// The subtree of `at` reaches the numbers first ≤ second.
    void reach(Vertex at, Vertex first, Vertex second) {
        if (first < low1_[at]) {
            low2_[at] = std::min(low1_[at], second);
            low1_[at] = first;
        } else {
            low2_[at] = std::min(low2_[at], first == low1_[at] ? second : first);
        }
    }

    GraphView graph_;
    std::vector<Vertex> number_;                         // per vertex, 0 before it is met
    std::vector<Vertex> vertex_, parent_, low1_, low2_;  // per number
    std::vector<std::int64_t> next_, mark_;
    std::vector<Arc> arcs_;
};

}  // namespace neuraltrees
