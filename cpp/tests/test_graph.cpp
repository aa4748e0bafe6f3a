#include <set>

#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/graph.hpp"
#include "oracles.hpp"

using namespace neuraltrees;

TEST(loops_are_dropped_and_edges_merged) {
    const Graph g = graph(4, {{0, 1}, {1, 0}, {3, 1}, {0, 1}, {2, 2}});
    CHECK_EQ(g.ptr, (std::vector{0, 1, 3, 3, 4}));
    CHECK_EQ(g.adj, (std::vector{1, 0, 3, 1}));
    CHECK_EQ(g.view().num_nodes(), 4);
    CHECK_EQ(g.view().num_edges(), 2);
    CHECK_EQ(g.view().degree(1), 2);
}

TEST(a_graph_may_be_empty) {
    CHECK_EQ(graph(0, {}).view().num_nodes(), 0);
    CHECK_EQ(Graph{}.view().num_nodes(), 0);
    CHECK_EQ(graph(3, {}).ptr, (std::vector{0, 0, 0, 0}));
    CHECK_EQ(connected_components(Graph{}).count(), 0);
}

TEST(an_edge_must_name_nodes_of_the_graph) {
    CHECK_THROWS(graph(3, {{0, 1}, {1, 3}}), InputError, "between 0 and 2; got 3 in edge 1");
    CHECK_THROWS(graph(3, {{-1, 1}}), InputError, "got -1 in edge 0");
    CHECK_THROWS(graph(0, {{0, 0}}), InputError, "got 0");
    CHECK_THROWS(graph(-1, {}), InputError, "got -1");
    CHECK_THROWS(graph(max_graph_nodes + 1, {}), InputError,
                 "Expected at most 2147483646 nodes, which the core numbers in 32 bits; got 2147483647. Number");
    CHECK_THROWS(graph(std::int64_t{1} << 40, {}), InputError, "got 1099511627776");
    const std::vector<std::int64_t> one{0}, two{0, 1};
    CHECK_THROWS(graph_from_edges(one, two, 2), InputError, "as many sources as targets");
}

TEST(edges_are_found_in_short_and_long_rows) {
    for (const Graph& g : {paper_graph(), wheel(40), random_graph(60, 0.5, 1)}) {
        const auto adj = oracle::matrix(g);
        for (Vertex u = 0; u < g.view().num_nodes(); ++u)
            for (Vertex v = 0; v < g.view().num_nodes(); ++v) CHECK_EQ(g.view().has_edge(u, v), adj[u][v] == 1);
    }
}

TEST(rows_hold_exactly_the_edges_given) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const check::Note note("seed", seed);
        Rng rng(seed);
        const int n = 1 + rng.below(12);
        std::set<std::array<std::int64_t, 2>> wanted;
        Edges edges;
        for (int i = rng.below(60); i > 0; --i) {
            const std::int64_t u = rng.below(n), v = rng.below(n);
            edges.push_back({u, v});
            if (u != v) wanted.insert({std::min(u, v), std::max(u, v)});
        }
        const Graph g = graph(n, edges);
        CHECK_EQ(edges_of(g), Edges(wanted.begin(), wanted.end()));
        CHECK_EQ(g.view().num_edges(), wanted.size());
        for (Vertex v = 0; v < n; ++v)
            for (Vertex u : g.view().neighbours(v)) CHECK(g.view().has_edge(u, v));
    }
}

TEST(components_are_numbered_by_their_smallest_node) {
    const Components c = connected_components(graph(6, {{5, 1}, {4, 0}, {3, 4}}));
    CHECK_EQ(c.label, (std::vector{0, 1, 2, 0, 0, 1}));
    CHECK_EQ(c.ptr, (std::vector{0, 3, 5, 6}));
    CHECK_EQ(c.nodes, (std::vector{0, 3, 4, 1, 5, 2}));
    CHECK_EQ(c.count(), 3);
    CHECK_EQ(c.members(1), (std::vector{1, 5}));
}

TEST(components_are_the_classes_of_reachability) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const Graph g = random_graph(15, 0.02 * static_cast<double>(seed % 10), seed);
        const check::Note note(g);
        auto reach = oracle::matrix(g);
        for (std::size_t k = 0; k < 15; ++k)
            for (std::size_t i = 0; i < 15; ++i)
                for (std::size_t j = 0; j < 15; ++j) reach[i][j] |= i == j || (reach[i][k] && reach[k][j]);
        const Components c = connected_components(g);
        for (std::size_t i = 0; i < 15; ++i)
            for (std::size_t j = 0; j < 15; ++j) CHECK_EQ(c.label[i] == c.label[j], reach[i][j] == 1);
        for (std::int64_t k = 0; k < c.count(); ++k) {
            const auto members = c.members(k);
            CHECK(std::is_sorted(members.begin(), members.end()));
            for (Vertex v : members) CHECK_EQ(c.label[v], k);
            if (k > 0) CHECK(c.members(k - 1)[0] < members[0]);
        }
    }
}

TEST(components_do_not_depend_on_the_number_of_threads) {
    constexpr std::int64_t n = 50'000;
    // Edges to near vertices, so that components cross few borders or many; to any vertex; and a path through all.
    for (std::int64_t reach : {0, 1, 2, 7, 40'000}) {
        for (std::uint64_t share : {1, 2, 8}) {
            std::vector<std::int64_t> source, target;
            for (std::int64_t v = 1; v < n; ++v) {
                const std::uint64_t draw = mix(static_cast<std::uint64_t>(v), share);
                if (reach == 0 ? v % 5 == 0 : draw % share != 0) continue;
                const auto step =
                    reach < 2 ? 1 : 1 + static_cast<std::int64_t>((draw >> 8) % static_cast<std::uint64_t>(reach));
                source.push_back(v);
                target.push_back(std::max<std::int64_t>(0, v - step));
            }
            const Graph g = graph_from_edges(source, target, n);
            const Components one = connected_components(g);
            for (int threads : {2, 3, 5}) {
                const Components several = connected_components(g, {}, threads);
                CHECK_EQ(several.label, one.label);
                CHECK_EQ(several.ptr, one.ptr);
                CHECK_EQ(several.nodes, one.nodes);
            }
        }
    }
}

TEST(an_induced_subgraph_is_renamed_in_the_given_order) {
    const Graph g = paper_graph();
    std::vector<Vertex> position(5, -1);
    const Graph sub = induced_subgraph(g, std::vector<Vertex>{4, 1, 3}, position);
    CHECK_EQ(edges_of(sub), (Edges{{0, 2}, {1, 2}}));
    CHECK_EQ(sub.adj, (std::vector{2, 2, 0, 1}));
    CHECK_EQ(position, std::vector<Vertex>(5, -1));
    CHECK_EQ(induced_subgraph(g, {}, position).view().num_nodes(), 0);
}

TEST(the_moral_graph_marries_parents) {
    auto moral = [](std::int64_t n, const Edges& arcs) {
        std::vector<std::int64_t> source, target;
        for (auto [u, v] : arcs) source.push_back(u), target.push_back(v);
        return edges_of(moral_graph(source, target, n));
    };
    CHECK_EQ(moral(3, {{0, 2}, {1, 2}}), (Edges{{0, 1}, {0, 2}, {1, 2}}));
    CHECK_EQ(moral(3, {{0, 1}, {1, 2}}), (Edges{{0, 1}, {1, 2}}));
    CHECK_EQ(moral(3, {{2, 0}, {2, 1}}), (Edges{{0, 2}, {1, 2}}));
    CHECK_EQ(moral(4, {{0, 3}, {1, 3}, {2, 3}, {1, 3}, {3, 3}}),
             (Edges{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}));
    CHECK_THROWS(moral(2, {{0, 2}}), InputError, "got 2 in edge 0");
    CHECK_THROWS(moral(-1, {}), InputError, "got -1");
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Rng rng(seed);
        std::set<std::array<std::int64_t, 2>> arcs, wanted;
        for (int i = 0; i < 12; ++i)
            if (const int u = rng.below(8), v = rng.below(8); u != v) arcs.insert({u, v});
        auto join = [&](std::int64_t u, std::int64_t v) { wanted.insert({std::min(u, v), std::max(u, v)}); };
        for (auto [u, v] : arcs) {
            join(u, v);
            for (auto [w, x] : arcs)
                if (x == v && w != u) join(u, w);
        }
        CHECK_EQ(moral(8, Edges(arcs.begin(), arcs.end())), Edges(wanted.begin(), wanted.end()));
    }
}
