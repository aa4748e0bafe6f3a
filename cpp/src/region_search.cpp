#include "neuraltrees/region_search.hpp"

#include <algorithm>
#include <utility>

#include "neuraltrees/bits.hpp"
#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/greedy.hpp"

namespace neuraltrees {
namespace {

class RegionSearch {
public:
    RegionSearch(GraphView graph, int lower_bound, std::uint64_t seed, Watch watch)
        : graph_(graph), seed_(seed), watch_(watch), position_(graph.num_nodes(), -1) {
        best_.lower_bound = lower_bound;
        best_.width = graph.num_nodes();
    }

    SearchResult run() {
        constexpr Greedy rules[] = {Greedy::min_fill(), Greedy::fill_per_degree(), Greedy::fill_per_degree(0.5),
                                    Greedy::fill_per_degree(1.5)};
        Watch greedy = watch_.part(0.5 * watch_.left());
        for (const Greedy& rule : rules) {
            auto order = greedy_order(graph_, rule, seed_, best_.lower_bound, greedy, best_.width);
            if (!order.empty()) consider(std::move(order));
            if (greedy.late()) break;
        }
        for (std::uint64_t round = 0; !best_.order.empty() && best_.width > best_.lower_bound && !watch_.late();
             ++round)
            if (!improve(mix(seed_, round))) break;
        return std::move(best_);
    }

private:
    using Rank = std::pair<std::int64_t, std::int64_t>;  // the widest bag's size, how many there are

    bool consider(std::vector<Vertex> order) {
        TreeDecomposition td = decomposition_from_order(graph_, order, watch_);
        Rank rank{0, 0};
        for (std::int64_t b = 0; b < td.view().num_bags(); ++b) {
            const auto size = static_cast<std::int64_t>(td.view().bag(b).size());
            if (size > rank.first) rank = {size, 0};
            rank.second += size == rank.first;
        }
        if (!best_.order.empty() && rank > rank_) return false;
        rank_ = rank;
        td_ = std::move(td);
        best_.order = std::move(order);
        best_.width = static_cast<int>(rank.first) - 1;
        watch_.at_most(best_.width);
        return true;
    }

    /// False if no region around a widest bag is small enough to work on.
    bool improve(std::uint64_t draw) {
        const auto view = td_.view();
        std::vector<std::vector<Vertex>> tree(view.num_bags());
        for (auto [a, b] : view.edges) {
            tree[a].push_back(b);
            tree[b].push_back(a);
        }
        std::vector<Vertex> widest;
        for (Vertex b = 0; b < view.num_bags(); ++b)
            if (static_cast<std::int64_t>(view.bag(b).size()) == rank_.first) widest.push_back(b);
        const Vertex start = widest[draw % widest.size()];
        const auto limit = static_cast<std::int64_t>(std::min<std::uint64_t>(
            max_core, static_cast<std::uint64_t>(rank_.first) + 32 + mix(draw) % (2 * rank_.first + 128)));
        if (rank_.first > limit) return false;

        std::vector<char> in_region(view.num_bags(), 0), in_union(graph_.num_nodes(), 0);
        std::vector<Vertex> open{start}, region, nodes;
        for (std::uint64_t step = 0; !open.empty(); ++step) {
            const std::size_t pick = mix(draw, step) % open.size();
            const Vertex bag = std::exchange(open[pick], open.back());
            open.pop_back();
            std::int64_t fresh = 0;
            for (Vertex v : view.bag(bag)) fresh += !in_union[v];
            if (static_cast<std::int64_t>(nodes.size()) + fresh > limit) continue;
            in_region[bag] = 1;
            region.push_back(bag);
            for (Vertex v : view.bag(bag))
                if (!std::exchange(in_union[v], 1)) nodes.push_back(v);
            for (Vertex next : tree[bag])
                if (!in_region[next]) open.push_back(next);
        }
        std::sort(nodes.begin(), nodes.end());

        const Watch share = watch_.part(0.02 + 0.0005 * static_cast<double>(nodes.size())).inside(best_.width, 0);
        const Graph local = local_graph(tree, in_region, region, nodes);
        const SearchResult found = search_core(local, best_.lower_bound, Goal::descent, draw, share);
        if (found.order.empty() || found.width >= rank_.first) return true;

        std::vector<Vertex> order = outside_order(tree, start, in_union);
        for (Vertex v : found.order) order.push_back(nodes[v]);
        consider(std::move(order));
        return true;
    }

    /// G[nodes] with the intersection of every region bag and outside neighbour made complete.
    Graph local_graph(const std::vector<std::vector<Vertex>>& tree, const std::vector<char>& in_region,
                      const std::vector<Vertex>& region, const std::vector<Vertex>& nodes) {
        for (std::size_t i = 0; i < nodes.size(); ++i) position_[nodes[i]] = static_cast<Vertex>(i);
        std::vector<std::int64_t> source, target;
        for (Vertex v : nodes)
            for (Vertex u : graph_.neighbours(v))
                if (position_[u] > position_[v]) {
                    source.push_back(position_[v]);
                    target.push_back(position_[u]);
                }
        std::vector<Vertex> border;
        for (Vertex bag : region)
            for (Vertex next : tree[bag]) {
                if (in_region[next]) continue;
                const auto a = td_.view().bag(bag), b = td_.view().bag(next);
                border.clear();
                std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(border));
                for (std::size_t i = 0; i < border.size(); ++i)
                    for (std::size_t j = i + 1; j < border.size(); ++j) {
                        source.push_back(position_[border[i]]);
                        target.push_back(position_[border[j]]);
                    }
            }
        for (Vertex v : nodes) position_[v] = -1;
        return graph_from_edges(source, target, static_cast<std::int64_t>(nodes.size()));
    }

    /// The vertices outside the region, farthest bags first: each then leaves from the bag nearest to the region.
    std::vector<Vertex> outside_order(const std::vector<std::vector<Vertex>>& tree, Vertex start,
                                      const std::vector<char>& in_union) {
        std::vector<char> seen(tree.size(), 0), placed(in_union);
        std::vector<Vertex> bags{start}, order;
        seen[start] = 1;
        for (std::size_t head = 0; head < bags.size(); ++head) {
            for (Vertex v : td_.view().bag(bags[head]))
                if (!std::exchange(placed[v], 1)) order.push_back(v);
            for (Vertex next : tree[bags[head]])
                if (!std::exchange(seen[next], 1)) bags.push_back(next);
        }
        std::reverse(order.begin(), order.end());
        return order;
    }

    GraphView graph_;
    std::uint64_t seed_;
    Watch watch_;
    SearchResult best_;
    Rank rank_;
    TreeDecomposition td_;
    std::vector<Vertex> position_;
};

}  // namespace

SearchResult search_regions(GraphView graph, int lower_bound, std::uint64_t seed, Watch watch) {
    return RegionSearch(graph, lower_bound, seed, watch).run();
}

}  // namespace neuraltrees
