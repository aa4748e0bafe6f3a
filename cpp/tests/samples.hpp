#pragma once

#include <algorithm>

#include "check.hpp"
#include "decompositions.hpp"
#include "graphs.hpp"
#include "neuraltrees/sampling.hpp"

namespace neuraltrees {

/// What every subgraph of bounded treewidth obeys, however it was chosen.
inline void check_sample_facts(const Graph& g, const BoundedSample& sample, int k) {
    const Components before = connected_components(g), after = connected_components(sample.subgraph);
    CHECK_EQ(first_violation(sample.subgraph, sample.decomposition), std::nullopt);
    CHECK(is_normalised(sample.subgraph, sample.decomposition));
    CHECK(sample.decomposition.width() <= k);
    CHECK_EQ(after.label, before.label);
    // It keeps the edges of the graph that lie inside a bag, and no others.
    const Bags bags = bags_of(sample.decomposition);
    std::vector<std::vector<std::size_t>> of(g.view().num_nodes());
    for (std::size_t b = 0; b < bags.size(); ++b)
        for (Vertex v : bags[b]) of[v].push_back(b);
    Edges inside;
    for (auto [u, v] : edges_of(g)) {
        const bool meet = std::any_of(of[u].begin(), of[u].end(), [&, v = v](std::size_t b) {
            return std::binary_search(bags[b].begin(), bags[b].end(), v);
        });
        if (meet) inside.push_back({u, v});
    }
    CHECK_EQ(edges_of(sample.subgraph), inside);
    std::int64_t most = 0;
    for (std::int64_t c = 0; c < before.count(); ++c) {
        const auto n = static_cast<std::int64_t>(before.members(c).size());
        most += n <= k ? n * (n - 1) / 2 : k * n - static_cast<std::int64_t>(k) * (k + 1) / 2;
    }
    CHECK(sample.subgraph.view().num_edges() <= most);
    if (k == 1) CHECK_EQ(sample.subgraph.view().num_edges(), g.view().num_nodes() - before.count());
}

}  // namespace neuraltrees
