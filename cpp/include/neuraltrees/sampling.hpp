#pragma once

#include <cstdint>

#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

struct BoundedSample {
    Graph subgraph;
    TreeDecomposition decomposition;
};

/// Grows a k-tree over every component and keeps the edges inside it (Yoo et al., WSDM 2020): the node with most
/// neighbours in a bag joins it in place of one member, which makes a new bag. Ties are broken by a hash of (seed,
/// node, newest member).
BoundedSample sample_bounded_treewidth(GraphView graph, int k, std::uint64_t seed, Watch watch = {});

}  // namespace neuraltrees
