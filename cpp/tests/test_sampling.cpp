#include <algorithm>
#include <limits>

#include "check.hpp"
#include "decompositions.hpp"
#include "graphs.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/sampling.hpp"
#include "oracles.hpp"
#include "samples.hpp"

using namespace neuraltrees;

namespace {

int common(GraphView g, Vertex v, const std::vector<Vertex>& bag) {
    return static_cast<int>(std::count_if(bag.begin(), bag.end(), [&](Vertex u) { return g.has_edge(u, v); }));
}

/// Replays the growth of the k-tree: every bag after the first of its tree puts a new node in the place of a member of
/// an earlier bag.
void check_growth(const Graph& g, const BoundedSample& sample, int k) {
    const Bags bags = bags_of(sample.decomposition);
    const Components components = connected_components(g);
    std::vector<int> parent(bags.size(), -1);
    for (auto [from, fresh] : sample.decomposition.edges) {
        CHECK(from < fresh && parent[fresh] < 0);
        parent[fresh] = from;
    }
    std::vector<char> joined(g.view().num_nodes(), 0);
    std::size_t first = 0;
    for (std::size_t b = 0; b < bags.size(); ++b) {
        if (parent[b] < 0) {
            first = b;
            const auto size = components.members(components.label[bags[b][0]]).size();
            CHECK_EQ(bags[b].size(), std::min<std::size_t>(size, k + 1));
            for (Vertex v : bags[b]) joined[v] = 1;
            continue;
        }
        const auto& old = bags[parent[b]];
        std::vector<Vertex> came, went;
        std::set_difference(bags[b].begin(), bags[b].end(), old.begin(), old.end(), std::back_inserter(came));
        std::set_difference(old.begin(), old.end(), bags[b].begin(), bags[b].end(), std::back_inserter(went));
        CHECK(came.size() == 1 && went.size() == 1 && !joined[came[0]]);
        // Nobody waiting in this component has more neighbours in any bag.
        int most = 0;
        for (Vertex u : components.members(components.label[came[0]]))
            for (std::size_t a = first; a < b && !joined[u]; ++a) most = std::max(most, common(g, u, bags[a]));
        CHECK_EQ(common(g, came[0], old), most);
        // Who leaves is a neighbour only if all members are.
        if (g.view().has_edge(came[0], went[0])) CHECK_EQ(most, k + 1);
        joined[came[0]] = 1;
    }
    for (char v : joined) CHECK(v);
}

}  // namespace

TEST(sampling_small_graphs) {
    const BoundedSample none = sample_bounded_treewidth(Graph{}, 2, 0);
    CHECK_EQ(none.subgraph.view().num_nodes(), 0);
    CHECK_EQ(none.decomposition.view().num_bags(), 0);
    CHECK_EQ(bags_of(sample_bounded_treewidth(graph(2, {}), 3, 0).decomposition), (Bags{{0}, {1}}));
    CHECK_EQ(bags_of(sample_bounded_treewidth(path(3), 2, 0).decomposition), (Bags{{0, 1, 2}}));
    const BoundedSample tree = sample_bounded_treewidth(path(3), 1, 0);
    CHECK_EQ(bags_of(tree.decomposition), (Bags{{0, 1}, {1, 2}}));
    CHECK_EQ(tree.decomposition.edges, (std::vector<std::array<Vertex, 2>>{{0, 1}}));
    CHECK_EQ(edges_of(tree.subgraph), (Edges{{0, 1}, {1, 2}}));
    CHECK_EQ(sample_bounded_treewidth(cycle(5), 1, 0).subgraph.view().num_edges(), 4);
    CHECK_EQ(sample_bounded_treewidth(cycle(4), 2, 0).subgraph.view().num_edges(), 4);
    CHECK_EQ(sample_bounded_treewidth(complete(6), 3, 0).subgraph.view().num_edges(), 12);  // 3 · 6 - 6
}

TEST(the_bound_must_be_positive) {
    CHECK_THROWS(sample_bounded_treewidth(path(3), 0, 0), InputError, "at least 1; got 0");
    CHECK_THROWS(sample_bounded_treewidth(path(3), -5, 0), InputError, "got -5");
}

TEST(a_bound_that_the_graph_meets_keeps_it_whole) {
    for (int k : {9, 10, 1000, std::numeric_limits<int>::max()}) {
        const Graph g = random_connected(10, 0.5, 3);
        const BoundedSample sample = sample_bounded_treewidth(g, k, 0);
        CHECK_EQ(edges_of(sample.subgraph), edges_of(g));
        CHECK_EQ(sample.decomposition.view().num_bags(), 1);
    }
}

TEST(samples_keep_their_promises) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Rng rng(seed);
        const int n = 1 + rng.below(40), k = 1 + rng.below(6);
        const double density = 0.03 * rng.below(12);
        const Graph g = seed % 3 == 0 ? random_graph(n, density, seed) : random_connected(n, density, seed);
        const check::Note note(g), other("k", k, "seed", seed);
        const BoundedSample sample = sample_bounded_treewidth(g, k, seed);
        check_sample_facts(g, sample, k);
        check_growth(g, sample, k);
    }
}

TEST(wide_bags_and_long_rows_are_sampled_by_lookup) {
    // Rows and bags of more than 16 take another way to their common members.
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const int k = 3 + 9 * static_cast<int>(seed % 5);
        const Graph g = seed % 3 == 0   ? random_connected(60, 0.5, seed)
                        : seed % 3 == 1 ? random_connected(70, 0.05, seed)
                                        : shuffled(wheel(60), seed);
        const check::Note note("k", k, "seed", seed);
        const BoundedSample sample = sample_bounded_treewidth(g, k, seed);
        check_sample_facts(g, sample, k);
        check_growth(g, sample, k);
    }
}

TEST(samples_are_repeatable_and_seeds_matter) {
    const Graph g = random_connected(60, 0.15, 2);
    int different = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const BoundedSample a = sample_bounded_treewidth(g, 3, seed), b = sample_bounded_treewidth(g, 3, seed);
        CHECK_EQ(a.subgraph.adj, b.subgraph.adj);
        CHECK_EQ(a.decomposition.bag_nodes, b.decomposition.bag_nodes);
        different += edges_of(a.subgraph) != edges_of(sample_bounded_treewidth(g, 3, seed + 1).subgraph);
    }
    CHECK_EQ(different, 6);
}

TEST(hub_graphs_are_sampled_quickly) {
    for (int k : {1, 4}) {
        const Graph g = wheel(100'000);
        const BoundedSample sample = sample_bounded_treewidth(g, k, 0);
        CHECK(sample.decomposition.width() <= k);
        CHECK_EQ(first_violation(sample.subgraph, sample.decomposition), std::nullopt);
        if (k == 1) CHECK_EQ(sample.subgraph.view().num_edges(), 99'999);
    }
}
