#pragma once

#include <cstdint>
#include <span>

#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// Graphs one after another, as lists of directed edges. Those of graph g are edge_ptr[g] … edge_ptr[g + 1] - 1; its
/// nodes, which are numbered from 0 in every graph, have the rows node_ptr[g] … node_ptr[g + 1] - 1. An edge that is
/// listed twice counts twice.
struct EdgeLists {
    std::span<const std::int64_t> source, target, node_ptr, edge_ptr;

    std::int64_t count() const { return static_cast<std::int64_t>(node_ptr.size()) - 1; }
    std::int64_t num_nodes(std::int64_t g) const { return node_ptr[g + 1] - node_ptr[g]; }
};

/// Throws InputError if the arrays do not fit together as described above.
void check_edge_lists(const EdgeLists& graphs);

/// The probabilities that a random walk from each node is back at the node after 1 … `steps` steps: a row of `steps`
/// numbers per node. A walk takes each edge of a node with equal probability, and ends at a node without one.
///
/// Computed in double precision and in a fixed order: results are the same on all processors and for any number of
/// threads, and those of a graph do not depend on the other graphs. Of a graph whose edges are listed as often in both
/// directions, half of the steps are computed.
template <typename T>
void return_probabilities(const EdgeLists& graphs, std::int64_t steps, T* out, int threads, Watch watch = {});

}  // namespace neuraltrees
