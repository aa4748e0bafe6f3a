#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "neuraltrees/decompose.hpp"
#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// The blocks of a graph: its maximal 2-connected subgraphs and its bridges. Every edge is in one block; a vertex in
/// two or more blocks is a cut vertex, a vertex in no block is isolated. Components are in the order of their smallest
/// vertices.
struct BlockCutTree {
    std::vector<std::int64_t> edge_ptr{0}, node_ptr{0};
    std::vector<std::array<Vertex, 2>> edges;  // of every block
    std::vector<Vertex> nodes;                 // of every block, sorted
    std::vector<Vertex> cut_vertices;          // sorted
};

BlockCutTree block_cut_tree(GraphView graph, Watch watch = {});

/// The SPQR trees of all blocks: per node its kind (bridge, cycle, pair or rigid), its block and its skeleton. The
/// partner of a virtual edge is the same edge in the skeleton of the neighbour; that of a real edge is -1. The skeleton
/// of a cycle is listed in cyclic order, every edge from one vertex to the next. No two cycles and no two pairs are
/// neighbours.
struct SpqrTrees {
    std::vector<std::int8_t> kind;  // as BagKind
    std::vector<Vertex> block;
    std::vector<std::int64_t> ptr{0};
    std::vector<std::array<Vertex, 2>> edges;
    std::vector<std::int64_t> partner;

    std::int64_t num_nodes() const { return static_cast<std::int64_t>(kind.size()); }
};

/// Blocks in the order of `block_cut_tree`. Linear time (Hopcroft and Tarjan 1973 with the corrections of Gutwenger and
/// Mutzel 2001).
SpqrTrees spqr_trees(GraphView graph, Watch watch = {});

/// The tree decomposition that does not depend on the numbers of the vertices. Its bags are the nodes of all SPQR
/// trees, a pair for every virtual edge between two nodes that are not pairs, and a bag with only the vertex for every
/// cut vertex, joined to the centre of the bags that hold the vertex in each of its blocks. It has kinds and the order
/// of every bag; one tree per connected component, in the order of the components, parents before children.
///
/// With `refine`, the bag of a rigid node is replaced by the bags of a decomposition of its skeleton, including virtual
/// edges, by these options, if there are two or more bags; they are of kind `other` and depend on the numbers.
TreeDecomposition canonical_decomposition(GraphView graph, const DecomposeOptions* refine = nullptr, Watch watch = {});

}  // namespace neuraltrees
