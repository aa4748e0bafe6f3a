#include <set>

#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/bag_plan.hpp"
#include "neuraltrees/error.hpp"

using namespace neuraltrees;

namespace {

constexpr std::int64_t plenty = 1'000'000;

}  // namespace

TEST(a_plan_counts_nodes_and_entries) {
    const auto planner = BagPlanner::borrow({}, plenty, {});
    const BagPlan* one = planner->plan(small(graph(1, {})));
    CHECK_EQ(one->nodes, 2);
    CHECK_EQ(one->entries, 2);
    const BagPlan* triangle = planner->plan(small(complete(3)));
    CHECK_EQ(triangle->nodes, 4);
    CHECK_EQ(triangle->entries, 6);
    CHECK(triangle->children.empty());
    const BagPlan* row = planner->plan(small(path(3)));
    CHECK_EQ(row->children.size(), 2);
    CHECK_EQ(row->children[0].members, (std::vector{1, 2}));
    CHECK_EQ(row->children[1].members, (std::vector{0, 1}));
    CHECK_EQ(row->children[0].plan, row->children[1].plan);
    CHECK_EQ(row->nodes, 7);
    CHECK_EQ(row->entries, 3 + 2 * 4);
    CHECK_EQ(planner->plan(path(3)), row);
}

TEST(equal_graphs_share_a_plan_and_others_never_do) {
    const auto planner = BagPlanner::borrow({}, plenty, {});
    std::set<const BagPlan*> plans;
    std::size_t graphs = 0;
    auto add = [&](const Graph& g) {
        const BagPlan* plan = planner->plan(small(g));
        CHECK_EQ(planner->plan(small(g)), plan);
        const check::Note note(g);
        CHECK(plans.insert(plan).second);
        ++graphs;
    };
    for (int n = 1; n <= 5; ++n)
        for (int code = 0; code < 1 << n * (n - 1) / 2; ++code) {
            Edges edges;
            int bit = 0;
            for (int u = 0; u < n; ++u)
                for (int v = u + 1; v < n; ++v)
                    if (code >> bit++ & 1) edges.push_back({u, v});
            add(graph(n, edges));
        }
    CHECK_EQ(graphs, 1 + 2 + 8 + 64 + 1024);
    // Up to 16 vertices every edge has its own place in the key.
    for (int n : {11, 12, 13, 16})
        for (int u = 0; u < n; ++u)
            for (int v = u + 1; v < n; ++v) add(graph(n, {{u, v}}));
    for (int n = 6; n <= 20; ++n) add(complete(n));
    for (int n : {17, 33, 64})
        for (int v = 1; v < n; ++v) add(graph(n, {{0, v}, {v, (v + 1) % n}}));
}

TEST(a_planner_is_kept_for_the_next_tree_of_its_options) {
    DecomposeOptions options;
    options.seed = 987'654;  // of no other test
    auto planner = BagPlanner::borrow(options, plenty, {});
    const BagPlan* plan = planner->plan(small(cycle(5)));
    const BagPlanner* address = planner.get();
    BagPlanner::give_back(std::move(planner));
    DecomposeOptions other = options;
    other.restarts = 1;
    CHECK(BagPlanner::borrow(other, plenty, {}).get() != address);
    planner = BagPlanner::borrow(options, plenty, {});
    CHECK_EQ(planner.get(), address);
    CHECK_EQ(planner->plan(small(cycle(5))), plan);
}

TEST(a_plan_of_too_many_nodes_is_refused) {
    const auto planner = BagPlanner::borrow({}, 1000, {});
    CHECK_THROWS(planner->plan(small(cocktail_party(40))), TreeTooLargeError, "exceeds 1000 nodes");
    CHECK_THROWS(planner->plan(cocktail_party(100)), TreeTooLargeError, "exceeds 1000 nodes");
}
