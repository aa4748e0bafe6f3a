#include "neuraltrees/bounded_subgraph.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>

#include "bag_tree.hpp"
#include "capped_elimination.hpp"
#include "layering.hpp"
#include "neuraltrees/bounds.hpp"
#include "neuraltrees/decompose.hpp"
#include "neuraltrees/error.hpp"

namespace neuraltrees {
namespace {

constexpr int fewest_slabs = 12;  // graphs with fewer layers are not cut into slabs

/// For every vertex, how far the first of its bags is from the root of its tree. Expects parents before children.
std::vector<Vertex> depths_of(DecompositionView td, Vertex num_nodes) {
    std::vector<Vertex> above(td.num_bags(), -1), depth(td.num_bags(), 0), out(num_nodes, -1);
    for (auto [a, b] : td.edges) above[std::max(a, b)] = std::min(a, b);
    for (std::int64_t b = 0; b < td.num_bags(); ++b) {
        if (above[b] >= 0) depth[b] = depth[above[b]] + 1;
        for (Vertex v : td.bag(b))
            if (out[v] < 0) out[v] = depth[b];
    }
    return out;
}

/// Of two vertices that share a bag, the one whose first bag is deeper is eliminated before the other. The last
/// component comes first, so that the bags, which are made in the reverse order, begin with the first.
std::vector<Vertex> order_by_depth(const Components& components, std::span<const Vertex> depth) {
    std::vector<Vertex> order;
    order.reserve(depth.size());
    for (std::int64_t c = components.count(); c-- > 0;) {
        const auto members = components.members(c);
        const auto first = order.insert(order.end(), members.begin(), members.end());
        std::sort(first, order.end(),
                  [&](Vertex a, Vertex b) { return std::pair(depth[b], a) < std::pair(depth[a], b); });
    }
    return order;
}

class Search {
public:
    Search(GraphView graph, const BoundedSubgraphOptions& options, Watch& watch)
        : graph_(graph), options_(options), watch_(watch), components_(connected_components(graph)),
          kept_(graph.adj.size(), 1), depth_(graph.num_nodes(), 0),
          dropped_(components_.count(), std::numeric_limits<std::int64_t>::max()) {}

    BoundedSample run() {
        open_.resize(graph_.num_nodes());
        std::iota(open_.begin(), open_.end(), 0);
        attempt(kept_);
        keep_whole_what_fits();
        if (!open_.empty()) {
            if (has_more_edges_than_k_trees()) adopt_growth();
            adopt_slabs();
        }
        for (int i = 0; i < options_.restarts && !open_.empty(); ++i) {
            attempt(kept_);
            close_whole_components();
        }
        return result();
    }

private:
    /// Eliminates the open components, of whose edges the marked ones count, and adopts what becomes better by it.
    void attempt(std::span<const char> marked, std::span<const Vertex> first = {}) {
        const std::uint64_t seed = mix(options_.seed, ++attempts_);
        std::vector<Vertex> nodes = open_;
        for (std::size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[mix(seed, i) % i]);
        CappedEliminator eliminator(graph_, marked, open_, options_.k, seed, watch_);
        eliminator.run_in_order(first);
        BagTree tree(graph_, eliminator.run(nodes), options_.k);
        const auto dropped = tree.augment(watch_);
        adopt(tree.depths(), dropped);
    }

    /// Keeps, for every component, the result that drops the fewest edges so far.
    void adopt(const std::vector<Vertex>& depth, std::span<const BagTree::Edge> dropped) {
        std::vector<std::int64_t> count(components_.count(), 0);
        for (auto [u, v] : dropped) ++count[components_.label[u]];
        const auto better = [&](Vertex v) { return count[components_.label[v]] < dropped_[components_.label[v]]; };
        for (Vertex v : open_) {
            if (!better(v)) continue;
            depth_[v] = depth[v];
            std::fill(kept_.begin() + graph_.ptr[v], kept_.begin() + graph_.ptr[v + 1], 1);
        }
        for (auto [u, v] : dropped) {
            if (!better(u)) continue;
            kept_[entry(u, v)] = kept_[entry(v, u)] = 0;
        }
        for (std::int64_t c = 0; c < components_.count(); ++c) dropped_[c] = std::min(dropped_[c], count[c]);
    }

    std::int64_t entry(Vertex u, Vertex v) const {
        const auto row = graph_.neighbours(u);
        return graph_.ptr[u] + (std::lower_bound(row.begin(), row.end(), v) - row.begin());
    }

    void close_whole_components() {
        std::erase_if(open_, [&](Vertex v) { return dropped_[components_.label[v]] == 0; });
    }

    void keep_whole_what_fits() {
        close_whole_components();
        std::vector<char> narrow(components_.count(), 0);
        for (Vertex v : open_) narrow[components_.label[v]] = 1;
        rule_out_dense_cores(narrow);
        std::vector<Vertex> position(graph_.num_nodes(), -1);
        for (std::int64_t c = 0; c < components_.count(); ++c) {
            if (!narrow[c]) continue;
            watch_.check(1024);
            const auto members = components_.members(c);
            const Graph part = induced_subgraph(graph_, members, position);
            const auto td = decompose_within(part, options_.k, {}, watch_);
            if (!td) continue;
            const auto depth = depths_of(*td, part.view().num_nodes());
            for (std::size_t i = 0; i < members.size(); ++i) {
                const Vertex v = members[i];
                depth_[v] = depth[i];
                std::fill(kept_.begin() + graph_.ptr[v], kept_.begin() + graph_.ptr[v + 1], 1);
            }
            dropped_[c] = 0;
        }
        close_whole_components();
    }

    /// A component with a subgraph of minimum degree above k has a larger treewidth than k.
    void rule_out_dense_cores(std::vector<char>& narrow) const {
        std::vector<std::int64_t> degree(graph_.num_nodes(), 0);
        std::vector<Vertex> light;
        for (Vertex v : open_)
            if ((degree[v] = graph_.degree(v)) <= options_.k) light.push_back(v);
        for (std::size_t i = 0; i < light.size(); ++i)
            for (Vertex u : graph_.neighbours(light[i]))
                if (degree[u]-- == options_.k + 1) light.push_back(u);
        for (Vertex v : open_)
            if (degree[v] > options_.k) narrow[components_.label[v]] = 0;
    }

    /// Do the open components have more edges than k-trees on their vertices have? Then it pays to fill bags, as growth
    /// does, and not to spare them.
    bool has_more_edges_than_k_trees() const {
        std::int64_t entries = 0;
        for (Vertex v : open_) entries += graph_.degree(v);
        return entries >= 2 * options_.k * static_cast<std::int64_t>(open_.size());
    }

    void adopt_growth() {
        const BoundedSample sample = sample_bounded_treewidth(graph_, options_.k, options_.seed, watch_);
        std::vector<BagTree::Edge> dropped;
        for (Vertex v : open_)
            for (Vertex u : graph_.neighbours(v))
                if (u < v && !sample.subgraph.view().has_edge(v, u)) dropped.push_back({u, v});
        adopt(depths_of(sample.decomposition, graph_.num_nodes()), dropped);
    }

    /// Long graphs, such as grids, are cut into slabs of a few layers, as long as that can leave more edges than the
    /// best so far. Slabs are eliminated from both ends to the middle, and there from layer to layer.
    void adopt_slabs() {
        const Layering layers(graph_, components_, open_, false);
        for (int thickness = std::min(options_.k + 1, layers.count() / fewest_slabs); thickness > 1; --thickness) {
            const Layering::Cut cut = layers.best_cut(thickness);
            if (cut.edges >= std::accumulate(dropped_.begin(), dropped_.end(), std::int64_t{0})) return;
            const std::vector<char> marked = layers.without(cut);
            const Graph slabs = marked_subgraph(marked);
            const Layering along(slabs, connected_components(slabs), open_, true);
            std::vector<Vertex> order = open_;
            std::sort(order.begin(), order.end(), [&](Vertex a, Vertex b) {
                return std::tuple(along.layer(a), layers.layer(a), a) < std::tuple(along.layer(b), layers.layer(b), b);
            });
            attempt(marked, order);
        }
    }

    Graph marked_subgraph(std::span<const char> marked) const {
        Graph out;
        out.ptr.reserve(graph_.ptr.size());
        for (Vertex v = 0; v < graph_.num_nodes(); ++v) {
            for (std::int64_t e = graph_.ptr[v]; e < graph_.ptr[v + 1]; ++e)
                if (marked[e]) out.adj.push_back(graph_.adj[e]);
            out.ptr.push_back(static_cast<std::int64_t>(out.adj.size()));
        }
        return out;
    }

    BoundedSample result() const {
        BoundedSample out;
        out.subgraph = marked_subgraph(kept_);
        out.decomposition = decomposition_from_order(out.subgraph, order_by_depth(components_, depth_));
        return out;
    }

    GraphView graph_;
    BoundedSubgraphOptions options_;
    Watch& watch_;
    Components components_;
    std::vector<char> kept_;             // is it kept, of every entry of the rows
    std::vector<Vertex> depth_;          // of the highest bag of every vertex
    std::vector<std::int64_t> dropped_;  // how many edges of every component are not kept
    std::uint64_t attempts_ = 0;
    std::vector<Vertex> open_;  // the vertices of components that are not kept whole
};

}  // namespace

BoundedSample bounded_subgraph(GraphView graph, const BoundedSubgraphOptions& given, Watch watch) {
    if (given.k < 1)
        throw InputError("Expected a treewidth bound k of at least 1; got " + std::to_string(given.k) + ".");
    BoundedSubgraphOptions options = given;
    options.k = std::min<int>(given.k, std::max<Vertex>(1, graph.num_nodes()));
    return Search(graph, options, watch).run();
}

}  // namespace neuraltrees
