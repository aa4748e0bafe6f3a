#include <algorithm>
#include <bit>

#include "check.hpp"
#include "decompositions.hpp"
#include "graphs.hpp"
#include "neuraltrees/decompose.hpp"
#include "neuraltrees/small.hpp"
#include "oracles.hpp"

using namespace neuraltrees;

namespace {

std::vector<Vertex> members(std::uint64_t mask) {
    std::vector<Vertex> out;
    for (; mask != 0; mask &= mask - 1) out.push_back(std::countr_zero(mask));
    return out;
}

TreeDecomposition plain(const SmallDecomposition& small) {
    TreeDecomposition td;
    for (int b = 0; b < small.count; ++b) {
        td.add_bag(members(small.bag[b]));
        if (small.parent[b] >= 0) td.edges.push_back({small.parent[b], b});
    }
    return td;
}

std::vector<Vertex> order_of(const SmallElimination& elimination, int n) {
    return {elimination.order.begin(), elimination.order.begin() + n};
}

}  // namespace

TEST(a_small_graph_knows_its_nodes) {
    CHECK_EQ(small(path(3)).all(), 7);
    CHECK_EQ(small(graph(64, {})).all(), ~std::uint64_t{0});
    CHECK_EQ(small(graph(0, {})).all(), 0);
}

TEST(eliminating_a_cycle_by_hand) {
    const SmallElimination e = small_eliminate(small(cycle(4)), std::vector<Vertex>{0, 1, 2, 3});
    CHECK_EQ(members(e.higher[0]), (std::vector{1, 3}));
    CHECK_EQ(members(e.higher[1]), (std::vector{2, 3}));
    CHECK_EQ(members(e.higher[2]), (std::vector{3}));
    CHECK_EQ(members(e.higher[3]), std::vector<Vertex>{});
    const TreeDecomposition td = plain(clique_tree(4, e));
    CHECK_EQ(bags_of(td), (Bags{{1, 2, 3}, {0, 1, 3}}));
    CHECK_EQ(td.edges, (std::vector<std::array<Vertex, 2>>{{0, 1}}));
}

TEST(clique_trees_of_small_graphs_hold_the_maximal_cliques) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const int n = 1 + static_cast<int>(seed % 12);
        const Graph g = random_graph(n, 0.1 * static_cast<double>(seed % 11), seed);
        const auto order = random_order(n, seed);
        const check::Note note(g), other("order", order);
        const SmallElimination e = small_eliminate(small(g), order);
        CHECK_EQ(order_of(e, n), order);
        const SmallDecomposition tree = clique_tree(n, e);
        for (int b = 0; b < tree.count; ++b) CHECK(tree.parent[b] < b);
        const TreeDecomposition td = plain(tree);
        CHECK(oracle::is_tree_decomposition(g, td));
        auto filled = oracle::matrix(g);
        oracle::fill_in(filled, order);
        Bags bags = bags_of(td);
        std::sort(bags.begin(), bags.end());
        CHECK_EQ(bags, oracle::maximal_cliques_of_chordal(filled));
    }
}

TEST(small_greedy_orders_are_those_of_recounting) {
    constexpr Greedy rules[] = {Greedy::min_fill(), Greedy::min_degree(), Greedy::fill_per_degree(),
                                Greedy::fill_per_degree(0.5)};
    for (std::uint64_t seed = 0; seed < 260; ++seed) {
        const int n = seed < 240 ? 2 + static_cast<int>(seed % 25) : 45 + static_cast<int>(seed - 240);
        const double density = 0.08 * static_cast<double>(seed % 13);
        const Graph g = seed % 5 == 0 ? partial_k_tree(n, 4, 0.8, seed) : random_graph(n, density, seed);
        const Greedy rule = rules[seed % 4];
        const std::uint64_t tie = seed % 3;
        const int low = seed % 2 == 0 ? 0 : minor_min_degree(small(g));
        const check::Note note(g), other("fill", rule.by_fill, "power", rule.power, "seed", tie, "low", low);
        int bound = low;
        const SmallElimination e = small_greedy(small(g), rule, tie, bound);
        CHECK_EQ(bound, low);
        CHECK_EQ(order_of(e, n), oracle::greedy_order(g, rule, tie, low, oracle::Rescoring::always));
        const SmallElimination again = small_eliminate(small(g), order_of(e, n));
        for (int v = 0; v < n; ++v) CHECK_EQ(e.higher[v], again.higher[v]);
    }
}

TEST(a_bound_that_is_not_given_is_found) {
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        const int n = 1 + static_cast<int>(seed % 10);
        const Graph g = random_graph(n, 0.1 * static_cast<double>(seed % 11), seed);
        const check::Note note(g);
        int bound = -1;
        const SmallElimination e = small_greedy(small(g), Greedy::min_fill(), 0, bound);
        const int proven = minor_min_degree(small(g));
        CHECK_EQ(order_of(e, n), oracle::greedy_order(g, Greedy::min_fill(), 0, proven, oracle::Rescoring::always));
        CHECK(oracle::degeneracy(g) <= bound && bound <= oracle::treewidth(g));
        if (oracle::chordal(oracle::matrix(g))) CHECK_EQ(bound, oracle::treewidth(g));
    }
}

TEST(all_64_nodes_fit) {
    for (const Graph& g : {complete(64), cycle(64), grid(8, 8), graph(64, {}), random_graph(64, 0.5, 1), star(64)})
        for (Method method : {Method::min_fill, Method::min_degree, Method::junction_tree}) {
            DecomposeOptions options;
            options.method = method;
            const SmallDecomposition small_td = decompose_small(small(g), options);
            const TreeDecomposition td = plain(small_td);
            CHECK_EQ(first_violation(g, td), std::nullopt);
            CHECK(small_td.lower_bound <= td.width());
        }
    CHECK_EQ(decompose_small(small(complete(64)), {}).count, 1);
    CHECK_EQ(decompose_small(small(graph(64, {})), {}).count, 64);
    CHECK_EQ(decompose_small(small(path(64)), {}).count, 63);
}

TEST(a_small_graph_may_fall_apart) {
    const SmallDecomposition td = decompose_small(small(graph(5, {{0, 3}, {1, 4}})), {});
    Bags bags = bags_of(plain(td));
    std::sort(bags.begin(), bags.end());
    CHECK_EQ(bags, (Bags{{0, 3}, {1, 4}, {2}}));
    CHECK_EQ(std::count(td.parent.begin(), td.parent.begin() + td.count, -1), 3);
}

TEST(the_bound_of_a_small_graph_is_proven) {
    CHECK_EQ(minor_min_degree(small(Graph{})), -1);
    CHECK_EQ(minor_min_degree(small(graph(3, {}))), 0);
    CHECK_EQ(minor_min_degree(small(path(5))), 1);
    CHECK_EQ(minor_min_degree(small(cycle(5))), 2);
    CHECK_EQ(minor_min_degree(small(complete(6))), 5);
    CHECK_EQ(minor_min_degree(small(cocktail_party(8))), 6);
    CHECK_EQ(minor_min_degree(small(grid(8, 8))), 4);  // 3 if it contracted into any neighbour
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const Graph g = random_graph(1 + static_cast<int>(seed % 10), 0.1 * static_cast<double>(seed % 11), seed);
        const check::Note note(g);
        const int bound = minor_min_degree(small(g));
        CHECK(oracle::degeneracy(g) <= bound && bound <= oracle::treewidth(g));
    }
}
