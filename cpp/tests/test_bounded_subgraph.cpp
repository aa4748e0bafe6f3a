#include <limits>

#include "check.hpp"
#include "decompositions.hpp"
#include "graphs.hpp"
#include "neuraltrees/bounded_subgraph.hpp"
#include "neuraltrees/decompose.hpp"
#include "neuraltrees/error.hpp"
#include "samples.hpp"

using namespace neuraltrees;

namespace {

BoundedSample bounded(const Graph& g, int k, std::uint64_t seed = 0, int restarts = 1) {
    return bounded_subgraph(g, {k, seed, restarts});
}

}  // namespace

TEST(bounded_subgraphs_of_small_graphs) {
    CHECK_EQ(bounded(Graph{}, 2).decomposition.view().num_bags(), 0);
    CHECK_EQ(bags_of(bounded(graph(2, {}), 3).decomposition), (Bags{{0}, {1}}));
    CHECK_EQ(bounded(cycle(12), 1).subgraph.view().num_edges(), 11);
    for (int k = 2; k < 7; ++k) CHECK_EQ(bounded(cycle(12), k).subgraph.view().num_edges(), 12);
    CHECK_EQ(bounded(complete(6), 3).subgraph.view().num_edges(), 12);  // 3 · 6 - 6
    CHECK_THROWS(bounded(path(3), 0), InputError, "at least 1; got 0");
}

TEST(bounded_subgraphs_keep_their_promises) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Rng rng(seed);
        const int n = 1 + rng.below(60), k = 1 + rng.below(6);
        const double density = 0.03 * rng.below(12);
        const Graph g = seed % 3 == 0 ? random_graph(n, density, seed) : random_connected(n, density, seed);
        const check::Note note(g), other("k", k, "seed", seed);
        const BoundedSample sample = bounded(g, k, seed, static_cast<int>(seed % 4));
        check_sample_facts(g, sample, k);
        // What greedy elimination decomposes within the bound is kept whole.
        if (decompose(g, {}).width() <= k) CHECK_EQ(edges_of(sample.subgraph), edges_of(g));
    }
}

TEST(bounds_beyond_the_graph_keep_it_whole) {
    const Graph g = random_connected(10, 0.5, 3);
    for (int k : {9, 10, 1000, std::numeric_limits<int>::max()})
        CHECK_EQ(edges_of(bounded(g, k).subgraph), edges_of(g));
}

TEST(more_restarts_keep_no_fewer_edges) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Graph g = random_connected(120, 0.05, seed);
        std::int64_t before = 0;
        for (int restarts : {0, 1, 2, 5}) {
            const std::int64_t kept = bounded(g, 4, seed, restarts).subgraph.view().num_edges();
            CHECK(kept >= before);
            before = kept;
        }
    }
}

TEST(hubs_and_long_graphs_are_bounded_quickly) {
    for (int k : {1, 2, 4}) {
        const Graph g = wheel(100'000);
        const BoundedSample sample = bounded(g, k);
        CHECK_EQ(first_violation(sample.subgraph, sample.decomposition), std::nullopt);
        CHECK(sample.decomposition.width() <= k);
        if (k >= 3) CHECK_EQ(sample.subgraph.view().num_edges(), g.view().num_edges());
    }
    // Two hubs that every other vertex joins to each other.
    Edges edges;
    for (int v = 2; v < 60'000; ++v) edges.insert(edges.end(), {{0, v}, {1, v}});
    const Graph twins = graph(60'000, edges);
    CHECK_EQ(bounded(twins, 2).subgraph.view().num_edges(), twins.view().num_edges());
}

TEST(work_on_a_bounded_subgraph_can_be_interrupted) {
    Caller caller([](int, int) { return false; }, std::chrono::milliseconds(0));
    Watch now(caller);
    bool stopped = false;
    try {
        bounded_subgraph(random_connected(2000, 0.003, 1), {3, 0, 1}, now);
    } catch (const Interrupted&) {
        stopped = true;
    }
    CHECK(stopped);
}
