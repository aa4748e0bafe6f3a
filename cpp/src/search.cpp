#include "neuraltrees/search.hpp"

#include <numeric>

#include "neuraltrees/bounds.hpp"
#include "neuraltrees/core_search.hpp"
#include "neuraltrees/region_search.hpp"

namespace neuraltrees {

SearchResult search_core(GraphView graph, int lower_bound, Goal goal, std::uint64_t seed, Watch watch) {
    const Vertex n = graph.num_nodes();
    if (n <= 64) return CoreSearch<1>(graph, lower_bound, seed, watch).run(goal);
    if (n <= 128) return CoreSearch<2>(graph, lower_bound, seed, watch).run(goal);
    if (n <= 256) return CoreSearch<4>(graph, lower_bound, seed, watch).run(goal);
    if (n <= 512) return CoreSearch<8>(graph, lower_bound, seed, watch).run(goal);
    return CoreSearch<16>(graph, lower_bound, seed, watch).run(goal);
}

SearchResult search(GraphView graph, Goal goal, std::uint64_t seed, Watch watch) {
    Reduction reduction = reduce_safely(graph, minor_min_degree(graph, watch), watch);
    SearchResult out{std::move(reduction.eliminated), reduction.lower_bound, reduction.lower_bound};
    watch.at_least(out.lower_bound);

    const Components parts = connected_components(reduction.core, watch);
    std::vector<std::int64_t> by_size(parts.count());
    std::iota(by_size.begin(), by_size.end(), 0);
    std::stable_sort(by_size.begin(), by_size.end(),
                     [&](auto a, auto b) { return parts.members(a).size() > parts.members(b).size(); });
    std::vector<Vertex> position(reduction.core_nodes.size(), -1);
    std::int64_t open = static_cast<std::int64_t>(reduction.core_nodes.size());
    for (std::size_t i = 0; i < by_size.size(); ++i) {
        const auto members = parts.members(by_size[i]);
        const Graph part = induced_subgraph(reduction.core, members, position, watch);
        open -= static_cast<std::int64_t>(members.size());
        const Watch share = watch.part(watch.left() / static_cast<double>(by_size.size() - i)).inside(out.width, open);
        const SearchResult found = part.view().num_nodes() <= max_core
                                       ? search_core(part, out.lower_bound, goal, seed, share)
                                       : search_regions(part, out.lower_bound, seed, share);
        if (found.order.empty()) return {{}, graph.num_nodes(), out.lower_bound};
        for (Vertex v : found.order) out.order.push_back(reduction.core_nodes[members[v]]);
        out.width = std::max(out.width, found.width);
        out.lower_bound = std::max(out.lower_bound, found.lower_bound);
        watch.at_least(out.lower_bound);
    }
    return out;
}

}  // namespace neuraltrees
