#include <algorithm>
#include <chrono>

#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/bounds.hpp"
#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/greedy.hpp"
#include "oracles.hpp"

using namespace neuraltrees;
using oracle::Rescoring;

namespace {

constexpr Greedy rules[] = {Greedy::min_fill(), Greedy::min_degree(), Greedy::fill_per_degree(),
                            Greedy::fill_per_degree(0.5)};

/// Does greedy_order begin on neighbour lists, and does it move to bitset rows before it ends?
bool begins_sparse(GraphView g) {
    return 64 * g.num_edges() <= static_cast<std::int64_t>(g.num_nodes()) * g.num_nodes();
}

void check_against_oracle(const Graph& g, Greedy rule, std::uint64_t seed, int low, Rescoring rescoring) {
    const check::Note note(g), other("fill", rule.by_fill, "power", rule.power, "seed", seed, "low", low);
    CHECK_EQ(greedy_order(g, rule, seed, low), oracle::greedy_order(g, rule, seed, low, rescoring));
}

/// With a lower bound that no degree exceeds, all almost simplicial vertices are safe at all times.
void check_both_bounds(const Graph& g, Greedy rule, std::uint64_t seed) {
    check_against_oracle(g, rule, seed, g.view().num_nodes(), Rescoring::always);
    check_against_oracle(g, rule, seed, minor_min_degree(g), Rescoring::when_touched);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST(scores_follow_the_rule) {
    CHECK_EQ(Greedy::min_fill().score(6, 4), 6);
    CHECK_EQ(Greedy::min_degree().score(6, 4), 4);
    CHECK_EQ(Greedy::fill_per_degree().score(6, 4), 96);      // 64 · 6 / 4
    CHECK_EQ(Greedy::fill_per_degree(2).score(6, 4), 24);     // 64 · 6 / 16
    CHECK_EQ(Greedy::fill_per_degree(0.5).score(6, 4), 192);  // 64 · 6 / 2
}

TEST(ties_go_to_the_smallest_node_or_to_the_hash) {
    CHECK_EQ(tie_break(0, 17), 17);
    CHECK(tie_break(1, 17) != tie_break(1, 18) && tie_break(1, 17) != tie_break(2, 17));
    CHECK_EQ(greedy_order(complete(4), Greedy::min_fill(), 0, 0), (std::vector{0, 1, 2, 3}));
    std::vector<Vertex> by_hash{0, 1, 2, 3};
    std::sort(by_hash.begin(), by_hash.end(), [](Vertex a, Vertex b) { return tie_break(5, a) < tie_break(5, b); });
    CHECK_EQ(greedy_order(complete(4), Greedy::min_fill(), 5, 0), by_hash);
}

TEST(simplicial_vertices_go_first_whatever_their_degree) {
    // Node 0 has degree 2 and fill 1; nodes 2, 3, 4, 5 form a clique with an end outside, so 3, 4, 5 are simplicial.
    const Graph g = graph(7, {{0, 1}, {0, 2}, {1, 6}, {2, 6}, {2, 3}, {2, 4}, {2, 5}, {3, 4}, {3, 5}, {4, 5}});
    CHECK_EQ(greedy_order(g, Greedy::min_degree(), 0, 2), (std::vector{3, 4, 5, 0, 1, 2, 6}));
}

TEST(almost_simplicial_vertices_go_next_within_the_bound) {
    // All nodes of K33 and the rim of the wheel have degree 3; only the rim is almost simplicial.
    const Graph g = disjoint_union({complete_bipartite(3, 3), wheel(5)});
    CHECK_EQ(greedy_order(g, Greedy::min_degree(), 0, 3).front(), 7);
    CHECK_EQ(greedy_order(g, Greedy::min_degree(), 0, 2).front(), 0);
    CHECK_EQ(greedy_order(wheel(6), Greedy::min_fill(), 0, 3), (std::vector{1, 2, 0, 3, 4, 5}));
}

TEST(an_order_that_would_be_too_wide_is_given_up) {
    CHECK(greedy_order(complete(5), Greedy::min_fill(), 0, 0, {}, 3).empty());
    CHECK_EQ(greedy_order(complete(5), Greedy::min_fill(), 0, 0, {}, 4).size(), 5);
    for (int width = 0; width < 12; ++width) {
        const Graph sparse = partial_k_tree(300, 3, 0.7, 4), dense = random_graph(30, 0.3, 4);
        for (const Graph* g : {&sparse, &dense}) {
            const auto plain = greedy_order(*g, Greedy::min_fill(), 0, 0);
            const bool fits = width_of_order(*g, plain) <= width;
            CHECK_EQ(greedy_order(*g, Greedy::min_fill(), 0, 0, {}, width), fits ? plain : std::vector<Vertex>{});
        }
    }
}

TEST(small_graphs_are_eliminated_as_by_recounting) {
    for (std::uint64_t seed = 0; seed < 240; ++seed) {
        const Graph g = random_graph(2 + static_cast<int>(seed % 19), 0.08 * static_cast<double>(seed % 13), seed);
        check_both_bounds(g, rules[seed % 4], seed % 3);
    }
}

TEST(sparse_graphs_are_eliminated_as_by_recounting) {
    int sparse = 0;
    for (std::uint64_t seed = 0; seed < 16; ++seed) {
        const int n = 90 + 10 * static_cast<int>(seed % 4);
        const Graph g = seed % 2 ? random_graph(n, 1.6 / n, seed) : partial_k_tree(n + 60, 2, 0.75, seed);
        sparse += begins_sparse(g);
        check_both_bounds(g, rules[seed / 2 % 4], seed % 3);
    }
    CHECK(sparse >= 12);
    // Degrees above 2, so that hubs among the neighbours matter.
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const Graph g = seed % 2 ? random_graph(190, 4.5 / 190, seed) : partial_k_tree(300, 4, 0.9, seed);
        CHECK(begins_sparse(g));
        check_both_bounds(g, rules[seed / 2], seed % 3);
    }
}

TEST(graphs_that_become_dense_are_eliminated_as_by_recounting) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        // A dense core among many pendant nodes: lists first, bitset rows once the trees are gone.
        Edges edges = edges_of(random_graph(40, 0.3, seed));
        Rng rng(seed);
        for (int v = 40; v < 180; ++v) edges.push_back({rng.below(v), v});
        for (int i = 0; i < 25; ++i) edges.push_back({rng.below(180), rng.below(180)});
        const Graph g = graph(180, edges);
        CHECK(begins_sparse(g) && !begins_sparse(random_graph(40, 0.3, seed)));
        check_both_bounds(shuffled(g, seed), rules[seed % 4], seed % 3);
    }
}

TEST(dense_graphs_are_eliminated_as_by_recounting) {
    for (std::uint64_t seed = 0; seed < 16; ++seed) {
        const double densities[] = {0.06, 0.15, 0.5, 0.85};
        const int n = 65 + static_cast<int>(seed % 3) * 8;  // 65, 73, 81: the last words of the rows are not full
        const Graph g = seed % 5 == 4 ? partial_k_tree(n, 6, 0.8, seed) : random_graph(n, densities[seed % 4], seed);
        CHECK(!begins_sparse(g));
        check_both_bounds(g, rules[seed / 4 % 4], seed % 3);
    }
}

TEST(rows_of_more_than_one_word_are_eliminated_as_by_recounting) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) check_both_bounds(random_graph(135, 0.08, seed), rules[seed], seed);
}

TEST(hubs_do_not_cost_quadratic_time) {
    for (const Graph& g : {star(100'000), wheel(100'000)})
        for (const Greedy& rule : {Greedy::min_fill(), Greedy::min_degree()}) {
            const auto begin = std::chrono::steady_clock::now();
            const auto order = greedy_order(g, rule, 0, 0);
            CHECK_EQ(width_of_order(g, order), g.view().degree(1) == 1 ? 1 : 3);
            CHECK(seconds_since(begin) < 10);
        }
}

TEST(trees_and_cycles_reduce_to_nothing) {
    for (const Graph& g : {path(6), star(6), cycle(6), complete(5), partial_k_tree(20, 3, 1.0, 1), graph(3, {})}) {
        const Reduction r = reduce_safely(g, minor_min_degree(g));
        CHECK_EQ(r.core_nodes.size(), 0);
        CHECK_EQ(r.eliminated.size(), g.view().num_nodes());
        CHECK_EQ(r.lower_bound, width_of_order(g, r.eliminated));
    }
}

TEST(a_reduction_keeps_the_hard_core) {
    // Petersen with a tail of two and a triangle on the edge 0-1.
    Edges edges = edges_of(petersen());
    for (auto [u, v] : Edges{{3, 10}, {10, 11}, {0, 12}, {1, 12}}) edges.push_back({u, v});
    const Reduction r = reduce_safely(graph(13, edges), 0);
    CHECK_EQ(r.eliminated, (std::vector{11, 10, 12}));
    CHECK_EQ(r.lower_bound, 2);
    CHECK_EQ(r.core_nodes, (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    CHECK_EQ(edges_of(r.core), edges_of(petersen()));
    CHECK_EQ(reduce_safely(Graph{}, -1).core_nodes.size(), 0);
}

TEST(a_reduction_is_safe_and_complete) {
    for (std::uint64_t seed = 0; seed < 250; ++seed) {
        Rng rng(seed);
        const int n = 3 + rng.below(8);
        const Graph g =
            seed % 2 ? random_graph(n, 0.1 + 0.1 * rng.below(8), seed) : partial_k_tree(n, 1 + rng.below(4), 0.8, seed);
        const check::Note note(g);
        const int bound = minor_min_degree(g), exact = oracle::treewidth(g);
        const Reduction r = reduce_safely(g, bound);
        CHECK(r.lower_bound >= bound && r.lower_bound <= exact);
        CHECK_EQ(std::max(r.lower_bound, oracle::treewidth(r.core)), exact);
        // The core is what elimination leaves, with its fill.
        auto filled = oracle::matrix(g);
        CHECK(oracle::fill_in(filled, r.eliminated) <= r.lower_bound);
        const auto core = oracle::matrix(r.core);
        CHECK_EQ(core.size() + r.eliminated.size(), n);
        for (std::size_t i = 0; i < core.size(); ++i)
            for (std::size_t j = 0; j < core.size(); ++j)
                CHECK_EQ(core[i][j], filled[r.core_nodes[i]][r.core_nodes[j]]);
        // No vertex of the core could have gone.
        for (std::size_t v = 0; v < core.size(); ++v) {
            std::int64_t gaps = 0, most = 0, degree = 0;
            for (std::size_t a = 0; a < core.size(); ++a) {
                if (!core[v][a]) continue;
                ++degree;
                std::int64_t at_a = 0;
                for (std::size_t b = 0; b < core.size(); ++b) at_a += core[v][b] && a != b && !core[a][b];
                gaps += at_a;
                most = std::max(most, at_a);
            }
            CHECK(gaps > 0 && (degree > r.lower_bound || 2 * most < gaps));
        }
    }
}

TEST(sparse_and_dense_reductions_leave_the_same_core) {
    // Isolated nodes make the graph sparse and change nothing else.
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const Graph g = random_graph(24, 0.12 + 0.02 * static_cast<double>(seed % 5), seed);
        const Graph wide = disjoint_union({g, graph(300, {})});
        CHECK(begins_sparse(wide));
        const int bound = minor_min_degree(g);
        const Reduction a = reduce_safely(g, bound), b = reduce_safely(wide, bound);
        CHECK_EQ(a.core_nodes, b.core_nodes);
        CHECK_EQ(edges_of(a.core), edges_of(b.core));
        CHECK_EQ(a.lower_bound, b.lower_bound);
    }
}

TEST(what_is_not_eliminated_is_one_bag) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const Graph g = random_connected(14, 0.2, seed);
        const std::vector<Vertex> order = greedy_order(g, Greedy::min_fill(), 0, 0);
        const TreeDecomposition whole = decomposition_from_order(g, order);
        for (Vertex eliminated = 0; eliminated <= 14; ++eliminated) {
            const check::Note note(g), other("eliminated", eliminated);
            const TreeDecomposition td = decomposition_from(g, {order, eliminated, -1, Shortcut::one_bag});
            CHECK_EQ(first_violation(g, td), std::nullopt);
            CHECK(is_normalised(g, td));
            CHECK(td.width() >= std::max(whole.width(), 13 - eliminated));
            if (eliminated == 14) CHECK_EQ(td.bag_nodes, whole.bag_nodes);
        }
    }
}
