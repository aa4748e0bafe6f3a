#include <algorithm>

#include "check.hpp"
#include "decompositions.hpp"
#include "graphs.hpp"
#include "neuraltrees/decompose.hpp"
#include "neuraltrees/triangulation.hpp"
#include "oracles.hpp"

using namespace neuraltrees;

namespace {

std::vector<Vertex> order_of(GraphView g) {
    return minimal_triangulation_order(g.num_nodes(), [&](Vertex v) { return g.neighbours(v); });
}

std::int64_t edges_in(const oracle::Matrix& adj) {
    std::int64_t twice = 0;
    for (const auto& row : adj) twice += std::count(row.begin(), row.end(), 1);
    return twice / 2;
}

}  // namespace

TEST(a_cycle_gets_a_fan_or_a_zigzag) {
    for (int n = 3; n < 12; ++n) {
        auto filled = oracle::matrix(cycle(n));
        CHECK_EQ(oracle::fill_in(filled, order_of(cycle(n))), 2);
        CHECK_EQ(edges_in(filled), 2 * n - 3);
    }
}

TEST(a_chordal_graph_gets_no_fill) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const Graph g = partial_k_tree(4 + static_cast<int>(seed % 20), 1 + static_cast<int>(seed % 4), 1.0, seed);
        auto filled = oracle::matrix(g);
        CHECK(oracle::chordal(filled));
        oracle::fill_in(filled, order_of(g));
        CHECK_EQ(edges_in(filled), g.view().num_edges());
    }
}

TEST(every_fill_edge_is_needed) {
    for (std::uint64_t seed = 0; seed < 220; ++seed) {
        const int n = 1 + static_cast<int>(seed % 13);
        const Graph g = random_graph(n, 0.07 * static_cast<double>(seed % 14), seed);
        const check::Note note(g);
        const auto order = order_of(g);
        std::vector<Vertex> sorted = order;
        std::sort(sorted.begin(), sorted.end());
        for (int v = 0; v < n; ++v) CHECK_EQ(sorted[v], v);
        auto filled = oracle::matrix(g);
        oracle::fill_in(filled, order);
        CHECK(oracle::chordal(filled));
        // A triangulation is minimal if no single fill edge can be left out (Rose, Tarjan and Lueker 1976).
        for (int u = 0; u < n; ++u)
            for (int v = u + 1; v < n; ++v)
                if (filled[u][v] && !g.view().has_edge(u, v)) {
                    filled[u][v] = filled[v][u] = 0;
                    CHECK(!oracle::chordal(filled));
                    filled[u][v] = filled[v][u] = 1;
                }
    }
}

TEST(a_greedy_order_is_not_always_minimal) {
    // So that the test above can tell the difference: a bad order on a path has fill that nobody needs.
    auto filled = oracle::matrix(path(4));
    oracle::fill_in(filled, {1, 2, 0, 3});
    filled[0][2] = filled[2][0] = 0;
    filled[0][3] = filled[3][0] = 0;
    CHECK(oracle::chordal(filled));
}

TEST(a_junction_tree_holds_the_cliques_of_that_triangulation) {
    DecomposeOptions options;
    options.method = Method::junction_tree;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const int n = seed % 4 == 3 ? 66 + static_cast<int>(seed) : 5 + static_cast<int>(seed % 20);
        const Graph g = random_connected(n, 0.5 / static_cast<double>(1 + seed % 5) / n * 10, seed);
        auto filled = oracle::matrix(g);
        oracle::fill_in(filled, order_of(g));
        const TreeDecomposition td = decompose(g, options);
        CHECK_EQ(first_violation(g, td), std::nullopt);
        Bags bags = bags_of(td);
        std::sort(bags.begin(), bags.end());
        CHECK_EQ(bags, oracle::maximal_cliques_of_chordal(filled));
    }
}
