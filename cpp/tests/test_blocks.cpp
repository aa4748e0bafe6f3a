#include <bit>

#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/blocks.hpp"
#include "neuraltrees/core_search.hpp"
#include "neuraltrees/region_search.hpp"
#include "oracles.hpp"

using namespace neuraltrees;

namespace {

/// Asks for width k by enumeration alone, and checks the order that comes with a yes.
template <std::size_t W>
bool has_width(const Graph& g, int k) {
    const BitGraph<W> bits(g);
    BlockSearch<W> search(bits, k);
    Watch clock(60);
    const auto answer = search.explore(clock);
    CHECK(answer != BlockSearch<W>::Answer::unknown);
    CHECK_EQ(answer == BlockSearch<W>::Answer::yes, search.solved());
    if (!search.solved()) return false;
    const auto order = search.order();
    CHECK_EQ(order.size(), g.view().num_nodes());
    CHECK(width_of_order(g, order) <= k);
    return true;
}

/// All connected graphs of the sweep: 5 to 11 nodes, from trees to complete ones.
Graph swept(std::uint64_t seed) {
    return random_connected(5 + static_cast<int>(seed % 7), 0.1 * static_cast<double>(seed / 7 % 10), seed);
}

}  // namespace

TEST(a_flood_finds_components_and_their_borders) {
    const Graph g = path(5);
    const BitGraph<1> bits(g);
    VertexSet<1> rest = VertexSet<1>::first(5);
    rest.erase(2);
    std::vector<std::vector<std::uint64_t>> found;
    bits.for_each_component(
        rest, [&](const auto& part, const auto& border) { found.push_back({part.word[0], border.word[0]}); });
    CHECK_EQ(found, (std::vector<std::vector<std::uint64_t>>{{0b00011, 0b00100}, {0b11000, 0b00100}}));
}

TEST(enumeration_decides_small_cases) {
    CHECK(has_width<1>(path(4), 1) && !has_width<1>(path(4), 0));
    CHECK(has_width<1>(cycle(5), 2) && !has_width<1>(cycle(5), 1));
    CHECK(has_width<1>(complete(5), 4) && !has_width<1>(complete(5), 3));
    CHECK(has_width<1>(paper_graph(), 2) && !has_width<1>(paper_graph(), 1));
    CHECK(has_width<1>(complete_bipartite(3, 3), 3) && !has_width<1>(complete_bipartite(3, 3), 2));
    CHECK(has_width<1>(graph(1, {}), 0));
}

TEST(enumeration_agrees_with_dynamic_programming) {
    for (std::uint64_t seed = 0; seed < 700; ++seed) {
        const Graph g = swept(seed);
        const check::Note note(g);
        const int exact = oracle::treewidth(g);
        CHECK(has_width<1>(g, exact));
        CHECK(!has_width<1>(g, exact - 1));
        if (seed % 4 == 0) CHECK(has_width<2>(g, exact) && !has_width<2>(g, exact - 1));
        if (seed % 4 == 1) CHECK(has_width<1>(g, exact + 1));
    }
}

TEST(enumeration_does_not_care_for_names) {
    for (const auto& [g, width] : {std::pair{petersen(), 4}, {hypercube(3), 3}, {grid(4, 4), 4}, {heawood(), 5}})
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
            const Graph renamed = shuffled(g, seed);
            CHECK(has_width<1>(renamed, width));
            CHECK(!has_width<1>(renamed, width - 1));
        }
}

TEST(offering_every_bag_decides_too) {
    // Without enumeration: of all sets of vertices, the potential maximal cliques are picked out and put together.
    for (std::uint64_t seed = 0; seed < 80; ++seed) {
        const Graph g = random_connected(4 + static_cast<int>(seed % 5), 0.1 * static_cast<double>(seed % 9), seed);
        const int n = g.view().num_nodes(), exact = oracle::treewidth(g);
        const check::Note note(g);
        for (int k = exact - 1; k <= exact + 1; ++k) {
            const BitGraph<1> bits(g);
            BlockSearch<1> search(bits, k);
            std::vector<std::uint64_t> masks;
            for (std::uint64_t m = 1; m < std::uint64_t{1} << n; ++m) masks.push_back(m);
            Rng(seed).shuffle(masks);
            for (std::uint64_t m : masks) {
                VertexSet<1> bag;
                bag.word[0] = m;
                search.offer(bag);
            }
            CHECK_EQ(search.solved(), k >= exact);
            if (search.solved()) CHECK(width_of_order(g, search.order()) <= k);
        }
    }
}

TEST(bags_that_are_no_potential_maximal_cliques_are_refused) {
    // {0, 2} of a square is a minimal separator and {0, 1, 2, 3} no clique of a minimal triangulation.
    const BitGraph<1> bits(cycle(4));
    auto solved_by = [&](std::initializer_list<std::initializer_list<int>> bags) {
        BlockSearch<1> search(bits, 3);
        for (const auto& bag : bags) {
            VertexSet<1> set;
            for (int v : bag) set.insert(v);
            search.offer(set);
        }
        return search.solved();
    };
    CHECK(!solved_by({{0, 2}}));
    CHECK(!solved_by({{0, 1, 2, 3}}));
    CHECK(!solved_by({{0, 1, 2}}));
    CHECK(!solved_by({{0, 1, 2}, {0, 1, 3}}));  // cliques of two different triangulations
    CHECK(solved_by({{0, 1, 2}, {0, 2, 3}}));
}

TEST(a_search_that_ran_out_of_time_can_go_on) {
    const Graph g = grid(4, 5);
    const BitGraph<1> bits(g);
    BlockSearch<1> no(bits, 3), yes(bits, 4);
    for (int i = 0; i < 3; ++i) {
        Watch over(0);
        CHECK(no.explore(over) == BlockSearch<1>::Answer::unknown);
        Watch also_over(0);
        yes.explore(also_over);
    }
    Watch clock(60);
    CHECK(no.explore(clock) == BlockSearch<1>::Answer::no);
    CHECK(yes.explore(clock) == BlockSearch<1>::Answer::yes);
    CHECK(width_of_order(g, yes.order()) <= 4);
    // However often it is stopped, it continues where it was.
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const Graph r = random_connected(11, 0.25, seed);
        const check::Note note(r);
        const BitGraph<1> rows(r);
        BlockSearch<1> search(rows, oracle::treewidth(r));
        for (int i = 0; i < 40; ++i) {
            Watch over(0);
            search.explore(over);
        }
        CHECK(search.explore(clock) == BlockSearch<1>::Answer::yes);
    }
}

TEST(both_goals_reach_the_treewidth) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const Graph g = swept(seed + 1000);
        const check::Note note(g);
        const int exact = oracle::treewidth(g);
        for (Goal goal : {Goal::proof, Goal::descent}) {
            Watch clock(60);
            const SearchResult one = CoreSearch<1>(g, 0, seed, clock).run(goal);
            CHECK_EQ(one.width, exact);
            CHECK_EQ(one.lower_bound, exact);
            CHECK_EQ(width_of_order(g, one.order), exact);
            if (seed % 5 > 0) continue;
            const SearchResult two = CoreSearch<2>(g, 0, seed, clock).run(goal);
            CHECK_EQ(two.width, exact);
            CHECK_EQ(two.lower_bound, exact);
        }
    }
}

TEST(time_that_is_over_leaves_no_order) {
    for (Goal goal : {Goal::proof, Goal::descent}) {
        const SearchResult found = search_core(grid(6, 6), 2, goal, 0, Watch(0));
        CHECK(found.order.empty());
        CHECK_EQ(found.lower_bound, 2);
    }
}

TEST(words_widen_with_the_graph) {
    for (const auto& [g, width] : {std::pair{grid(2, 40), 2}, {grid(3, 60), 3}, {cycle(300), 2}, {grid(3, 200), 3}}) {
        const check::Note note("nodes", g.view().num_nodes());
        Watch clock(60);
        const SearchResult found = search_core(g, width, Goal::proof, 1, clock);
        CHECK_EQ(found.width, width);
        CHECK_EQ(width_of_order(g, found.order), width);
    }
    Watch clock(60);
    const SearchResult proven = search_core(grid(2, 40), 0, Goal::proof, 1, clock);
    CHECK_EQ(proven.lower_bound, 2);
    CHECK_EQ(proven.width, 2);
}
