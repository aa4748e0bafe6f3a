#include "neuraltrees/search.hpp"

#include <numeric>

#include "neuraltrees/bounds.hpp"
#include "neuraltrees/core_search.hpp"
#include "neuraltrees/region_search.hpp"

namespace neuraltrees {

SearchResult search_core(GraphView graph, int lower_bound, Goal goal, std::uint64_t seed, Clock& clock) {
    const Vertex n = graph.num_nodes();
    if (n <= 64) return CoreSearch<1>(graph, lower_bound, seed, clock).run(goal);
    if (n <= 128) return CoreSearch<2>(graph, lower_bound, seed, clock).run(goal);
    if (n <= 256) return CoreSearch<4>(graph, lower_bound, seed, clock).run(goal);
    if (n <= 512) return CoreSearch<8>(graph, lower_bound, seed, clock).run(goal);
    return CoreSearch<16>(graph, lower_bound, seed, clock).run(goal);
}

SearchResult search(GraphView graph, Goal goal, std::uint64_t seed, Clock& clock) {
    Reduction reduction = reduce_safely(graph, minor_min_degree(graph));
    SearchResult out{std::move(reduction.eliminated), 0, reduction.lower_bound};
    out.width = reduction.lower_bound;
    clock.lower_bound = std::max(clock.lower_bound, out.lower_bound);

    const Components parts = connected_components(reduction.core);
    std::vector<std::int64_t> by_size(parts.count());
    std::iota(by_size.begin(), by_size.end(), 0);
    std::stable_sort(by_size.begin(), by_size.end(),
                     [&](auto a, auto b) { return parts.members(a).size() > parts.members(b).size(); });
    std::vector<Vertex> position(reduction.core_nodes.size(), -1);
    for (std::size_t i = 0; i < by_size.size(); ++i) {
        const auto members = parts.members(by_size[i]);
        const Graph part = induced_subgraph(reduction.core, members, position);
        Clock share = clock.part(clock.left() / static_cast<double>(by_size.size() - i));
        const SearchResult found = part.view().num_nodes() <= max_core
                                       ? search_core(part, out.lower_bound, goal, seed, share)
                                       : search_regions(part, out.lower_bound, seed, share);
        clock.rejoin(share);
        for (Vertex v : found.order) out.order.push_back(reduction.core_nodes[members[v]]);
        out.width = std::max(out.width, found.width);
        out.lower_bound = std::max(out.lower_bound, found.lower_bound);
        clock.lower_bound = std::max(clock.lower_bound, out.lower_bound);
    }
    return out;
}

}  // namespace neuraltrees
