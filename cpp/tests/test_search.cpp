#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/decompose.hpp"
#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/greedy.hpp"
#include "neuraltrees/order_search.hpp"
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
            Watch clock(60);
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
        Watch clock(60);
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

TEST(annealed_orders_are_as_wide_as_they_say) {
    for (const Graph& g : {grid(5, 5), petersen(), mcgee(), random_connected(40, 0.1, 2)}) {
        const int n = g.view().num_nodes();
        OrderSearch<1> orders(g, 7);
        CHECK(!orders.started());
        std::vector<Vertex> backwards(n);
        for (int v = 0; v < n; ++v) backwards[v] = n - 1 - v;
        orders.start(backwards);
        CHECK_EQ(orders.width(), width_of_order(g, backwards));
        CHECK(!orders.reach(0, Watch(0.02)));
        CHECK(is_permutation(orders.order(), n));
        CHECK_EQ(orders.width(), width_of_order(g, orders.order()));
    }
    const Graph g = petersen();
    OrderSearch<1> orders(g, 1);
    orders.start({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    CHECK(orders.reach(4, Watch(60)));
    CHECK_EQ(orders.width(), 4);
}

TEST(large_graphs_are_improved_region_by_region) {
    // 33 x 33 has more than 1024 nodes and no safe reduction beyond its corners; its treewidth is 33.
    const Graph g = grid(33, 33);
    CHECK(search_regions(g, 2, 0, Watch(0)).order.empty());
    int greedy = 1089;
    for (double power : {0.0, 0.5, 1.0, 1.5})
        greedy = std::min(greedy, width_of_order(g, greedy_order(g, Greedy::fill_per_degree(power), 0, 2)));
    Watch clock(1.5);
    const SearchResult found = search(g, Goal::descent, 0, clock);
    CHECK(is_permutation(found.order, 1089));
    CHECK_EQ(found.width, width_of_order(g, found.order));
    CHECK(found.width >= 33 && found.width < greedy);
    CHECK(found.lower_bound <= 33);
}

TEST(the_caller_hears_of_progress_and_can_stop_it) {
    // Random cubic-like graphs of 80 nodes are far from a proof within seconds; the other components are of no account.
    const Graph g = disjoint_union({random_connected(80, 0.05, 3), grid(4, 4), random_connected(70, 0.05, 5)});
    for (Method method : {Method::min_fill, Method::exact, Method::best}) {
        DecomposeOptions options;
        options.method = method;
        int last_bound = -1, last_width = 1000, calls = 0;
        bool ordered = true;
        Caller caller(
            [&](int lower_bound, int width) {
                if (width < 0) return true;
                ordered &= last_bound <= lower_bound && width <= last_width && lower_bound <= width;
                last_bound = lower_bound;
                last_width = width;
                return ++calls < 1000;
            },
            std::chrono::milliseconds(0));
        if (method != Method::min_fill) {
            const auto begin = std::chrono::steady_clock::now();
            CHECK_THROWS(decompose(g, options, Watch(caller, 60)), Interrupted, "");
            CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
            CHECK_EQ(calls, 1000);
        } else {
            const TreeDecomposition td = decompose(g, options, Watch(caller));
            CHECK(td.lower_bound >= last_bound && td.width() <= last_width);
        }
        CHECK(ordered);
    }
}

TEST(a_watch_runs_out_and_asks_its_caller) {
    Watch over(0), long_one(1000), endless;
    CHECK(over.late());
    CHECK(!long_one.late() && !endless.late());
    CHECK(over.left() <= 0 && long_one.left() > 900 && std::isinf(endless.left()));
    CHECK(!endless.limited() && endless.part(5).limited());
    CHECK(!Watch(1e10).late() && !Watch(std::numeric_limits<double>::infinity()).late());
    CHECK(long_one.part(5000).left() <= 1000);
    CHECK(long_one.part(5).left() <= 5);
    // It looks at the clock after enough steps of work, not before.
    Watch lazy(0);
    CHECK(!lazy.late(10));
    bool late = false;
    for (int i = 0; i < 100'000 && !late; ++i) late = lazy.late(10);
    CHECK(late);
    int asked = 0;
    Caller caller([&](int, int) { return ++asked < 3; }, std::chrono::milliseconds(0));
    Watch watch(caller, 1000);
    CHECK(!watch.late());
    CHECK(!watch.part(5).late());
    CHECK_THROWS(watch.late(), Interrupted, "");
    CHECK_THROWS(watch.part(5).late(), Interrupted, "");
    CHECK_EQ(asked, 3);
}
