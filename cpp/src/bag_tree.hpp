#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capped_elimination.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"
#include "rows.hpp"

namespace neuraltrees {

/// Bags of at most k + 1 vertices in a rooted forest, in which the bags of every vertex are connected. The edges of the
/// graph that lie in a bag are kept. Bag v of the first n is the one with which vertex v came in.
class BagTree {
public:
    struct Edge {
        Vertex u, v;
    };

    /// Inserts the vertices in the reverse order of their elimination, each into a new bag below the bag that holds the
    /// heaviest of its neighbours; what no later vertex and no edge needs is taken out again. The trees are then the
    /// connected components of the edges that are kept.
    BagTree(GraphView graph, const CappedElimination& elimination, int k);

    /// Adds edges of the graph: those that join two of the trees, until none is left; then those for which all bags
    /// between their ends have room for one more, shortest ways first. Returns the edges that are still dropped.
    std::vector<Edge> augment(Watch& watch);

    /// How far the highest bag of every vertex is from the root of its tree, -1 for a vertex outside.
    std::vector<Vertex> depths() const;

private:
    using Bag = std::int32_t;
    enum class End { reached, closed, far };

    /// Do u and v share a bag? The one whose highest bag is lower meets the other there.
    bool together(Vertex u, Vertex v) const { return holds(top_[u], v) || holds(top_[v], u); }
    bool holds(Bag b, Vertex v) const;
    bool has_room(Bag b) const { return bags_.size(b) <= k_; }
    void insert(Vertex v, std::span<const Tie> later);
    void choose_members(Vertex v);
    void prune(std::span<const Vertex> order);
    std::vector<Edge> dropped() const;
    void connect(std::span<const Edge> dropped);
    void put(Vertex v, Bag b);
    Bag split(Bag child);
    void make_root(Bag b);
    End climb(Vertex from, Vertex to, int limit, std::vector<Bag>& way) const;
    bool join(Vertex u, Vertex v, int limit);
    void join_over(std::span<const Bag> way, Vertex u, Vertex v);

    GraphView graph_;
    int k_;
    Rows<Vertex> bags_;
    std::vector<Bag> parent_, top_;
    std::vector<Vertex> nodes_, when_;  // the vertices by insertion, and when each was inserted
    std::vector<Vertex> stamp_, wanted_, members_;
    std::vector<std::uint32_t> weight_;
    std::vector<Bag> up_, other_up_, way_;
};

}  // namespace neuraltrees
