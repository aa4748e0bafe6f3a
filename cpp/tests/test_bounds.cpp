#include <chrono>

#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/bounds.hpp"
#include "oracles.hpp"

using namespace neuraltrees;

TEST(bounds_of_well_known_graphs) {
    CHECK_EQ(minor_min_degree(Graph{}), -1);
    CHECK_EQ(minor_min_degree(graph(4, {})), 0);
    CHECK_EQ(minor_min_degree(graph(4, {{1, 2}})), 1);
    CHECK_EQ(minor_min_degree(path(6)), 1);
    CHECK_EQ(minor_min_degree(cycle(6)), 2);
    CHECK_EQ(minor_min_degree(complete(7)), 6);
    CHECK_EQ(minor_min_degree(wheel(7)), 3);
    CHECK_EQ(minor_min_degree(complete_bipartite(3, 3)), 3);
    CHECK_EQ(minor_min_degree(petersen()), 4);  // more than its degeneracy, 3
    CHECK_EQ(minor_min_degree(cocktail_party(8)), 6);
    CHECK_EQ(minor_min_degree(grid(8, 8)), 4);  // 3 if it contracted into any neighbour
    CHECK_EQ(minor_min_degree(disjoint_union({path(4), complete(4), cycle(5)})), 3);
}

TEST(the_bound_lies_between_degeneracy_and_treewidth) {
    int above = 0;
    for (std::uint64_t seed = 0; seed < 250; ++seed) {
        const Graph g = random_graph(1 + static_cast<int>(seed % 11), 0.1 * static_cast<double>(seed % 11), seed);
        const check::Note note(g);
        const int bound = minor_min_degree(g), degeneracy = oracle::degeneracy(g);
        CHECK(degeneracy <= bound);
        CHECK(bound <= oracle::treewidth(g));
        above += bound > degeneracy;
    }
    CHECK(above > 20);
}

TEST(the_bound_never_exceeds_the_width_of_a_partial_k_tree) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const int k = 2 + static_cast<int>(seed % 6);
        const Graph g = partial_k_tree(120, k, 0.9, seed);
        const int bound = minor_min_degree(g);
        CHECK(oracle::degeneracy(g) <= bound && bound <= k);
    }
    CHECK_EQ(minor_min_degree(partial_k_tree(200, 5, 1.0, 3)), 5);
}

TEST(little_effort_gives_a_weaker_bound) {
    const Graph g = random_graph(200, 0.2, 1);
    const int full = minor_min_degree(g);
    CHECK_EQ(minor_min_degree(g, {}, 0), 0);
    int before = 0;
    for (std::int64_t effort : {1, 1'000, 10'000, 100'000, 1'000'000}) {
        const int bound = minor_min_degree(g, {}, effort);
        CHECK(before <= bound && bound <= full);
        before = bound;
    }
    CHECK(before > minor_min_degree(g, {}, 1));
}

TEST(a_hub_does_not_cost_quadratic_time) {
    const auto begin = std::chrono::steady_clock::now();
    CHECK(minor_min_degree(star(100'000)) <= 1);
    CHECK(minor_min_degree(wheel(100'000)) <= 3);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}
