#pragma once

#include <vector>

#include "neuraltrees/watch.hpp"
#include "palm_tree.hpp"

namespace neuraltrees {

/// Splits a block at its separation pairs into bonds (three edges between two vertices), triangles and 3-connected
/// graphs. Every split adds a virtual edge to both sides, so a virtual edge is in two components and a real one in one.
class SplitComponents {
public:
    enum class Kind : std::int8_t { bond, polygon, rigid };

    /// Splits the block of the palm tree, which is used up.
    void run(PalmTree& palm, Watch& watch);

    Vertex count() const { return static_cast<Vertex>(kind.size()); }

    std::vector<Kind> kind;
    std::vector<Vertex> ptr;    // where the edges of each component begin
    std::vector<Vertex> edges;  // numbers of arcs of the palm tree; the virtual ones come after the others

private:
    /// A candidate for a separation pair {a, b} whose component has no vertex above h; `a` is 0 for the mark between
    /// candidates of different paths.
    struct Triple {
        Vertex h, a, b;
    };

    Vertex arc(Vertex from, Vertex to);
    void put(Vertex e) { edges.push_back(e); }
    void close(Kind k) {
        kind.push_back(k);
        ptr.push_back(static_cast<Vertex>(edges.size()));
    }
    /// Ends a component of the edges put since the last one: three edges are a triangle.
    void close_with(Vertex virtual_edge) {
        put(virtual_edge);
        close(static_cast<Vertex>(edges.size()) - ptr.back() >= 4 ? Kind::rigid : Kind::polygon);
    }
    Vertex pop() {
        const Vertex e = stack_.back();
        stack_.pop_back();
        return e;
    }
    void bond(Vertex x, Vertex y, Vertex z) {
        put(x), put(y), put(z);
        close(Kind::bond);
    }
    void count_off(Vertex e) {
        --palm_->degree[palm_->source[e]];
        --palm_->degree[palm_->target[e]];
    }
    void count_in(Vertex e) {
        ++palm_->degree[palm_->source[e]];
        ++palm_->degree[palm_->target[e]];
    }

    bool starts_path(Vertex v) const { return v == 1 || place_[v] != palm_->arc_ptr[v]; }
    void begin_path(Vertex lowest, Vertex h, Vertex b);
    void after_child(Vertex v, Vertex w, Watch& watch);
    Vertex split_pairs_below(Vertex v, Vertex w, Watch& watch);
    Vertex cut_triangle(Vertex v, Vertex& twin);
    Vertex cut_candidate(Vertex v, Vertex& twin, Watch& watch);
    void split_pair_above(Vertex v, Vertex w, Watch& watch);
    bool has_one_child_only(Vertex w);
    void leave_list(Vertex e) { at_[in_place_[e]] = -1; }
    void leave_highs(Vertex e);
    Vertex high(Vertex v);

    PalmTree* palm_ = nullptr;
    std::vector<Vertex> at_;        // the arc that stands in a place of the lists now, -1 for none
    std::vector<Vertex> in_place_;  // per arc
    std::vector<Vertex> in_highs_;  // per arc: its entry in the list of fronds, -1 for none
    std::vector<Vertex> place_,
        first_;                  // per vertex: where the search is in its list, and a place before which all are empty
    std::vector<Vertex> out_;    // per vertex: arcs that left it, less the children that are done
    std::vector<Vertex> stack_;  // arcs that are in no component yet
    std::vector<Triple> candidates_;
};

}  // namespace neuraltrees
