#include "walk_rows.hpp"

#include <algorithm>

namespace neuraltrees {

void WalkRows::read(std::span<const std::int64_t> source, std::span<const std::int64_t> target,
                    std::int64_t num_nodes) {
    first_.assign(num_nodes + 1, 0);
    sort_edges(source, target);
    symmetric = find_symmetry();
    order();
    write();
}

/// Lists the targets of every node in rising order.
void WalkRows::sort_edges(std::span<const std::int64_t> source, std::span<const std::int64_t> target) {
    for (const std::int64_t v : source) ++first_[v + 1];
    for (std::size_t v = 1; v < first_.size(); ++v) first_[v] += first_[v - 1];
    place_.assign(first_.begin(), first_.end() - 1);
    target_.resize(source.size());
    for (std::size_t e = 0; e < source.size(); ++e) target_[place_[source[e]]++] = static_cast<Vertex>(target[e]);
    for (std::size_t v = 1; v < first_.size(); ++v) {
        watch_.check(1 + first_[v] - first_[v - 1]);
        std::sort(target_.begin() + first_[v - 1], target_.begin() + first_[v]);
    }
}

/// Sources rise from one node to the next. If each edge has its reverse, then the sources of the edges to a node are
/// the node's own targets, one after another.
bool WalkRows::find_symmetry() {
    place_.assign(first_.begin(), first_.end() - 1);
    for (Vertex v = 0; v < static_cast<Vertex>(place_.size()); ++v)
        for (const Vertex w : targets(v))
            if (place_[w] == first_[w + 1] || target_[place_[w]++] != v) return false;
    return true;
}

void WalkRows::order() {
    const auto count = static_cast<Vertex>(place_.size());
    seen_.assign(count, 0);
    placed_.assign(count, 0);
    node.clear();
    for (Vertex v = 0; v < count; ++v) {
        if (placed_[v]) continue;
        queue_.clear();
        search(v, seen_, queue_);
        // The last node is an end of the component, from which the levels of the search are small. In a directed graph
        // it need not reach the others.
        search(queue_.back(), placed_, node);
        search(v, placed_, node);
    }
}

/// Appends the nodes that can be reached from a node and are not known yet, the nearest first.
void WalkRows::search(Vertex from, std::vector<std::uint8_t>& known, std::vector<Vertex>& found) {
    const auto meet = [&](Vertex v) {
        if (!known[v]) found.push_back(v);
        known[v] = 1;
    };
    std::size_t next = found.size();
    for (meet(from); next < found.size(); ++next) {
        const auto ends = targets(found[next]);
        watch_.check(1 + static_cast<std::int64_t>(ends.size()));
        for (const Vertex w : ends) meet(w);
    }
}

void WalkRows::write() {
    const auto count = static_cast<Vertex>(node.size());
    row_.resize(count);
    for (Vertex row = 0; row < count; ++row) row_[node[row]] = row;
    lowest.assign(row_.size(), count);
    highest.assign(row_.size(), 0);
    start.assign(1, 0);
    neighbour.clear();
    share.clear();
    const auto meet = [&](Vertex row, Vertex other) {
        lowest[row] = std::min(lowest[row], other);
        highest[row] = std::max(highest[row], other);
    };
    for (Vertex row = 0; row < count; ++row) {
        meet(row, row);
        for (const Vertex w : targets(node[row])) {
            neighbour.push_back(row_[w]);
            meet(row, row_[w]);
            meet(row_[w], row);
        }
        start.push_back(static_cast<std::int64_t>(neighbour.size()));
        share.push_back(1.0 / static_cast<double>(std::max<std::int64_t>(1, degree(row))));
    }
    inner.clear();
    for (Vertex row = 0; row < count; ++row)
        if (!is_leaf(row)) inner.push_back(row);
}

}  // namespace neuraltrees
