#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "neuraltrees/buffer.hpp"
#include "neuraltrees/decompose.hpp"
#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// An H-tree, or a forest of H-trees, as flat arrays. Nodes are ordered by component; in each, the root bags come
/// first, then the nodes below every root in preorder, so that a parent always precedes its children. Edges: root-root
/// pairs, then child→parent for all nodes with a parent, then parent→child for the same nodes.
template <typename Index>
struct HTreeOf {
    BufferOf<Index> parent, level, kappa, component, bag_ptr, bag_nodes;
    BufferOf<Index> edge_index;  // 2 × E, sources then targets
    BufferOf<Index> edge_type;   // 0 root-root, 1 child→parent, 2 parent→child
    BufferOf<Index> kind;        // BagKind of a root, 0 of other nodes; empty if the decomposition has no kinds
};
using HTree = HTreeOf<std::int64_t>;
using NarrowHTree = HTreeOf<std::int32_t>;  // half the memory, for trees whose numbers fit

/// Which bags have leaves as children: bags whose graph is complete, or all roots.
enum class Terminal { clique, bag };

struct HTreeOptions {
    /// How the graphs of the bags are decomposed; `nested.threads` serves the whole construction.
    DecomposeOptions nested;
    std::int64_t max_nodes = 50'000'000;
    Terminal terminal = Terminal::clique;
    /// Called with the number of nodes and the bits of an index, in the calling thread, before the arrays are
    /// allocated.
    std::function<void(std::int64_t nodes, int bits)> announce = {};
};

/// Builds the H-tree (Algorithm 1 of the paper): every bag B gets the bags of a decomposition of G[B] as children,
/// recursively, down to single vertices; with terminal bags, one leaf per member in the order of the bag instead. The
/// decomposition must be valid and normalised, but bags inside others may be kept. Throws TreeTooLargeError,
/// before the arrays are allocated, if the tree would have more than `max_nodes` nodes; within about a second if a
/// sample of wide root bags shows that it would have far more. Throws InputError, before as well, if a number of nodes
/// or of entries of their bags does not fit into an Index.
template <typename Index = std::int64_t>
HTreeOf<Index> build_htree(GraphView graph, DecompositionView decomposition, const HTreeOptions& options,
                           Watch watch = {});

/// The same tree in 32 bits if its numbers fit, else in 64.
std::variant<NarrowHTree, HTree> build_fitting_htree(GraphView graph, DecompositionView decomposition,
                                                     const HTreeOptions& options, Watch watch = {});

/// The arrays of an H-tree from any source; they may be invalid.
template <typename Index>
struct HTreeViewOf {
    std::span<const Index> parent, level, kappa, component, bag_ptr, bag_nodes, edge_index, edge_type;
    std::span<const Index> kind = {};

    std::int64_t num_nodes() const { return static_cast<std::int64_t>(parent.size()); }
    std::int64_t num_edges() const { return static_cast<std::int64_t>(edge_type.size()); }
    std::span<const Index> bag(std::int64_t i) const {
        return bag_nodes.subspan(bag_ptr[i], bag_ptr[i + 1] - bag_ptr[i]);
    }
};
using HTreeView = HTreeViewOf<std::int64_t>;

/// A description of the first invariant of an H-tree of the graph that the arrays violate, or nothing.
template <typename Index>
std::optional<std::string> first_violation(GraphView graph, const HTreeViewOf<Index>& tree, Watch watch = {});

/// The longest path of every tree, in edges.
template <typename Index>
std::vector<std::int64_t> diameters(const HTreeViewOf<Index>& tree, Watch watch = {});

}  // namespace neuraltrees
