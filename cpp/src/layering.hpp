#pragma once

#include <span>
#include <vector>

#include "neuraltrees/graph.hpp"

namespace neuraltrees {

/// The layers of a breadth-first search in every component, from a vertex at one end of it, or from both ends at once.
class Layering {
public:
    /// Cuts the edges between the layers i - 1 and i for every i that is `offset` modulo `thickness`.
    struct Cut {
        int thickness, offset;
        std::int64_t edges;
    };

    /// Layers the given vertices, which are all those of some components.
    Layering(GraphView graph, const Components& components, std::span<const Vertex> nodes, bool from_both_ends);

    int layer(Vertex v) const { return layer_[v]; }

    /// The number of layers of the component that has most.
    int count() const { return static_cast<int>(cross_.size()); }

    /// The cut into slabs of so many layers that cuts the fewest edges.
    Cut best_cut(int thickness) const;

    /// Marks all entries of the graph but those that are cut.
    std::vector<char> without(const Cut& cut) const;

private:
    void search(std::span<const Vertex> component, const std::vector<Vertex>& starts);
    std::vector<Vertex> last_layer() const;

    GraphView graph_;
    std::vector<int> layer_;
    std::vector<Vertex> queue_;
    std::vector<std::int64_t> cross_;  // how many edges join every layer to the one before
};

}  // namespace neuraltrees
