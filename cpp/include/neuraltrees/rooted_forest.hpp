#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// The nodes of a rooted forest tree by tree, each from the root downwards level by level, so that parents precede
/// their children. `order[k]` is the node at place k, `parent[k]` the place of its parent or -1, and tree t takes the
/// places `tree_ptr[t]` up to `tree_ptr[t + 1]`. Trees are numbered by their smallest node.
struct RootedForest {
    std::vector<std::int64_t> order, parent, tree_ptr{0};
    std::int64_t depth = 0;    // edges from a root to the deepest node
    std::int64_t largest = 0;  // nodes of the largest tree
};

/// Roots every tree at its centre, which gives the least depth. Throws InputError if the graph has a cycle.
RootedForest root_at_centres(GraphView graph, Watch watch = {});

/// Keeps the roots: `parent[v]` is a node, or -1 for a root. Throws InputError for an id out of range or a cycle.
RootedForest root_as_given(std::span<const std::int64_t> parent, Watch watch = {});

}  // namespace neuraltrees
