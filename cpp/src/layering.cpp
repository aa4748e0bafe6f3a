#include "layering.hpp"

#include <algorithm>

namespace neuraltrees {

Layering::Layering(GraphView graph, const Components& components, std::span<const Vertex> nodes, bool from_both_ends)
    : graph_(graph), layer_(graph.num_nodes(), -1) {
    for (Vertex v : nodes) {
        if (layer_[v] >= 0) continue;
        const auto members = components.members(components.label[v]);
        // The last vertex of a search lies far from where it began.
        search(members, {v});
        search(members, {queue_.back()});
        if (from_both_ends) {
            // The first layers bend around the vertex that they begin at; those that begin at a whole layer do not.
            const std::vector<Vertex> end = last_layer();
            search(members, end);
            std::vector<Vertex> ends = last_layer();
            if (layer_[ends[0]] > 0) ends.insert(ends.end(), end.begin(), end.end());
            search(members, ends);
        }
        for (Vertex u : queue_) {
            if (layer_[u] >= count()) cross_.resize(layer_[u] + 1, 0);
            for (Vertex w : graph.neighbours(u)) cross_[layer_[u]] += layer_[w] < layer_[u];
        }
    }
}

void Layering::search(std::span<const Vertex> component, const std::vector<Vertex>& starts) {
    for (Vertex u : component) layer_[u] = -1;
    queue_ = starts;
    for (Vertex u : starts) layer_[u] = 0;
    for (std::size_t head = 0; head < queue_.size(); ++head)
        for (Vertex u : graph_.neighbours(queue_[head]))
            if (layer_[u] < 0) {
                layer_[u] = layer_[queue_[head]] + 1;
                queue_.push_back(u);
            }
}

std::vector<Vertex> Layering::last_layer() const {
    const auto first = std::lower_bound(queue_.begin(), queue_.end(), layer_[queue_.back()],
                                        [&](Vertex u, int layer) { return layer_[u] < layer; });
    return {first, queue_.end()};
}

Layering::Cut Layering::best_cut(int thickness) const {
    std::vector<std::int64_t> edges(thickness, 0);
    for (int i = 0; i < count(); ++i) edges[i % thickness] += cross_[i];
    const auto least = std::min_element(edges.begin(), edges.end());
    return {thickness, static_cast<int>(least - edges.begin()), *least};
}

std::vector<char> Layering::without(const Cut& cut) const {
    std::vector<char> marked(graph_.adj.size(), 1);
    for (Vertex v = 0; v < graph_.num_nodes(); ++v)
        for (std::int64_t e = graph_.ptr[v]; e < graph_.ptr[v + 1]; ++e) {
            const int a = layer_[v], b = layer_[graph_.adj[e]];
            if (a >= 0 && a != b && std::max(a, b) % cut.thickness == cut.offset) marked[e] = 0;
        }
    return marked;
}

}  // namespace neuraltrees
