#include <algorithm>

#include "check.hpp"
#include "decompositions.hpp"
#include "graphs.hpp"
#include "neuraltrees/decomposition.hpp"
#include "oracles.hpp"

using namespace neuraltrees;

TEST(an_order_gives_the_cliques_of_its_fill) {
    // Eliminating the ends of a path first keeps its edges as bags; its middle first joins the middle's neighbours.
    const TreeDecomposition outer = decomposition_from_order(path(4), std::vector<Vertex>{0, 3, 1, 2});
    CHECK_EQ(bags_of(outer), (Bags{{1, 2}, {2, 3}, {0, 1}}));
    CHECK_EQ(outer.edges, (std::vector<std::array<Vertex, 2>>{{0, 1}, {0, 2}}));
    CHECK_EQ(outer.width(), 1);
    const TreeDecomposition inner = decomposition_from_order(path(4), std::vector<Vertex>{1, 2, 0, 3});
    CHECK_EQ(bags_of(inner), (Bags{{0, 2, 3}, {0, 1, 2}}));
    CHECK_EQ(width_of_order(path(4), std::vector<Vertex>{1, 2, 0, 3}), 2);
}

TEST(the_papers_graph_has_three_bags_in_a_row) {
    const TreeDecomposition td = decomposition_from_order(paper_graph(), std::vector<Vertex>{0, 1, 2, 3, 4});
    CHECK_EQ(bags_of(td), (Bags{{2, 3, 4}, {1, 2, 3}, {0, 1, 2}}));
    CHECK_EQ(td.edges, (std::vector<std::array<Vertex, 2>>{{0, 1}, {1, 2}}));
}

TEST(a_decomposition_may_be_empty) {
    const TreeDecomposition td = decomposition_from_order(Graph{}, {});
    CHECK_EQ(td.view().num_bags(), 0);
    CHECK_EQ(td.width(), -1);
    CHECK_EQ(width_of_order(Graph{}, {}), -1);
    CHECK(!first_violation(Graph{}, td));
    CHECK(is_normalised(Graph{}, td));
    CHECK_EQ(normalised(Graph{}, td).view().num_bags(), 0);
}

TEST(orders_give_valid_decompositions_of_their_width) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const int n = 1 + static_cast<int>(seed % 12);
        const Graph g = random_graph(n, 0.1 * static_cast<double>(seed % 11), seed);
        const auto order = random_order(n, seed);
        const check::Note note(g), other("order", order);
        const TreeDecomposition td = decomposition_from_order(g, order);
        auto filled = oracle::matrix(g);
        const int width = oracle::fill_in(filled, order);
        CHECK_EQ(td.width(), width);
        CHECK_EQ(width_of_order(g, order), width);
        CHECK(oracle::is_tree_decomposition(g, td));
        Bags bags = bags_of(td);
        std::sort(bags.begin(), bags.end());
        CHECK_EQ(bags, oracle::maximal_cliques_of_chordal(filled));
        for (auto [parent, child] : td.edges) CHECK(parent < child);
        CHECK_EQ(td.view().num_bags() - static_cast<std::int64_t>(td.edges.size()), connected_components(g).count());
    }
}

TEST(a_violation_is_named) {
    const Graph g = path(4);
    auto why = [&](const Bags& bags, const std::vector<std::array<Vertex, 2>>& edges) {
        return first_violation(g, decomposition(bags, edges)).value_or("");
    };
    CHECK_EQ(why({{0, 1}, {1, 2}, {2, 3}}, {{0, 1}, {1, 2}}), "");
    CHECK_EQ(why({{0, 1}, {1, 2}, {2, 4}}, {{0, 1}, {1, 2}}), "bag 2 holds node 4, but the graph's nodes are 0 to 3");
    CHECK_EQ(why({{-1, 1}}, {}), "bag 0 holds node -1, but the graph's nodes are 0 to 3");
    CHECK_EQ(why({{0, 1}, {2, 1}}, {{0, 1}}), "bag 1 is not sorted or holds node 1 twice");
    CHECK_EQ(why({{0, 1}, {1, 1}}, {{0, 1}}), "bag 1 is not sorted or holds node 1 twice");
    CHECK_EQ(why({{0, 1}, {1, 2}, {2, 3}}, {{0, 1}, {1, 3}}), "edge 1-3 names a bag outside 0 to 2");
    CHECK_EQ(why({{0, 1}, {1, 2}, {2, 3}}, {{0, 1}, {1, 2}, {2, 0}}), "the edge between bags 2 and 0 closes a cycle");
    CHECK_EQ(why({{0, 1, 2, 3}}, {{0, 0}}), "the edge between bags 0 and 0 closes a cycle");
    CHECK_EQ(why({{0, 1}, {1, 2}, {2, 3}}, {{0, 1}}),
             "the bags that hold node 2 are not connected: bags 1 and 2 are apart");
    CHECK_EQ(why({{0, 1}, {1, 2}}, {{0, 1}}), "node 3 is in no bag");
    CHECK_EQ(why({{0, 1}, {1, 2}, {3}}, {{0, 1}, {1, 2}}), "edge 2-3 is in no bag");
}

TEST(violations_are_found_exactly_where_the_definition_is_broken) {
    int valid = 0, broken = 0;
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        Rng rng(seed);
        const Graph g = random_graph(1 + rng.below(7), 0.15 * rng.below(6), seed);
        TreeDecomposition td = messy_decomposition(g, seed);
        Bags bags = bags_of(td);
        // Two in three get a small random change, which may or may not make them invalid.
        auto below = [&](std::size_t n) { return static_cast<Vertex>(rng.below(static_cast<int>(n))); };
        const Vertex bag = below(bags.size());
        switch (rng.below(6)) {
            case 0:
                if (!bags[bag].empty()) bags[bag].erase(bags[bag].begin() + below(bags[bag].size()));
                break;
            case 1:
                bags[bag].push_back(below(g.view().num_nodes() + 1));
                if (rng.chance(0.8)) std::sort(bags[bag].begin(), bags[bag].end());
                break;
            case 2:
                if (!td.edges.empty()) td.edges[0][rng.below(2)] = below(bags.size() + 1);
                break;
            case 3:
                if (!td.edges.empty()) td.edges.pop_back();
                break;
            default: break;
        }
        const TreeDecomposition wounded = decomposition(bags, td.edges);
        const auto why = first_violation(g, wounded);
        const check::Note note(g), other("bags", bags, "edges", td.edges, "said", why);
        CHECK_EQ(!why.has_value(), oracle::is_tree_decomposition(g, wounded));
        ++(why ? broken : valid);
    }
    CHECK(valid > 150 && broken > 150);
}

TEST(the_normal_form_is_recognised) {
    const Graph g = graph(4, {{0, 2}, {1, 3}});
    auto normal = [&](const Bags& bags, const std::vector<std::array<Vertex, 2>>& edges) {
        const TreeDecomposition td = decomposition(bags, edges);
        CHECK(!first_violation(g, td));
        return is_normalised(g, td);
    };
    CHECK(normal({{0, 2}, {1, 3}}, {}));
    CHECK(!normal({{1, 3}, {0, 2}}, {}));             // components out of order
    CHECK(!normal({{0, 2}, {1, 3}}, {{0, 1}}));       // one tree for two components
    CHECK(!normal({{0, 1, 2, 3}}, {}));               // one bag for two components
    CHECK(!normal({{0, 2}, {0}, {1, 3}}, {{0, 1}}));  // a bag inside another
    CHECK(!normal({{0, 2}, {1, 3}, {}}, {}));         // an empty bag
    const Graph p = path(4);
    CHECK(is_normalised(p, decomposition({{1, 2}, {0, 1}, {2, 3}}, {{0, 1}, {2, 0}})));
    CHECK(!is_normalised(p, decomposition({{0, 1}, {2, 3}, {1, 2}}, {{0, 2}, {2, 1}})));  // a child of two earlier bags
}

TEST(normalising_merges_cuts_and_sorts) {
    const Graph g = graph(4, {{0, 2}, {1, 3}});
    auto normal = [&](const Bags& bags, const std::vector<std::array<Vertex, 2>>& edges) {
        return normalised(g, decomposition(bags, edges));
    };
    CHECK_EQ(bags_of(normal({{1, 3}, {0, 2}}, {})), (Bags{{0, 2}, {1, 3}}));
    CHECK_EQ(bags_of(normal({{0, 1, 2, 3}}, {})), (Bags{{0, 2}, {1, 3}}));
    CHECK_EQ(bags_of(normal({{0}, {}, {0, 2}, {1, 3}}, {{0, 2}, {1, 2}, {3, 1}})), (Bags{{0, 2}, {1, 3}}));
    CHECK(normal({{0, 1, 2, 3}}, {}).edges.empty());
    // {1,2} absorbs {2} and inherits its other neighbour, or the tree would fall apart.
    const TreeDecomposition long_row =
        decomposition({{2, 3}, {2}, {1, 2}, {1}, {0, 1}}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
    const TreeDecomposition row = normalised(path(4), long_row);
    CHECK_EQ(bags_of(row), (Bags{{2, 3}, {1, 2}, {0, 1}}));
    CHECK_EQ(row.edges, (std::vector<std::array<Vertex, 2>>{{0, 1}, {1, 2}}));
}

TEST(normalising_keeps_what_a_decomposition_says) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        Rng rng(seed);
        const Graph g = random_graph(1 + rng.below(9), 0.12 * rng.below(7), seed);
        const TreeDecomposition td = messy_decomposition(g, seed);
        const check::Note note(g), other("bags", bags_of(td), "edges", td.edges);
        const TreeDecomposition out = normalised(g, td);
        CHECK(oracle::is_tree_decomposition(g, out));
        CHECK(is_normalised(g, out));
        CHECK(!oracle::some_bag_inside_another(out));
        for (auto [a, b] : out.edges) CHECK(a < b);
        // The bags are the maximal ones among the old bags cut by component.
        const Components components = connected_components(g);
        std::vector<std::vector<Vertex>> pieces;
        for (const auto& bag : bags_of(td))
            for (std::int64_t c = 0; c < components.count(); ++c) {
                std::vector<Vertex> piece;
                for (Vertex v : bag)
                    if (components.label[v] == c) piece.push_back(v);
                if (!piece.empty()) pieces.push_back(piece);
            }
        Bags wanted;
        for (const auto& piece : pieces) {
            const bool inside = std::any_of(pieces.begin(), pieces.end(), [&](const auto& p) {
                return p.size() > piece.size() && std::includes(p.begin(), p.end(), piece.begin(), piece.end());
            });
            if (!inside) wanted.push_back(piece);
        }
        std::sort(wanted.begin(), wanted.end());
        wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
        Bags bags = bags_of(out);
        std::sort(bags.begin(), bags.end());
        CHECK_EQ(bags, wanted);
        const TreeDecomposition again = normalised(g, out);
        CHECK_EQ(bags_of(again).size(), bags.size());
        CHECK(is_normalised(g, again));
    }
}
