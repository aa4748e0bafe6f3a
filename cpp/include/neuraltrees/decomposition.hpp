#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/greedy.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// What a bag of a canonical decomposition stands for.
enum class BagKind : std::int8_t {
    other = 0,
    vertex = 1,  // a cut vertex or an isolated one
    bridge = 2,
    cycle = 3,
    pair = 4,
    rigid = 5,  // 3-connected
};

/// A view of the flat arrays of a decomposition: bags with sorted nodes, and the forest that joins them. A canonical
/// decomposition also has kinds, and `bag_order`, in which cycles are in cyclic order.
struct DecompositionView {
    std::span<const std::int64_t> bag_ptr;
    std::span<const Vertex> bag_nodes;
    std::span<const std::array<Vertex, 2>> edges;
    std::span<const std::int8_t> kinds = {};
    std::span<const Vertex> bag_order = {};

    std::int64_t num_bags() const { return static_cast<std::int64_t>(bag_ptr.size()) - 1; }
    std::span<const Vertex> bag(std::int64_t b) const {
        return bag_nodes.subspan(bag_ptr[b], bag_ptr[b + 1] - bag_ptr[b]);
    }
    std::span<const Vertex> order(std::int64_t b) const {
        return bag_order.empty() ? bag(b) : bag_order.subspan(bag_ptr[b], bag_ptr[b + 1] - bag_ptr[b]);
    }
    int width() const {
        std::int64_t largest = 0;
        for (std::int64_t b = 0; b < num_bags(); ++b) largest = std::max(largest, bag_ptr[b + 1] - bag_ptr[b]);
        return static_cast<int>(largest) - 1;
    }
};

struct TreeDecomposition {
    std::vector<std::int64_t> bag_ptr{0};
    std::vector<Vertex> bag_nodes;
    std::vector<std::array<Vertex, 2>> edges;
    std::vector<std::int8_t> kinds;  // as bag_order: only in canonical decompositions
    std::vector<Vertex> bag_order;
    int lower_bound = -1;
    Shortcut shortcut = Shortcut::none;  // the cheapest one of all components

    DecompositionView view() const { return {bag_ptr, bag_nodes, edges, kinds, bag_order}; }
    operator DecompositionView() const { return view(); }
    int width() const { return view().width(); }
    void add_bag(std::span<const Vertex> nodes) {
        bag_nodes.insert(bag_nodes.end(), nodes.begin(), nodes.end());
        bag_ptr.push_back(static_cast<std::int64_t>(bag_nodes.size()));
    }
};

/// Eliminates the vertices in the given order and keeps the maximal bags: a clique tree of the filled graph, one tree
/// per connected component, no bag contained in another, parents before children.
TreeDecomposition decomposition_from_order(GraphView graph, std::span<const Vertex> order, Watch watch = {});

/// The same if the vertices after the first `eliminated` ones form one bag; these must be connected.
TreeDecomposition decomposition_from(GraphView graph, const Elimination& elimination, Watch watch = {});

/// The width that an elimination order gives.
int width_of_order(GraphView graph, std::span<const Vertex> order, Watch watch = {});

/// A description of the first property of a tree decomposition that is violated, or nothing.
std::optional<std::string> first_violation(GraphView graph, DecompositionView decomposition, Watch watch = {});

/// What `normalised` does with a bag that is contained in another.
enum class Nested { merge, keep };

/// Whether it has one tree per connected component, in the order of the components, parents before children, no empty
/// bag and, unless they are kept, no bag inside another. Expects a valid decomposition.
bool is_normalised(GraphView graph, DecompositionView decomposition, Nested nested = Nested::merge, Watch watch = {});

/// The same decomposition in that form; expects a valid one. Kinds and orders can only be kept together with all bags.
TreeDecomposition normalised(GraphView graph, DecompositionView decomposition, Nested nested = Nested::merge,
                             Watch watch = {});

}  // namespace neuraltrees
