#pragma once

#include <span>
#include <vector>

#include "block_search.hpp"

namespace neuraltrees {

/// The palm tree of a block in the form that the search for separation pairs needs. Vertices are 1 … n, parents before
/// children, so that a tree arc leads to a larger number and a frond to a smaller one; the arcs out of a vertex stand
/// in the order of Gutwenger and Mutzel, and of two children the one that comes first has the larger numbers. The
/// arrays are scratch that serves one block after another.
struct PalmTree {
    Vertex n = 0;
    std::vector<Vertex> name;                // number in the depth-first search of the whole graph
    std::vector<Vertex> father, low1, low2;  // per vertex
    std::vector<Vertex> size;                // of the subtree
    std::vector<Vertex> degree;
    std::vector<Vertex> arc_ptr;         // arcs arc_ptr[v] … arc_ptr[v + 1] - 1 leave v
    std::vector<Vertex> source, target;  // per arc
    std::vector<Vertex> tree_arc;        // the arc into a vertex
    // The sources of the fronds into a vertex as a linked list, in the order in which the paths find them.
    std::vector<Vertex> high_head, high_next, high_value;

    /// Expects a block of at least three vertices.
    void build(std::span<const Arc> arcs, const BlockSearch& search, Watch& watch);

private:
    struct Step {
        Vertex key, target;
    };

    void number_in_preorder(std::span<const Arc> arcs, const BlockSearch& search);
    void sort_arcs(Watch& watch);
    void number_along_paths(Watch& watch);
    void list_fronds(Watch& watch);

    std::vector<Vertex> local_;  // preorder number in the block, per search number
    std::vector<Vertex> pre_name_, pre_father_, pre_low1_, pre_low2_, pre_size_, pre_ptr_;
    std::vector<Vertex> pre_source_, pre_target_;  // per arc in the order of the search
    std::vector<Step> steps_, scratch_;            // the arcs out of every vertex
    std::vector<Vertex> renumbered_, next_, fronds_;
};

}  // namespace neuraltrees
