#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/weighted.hpp"

using namespace neuraltrees;

namespace {

const WeightedGreedy by_size{1, 0, 0}, by_fill{0, 1, 0}, mixed{0.5, 1, 1};

bool is_permutation_of_nodes(std::vector<Vertex> order, Vertex n) {
    std::sort(order.begin(), order.end());
    for (Vertex v = 0; v < n; ++v)
        if (order[v] != v) return false;
    return static_cast<Vertex>(order.size()) == n;
}

}  // namespace

TEST(weighted_order_eliminates_the_smallest_bag_first) {
    // A cycle: any vertex makes a bag with its two neighbours; the light ones are neighbours of the heavy.
    const Graph cycle4 = graph(4, {{0, 1}, {1, 2}, {2, 3}, {0, 3}});
    CHECK_EQ(weighted_order(cycle4, std::vector{5.0, 1.0, 5.0, 1.0}, by_size, 0).front(), 0);
    CHECK_EQ(weighted_order(cycle4, std::vector{1.0, 5.0, 1.0, 5.0}, by_size, 0).front(), 1);
    CHECK_EQ(weighted_order(cycle4, std::vector{1.0, 5.0, 1.0, 5.0}, by_fill, 0).front(), 0);
}

TEST(weighted_order_takes_simplicial_vertices_first) {
    const Graph kite = graph(5, {{0, 1}, {1, 2}, {2, 3}, {0, 3}, {3, 4}});
    CHECK_EQ(weighted_order(kite, std::vector{1.0, 1.0, 1.0, 1.0, 60.0}, by_size, 0).front(), 4);
}

TEST(weighted_order_is_an_order_of_all_nodes_and_repeats_with_its_seed) {
    const Graph g = complete(6);
    const std::vector<double> states(6, 1.5);
    for (const WeightedGreedy& rule : {by_size, by_fill, mixed})
        for (std::uint64_t seed : {0, 1, 2}) {
            const auto order = weighted_order(g, states, rule, seed);
            CHECK(is_permutation_of_nodes(order, 6));
            CHECK_EQ(order, weighted_order(g, states, rule, seed));
        }
    CHECK(weighted_order(graph(0, {}), {}, mixed, 0).empty());
}

TEST(weighted_order_gives_up_on_a_bag_that_is_too_large) {
    const std::vector<double> states(4, 2.0);
    CHECK(weighted_order(complete(4), states, by_fill, 0, 7.9).empty());
    CHECK_EQ(weighted_order(complete(4), states, by_fill, 0, 8.0).size(), 4);
}

TEST(weighted_order_wants_the_states_of_every_node) {
    CHECK_THROWS(weighted_order(complete(3), std::vector<double>{1.0}, by_fill, 0), InputError,
                 "Expected the states of every node.");
}
