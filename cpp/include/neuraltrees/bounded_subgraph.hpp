#pragma once

#include <cstdint>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/sampling.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

struct BoundedSubgraphOptions {
    int k = 1;
    std::uint64_t seed = 0;
    int restarts = 1;
};

/// A subgraph of treewidth at most k that keeps many edges, on the same vertices and with the same components, with its
/// decomposition. A component that greedy elimination decomposes within width k is kept unchanged. For any other, the
/// best of several constructions is used and then improved `restarts` times: the kept subgraph is eliminated again, and
/// dropped edges return where bags have room.
BoundedSample bounded_subgraph(GraphView graph, const BoundedSubgraphOptions& options, Watch watch = {});

}  // namespace neuraltrees
