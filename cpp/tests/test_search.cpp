#include <algorithm>
#include <chrono>
#include <limits>

#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/decompose.hpp"
#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/greedy.hpp"
#include "neuraltrees/region_search.hpp"
#include "neuraltrees/search.hpp"
#include "oracles.hpp"

using namespace neuraltrees;

namespace {

struct Named {
    const char* name;
    Graph graph;
    int treewidth;
};

std::vector<Named> named_graphs() {
    return {{"one node", graph(1, {}), 0},
            {"path", path(9), 1},
            {"cycle", cycle(9), 2},
            {"K6", complete(6), 5},
            {"K33", complete_bipartite(3, 3), 3},
            {"cube", hypercube(3), 3},
            {"octahedron", cocktail_party(6), 4},
            {"Petersen", petersen(), 4},
            {"4x4 grid", grid(4, 4), 4},
            {"5x6 grid", grid(5, 6), 5},
            {"Heawood", heawood(), 5},
            {"Moebius-Kantor", lcf(16, {5, -5}), 5},
            {"Pappus", lcf(18, {5, 7, -7, 7, -7, -5}), 6},
            {"Desargues", lcf(20, {5, -5, 9, -9}), 6},
            {"McGee", mcgee(), 7}};
}

bool is_permutation(std::vector<Vertex> order, int n) {
    std::sort(order.begin(), order.end());
    for (int v = 0; v < n; ++v)
        if (v >= static_cast<int>(order.size()) || order[v] != v) return false;
    return static_cast<int>(order.size()) == n;
}

}  // namespace

TEST(treewidths_of_named_graphs) {
    for (const auto& [name, g, treewidth] : named_graphs())
        for (Goal goal : {Goal::proof, Goal::descent}) {
            const check::Note note(name, goal == Goal::proof ? "by proof" : "by descent");
            Clock clock(60);
            const SearchResult found = search(g, goal, 0, clock);
            CHECK_EQ(found.width, treewidth);
            CHECK_EQ(found.lower_bound, treewidth);
            CHECK(is_permutation(found.order, g.view().num_nodes()));
            CHECK_EQ(width_of_order(g, found.order), treewidth);
        }
}

TEST(the_search_agrees_with_dynamic_programming) {
    for (std::uint64_t seed = 0; seed < 700; ++seed) {
        const double density = 0.1 * static_cast<double>(seed / 7 % 10);
        const Graph g = random_connected(5 + static_cast<int>(seed % 7), density, mix(seed));
        const check::Note note(g);
        const int exact = oracle::treewidth(g);
        Clock clock(60);
        const SearchResult found = search(g, seed % 2 ? Goal::proof : Goal::descent, seed, clock);
        CHECK_EQ(found.width, exact);
        CHECK_EQ(found.lower_bound, exact);
        CHECK(is_permutation(found.order, g.view().num_nodes()));
        CHECK_EQ(width_of_order(g, found.order), exact);
    }
}

TEST(exact_decompositions_are_optimal_component_by_component) {
    const Graph g = disjoint_union({petersen(), path(3), graph(1, {}), hypercube(3), complete(4), petersen()});
    for (Method method : {Method::exact, Method::best}) {
        DecomposeOptions options;
        options.method = method;
        const TreeDecomposition td = decompose(g, options);
        CHECK_EQ(first_violation(g, td), std::nullopt);
        CHECK(is_normalised(g, td));
        CHECK_EQ(td.width(), 4);
        CHECK_EQ(td.lower_bound, 4);
    }
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const Graph r = random_graph(4 + static_cast<int>(seed % 8), 0.1 * static_cast<double>(1 + seed % 8), seed);
        const check::Note note(r);
        DecomposeOptions options;
        options.method = seed % 2 ? Method::exact : Method::best;
        options.seed = seed;
        const TreeDecomposition td = decompose(r, options);
        CHECK_EQ(first_violation(r, td), std::nullopt);
        CHECK(is_normalised(r, td));
        CHECK_EQ(td.width(), oracle::treewidth(r));
        CHECK_EQ(td.lower_bound, td.width());
    }
}

TEST(no_time_still_gives_a_valid_answer) {
    for (Method method : {Method::exact, Method::best})
        for (const Graph& g : {mcgee(), grid(9, 9), disjoint_union({mcgee(), grid(5, 6), mcgee()})}) {
            DecomposeOptions options;
            options.method = method;
            options.time_limit = 0;
            const TreeDecomposition td = decompose(g, options);
            CHECK_EQ(first_violation(g, td), std::nullopt);
            CHECK(td.lower_bound <= td.width());
        }
    Clock over(0);
    const SearchResult found = search(mcgee(), Goal::proof, 0, over);
    CHECK(is_permutation(found.order, 24));
    CHECK(found.lower_bound <= 7 && found.width >= 7 && found.width == width_of_order(mcgee(), found.order));
}

TEST(large_graphs_are_improved_region_by_region) {
    // 33 x 33 has more than 1024 nodes and no safe reduction beyond its corners; its treewidth is 33.
    const Graph g = grid(33, 33);
    Clock over(0);
    const SearchResult plain = search_regions(g, 2, 0, over);
    CHECK(is_permutation(plain.order, 1089));
    CHECK_EQ(plain.width, width_of_order(g, plain.order));
    int greedy = 1089;
    for (double power : {0.0, 0.5, 1.0, 1.5})
        greedy = std::min(greedy, width_of_order(g, greedy_order(g, Greedy::fill_per_degree(power), 0, 2)));
    Clock clock(1.5);
    const SearchResult found = search(g, Goal::descent, 0, clock);
    CHECK(is_permutation(found.order, 1089));
    CHECK_EQ(found.width, width_of_order(g, found.order));
    CHECK(found.width >= 33 && found.width < greedy);
    CHECK(found.lower_bound <= 33);
}

TEST(the_caller_hears_of_progress_and_can_stop_it) {
    // Random cubic-like graphs of 80 nodes are far from a proof within seconds.
    const Graph g = random_connected(80, 0.05, 3);
    for (Method method : {Method::exact, Method::best}) {
        DecomposeOptions options;
        options.method = method;
        options.time_limit = 60;
        int calls = 0, last_bound = -1, last_width = 1000;
        bool ordered = true;
        options.report = [&](int lower_bound, int width) {
            ordered &= last_bound <= lower_bound && width <= last_width && lower_bound <= width;
            last_bound = lower_bound;
            last_width = width;
            return ++calls < 4;
        };
        const auto begin = std::chrono::steady_clock::now();
        const TreeDecomposition td = decompose(g, options);
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
        CHECK(calls >= 4);
        CHECK(ordered);
        CHECK_EQ(first_violation(g, td), std::nullopt);
        CHECK(td.lower_bound >= last_bound && td.width() <= last_width);
    }
}

TEST(a_clock_runs_out_and_hands_on_the_wish_to_stop) {
    Clock over(0), long_one(1000);
    CHECK(over.stop());
    CHECK(!long_one.stop());
    CHECK(over.left() <= 0 && long_one.left() > 900);
    CHECK(!Clock(1e10).stop() && !Clock(std::numeric_limits<double>::infinity()).stop());
    CHECK(long_one.part(5000).left() <= 1000);
    CHECK(long_one.part(5).left() <= 5);
    bool go_on = true;
    const Report report = [&](int, int) { return go_on; };
    Clock listening(1000, &report);
    CHECK(!listening.stop());
    go_on = false;
    Clock part(1000, &report);
    CHECK(part.stop());
    listening.rejoin(part);
    CHECK(listening.stop());
    const Report nobody;
    Clock deaf(1000, &nobody);
    CHECK(!deaf.stop());
}
