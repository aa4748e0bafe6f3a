#include "connected.hpp"

#include <bit>

#include "neuraltrees/bounds.hpp"
#include "neuraltrees/triangulation.hpp"

namespace neuraltrees {
namespace {

constexpr std::int64_t effort = 32;  // of greedy elimination, per vertex, edge and member of a bag

/// The narrowest of the greedy runs. Only the first may take shortcuts, and the others are pointless if it did.
Elimination narrowest_greedy(GraphView graph, const DecomposeOptions& options, int bound, Watch watch) {
    const Attempt first = attempt(options, 0);
    Elimination best =
        eliminate_greedily(graph, first.rule, first.seed, bound, watch, {graph.num_nodes(), effort, true});
    if (best.shortcut != Shortcut::none) return best;
    for (int run = 1; run < options.restarts && best.width > bound && !watch.late(); ++run) {
        const Attempt next = attempt(options, run);
        Elimination found =
            eliminate_greedily(graph, next.rule, next.seed, bound, watch, {best.width - 1, effort, false});
        if (!found.order.empty()) best = std::move(found);
    }
    return best;
}

}  // namespace

Attempt attempt(const DecomposeOptions& options, int run) {
    const std::uint64_t seed = run == 0 ? options.seed : mix(options.seed, static_cast<std::uint64_t>(run / 2));
    if (options.method == Method::min_degree || options.method == Method::junction_tree)
        return {Greedy::min_degree(), run == 0 ? seed : mix(options.seed, run)};
    if (run == 1) return {Greedy::fill_per_degree(), options.seed};
    return {run % 2 == 1 ? Greedy::fill_per_degree() : Greedy::min_fill(), seed};
}

TreeDecomposition decompose_large(GraphView graph, const DecomposeOptions& options, Watch watch) {
    const int bound = minor_min_degree(graph, watch.part(0.1 * watch.left()));
    watch.at_least(bound);
    TreeDecomposition out;
    std::vector<Vertex> order;
    const double size = static_cast<double>(graph.num_nodes()) + static_cast<double>(graph.adj.size());
    if (options.method == Method::junction_tree && watch.left() > 5e-7 * size)
        order = minimal_triangulation_order(
            graph.num_nodes(), [&](Vertex v) { return graph.neighbours(v); }, watch.part(0.6 * watch.left()));
    if (!order.empty()) {
        out = decomposition_from_order(graph, order, watch);
    } else {
        out = decomposition_from(graph, narrowest_greedy(graph, options, bound, watch), watch);
        if (options.method == Method::junction_tree) out.shortcut = std::max(out.shortcut, Shortcut::min_degree);
    }
    watch.at_most(out.width());
    out.lower_bound = bound;
    return out;
}

SmallDecomposition decompose_small(const SmallGraph& graph, const DecomposeOptions& options) {
    int bound = -1;
    SmallDecomposition best;
    if (options.method == Method::junction_tree) {
        std::vector<std::vector<Vertex>> rows(graph.n);
        for (int v = 0; v < graph.n; ++v)
            for (std::uint64_t m = graph.row[v]; m != 0; m &= m - 1) rows[v].push_back(std::countr_zero(m));
        const auto order =
            minimal_triangulation_order(graph.n, [&](Vertex v) -> const std::vector<Vertex>& { return rows[v]; });
        best = clique_tree(graph.n, small_eliminate(graph, order));
        bound = minor_min_degree(graph);
    } else {
        int width = graph.n;
        for (int run = 0; run < options.restarts && width > bound; ++run) {
            const Attempt next = attempt(options, run);
            const SmallElimination found = small_greedy(graph, next.rule, next.seed, bound);
            int reached = 0;
            for (int v = 0; v < graph.n; ++v) reached = std::max(reached, std::popcount(found.higher[v]));
            if (reached >= width) continue;
            width = reached;
            best = clique_tree(graph.n, found);
        }
    }
    best.lower_bound = bound;
    return best;
}

}  // namespace neuraltrees
