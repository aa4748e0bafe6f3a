#include <algorithm>
#include <map>
#include <set>

#include "check.hpp"
#include "decompositions.hpp"
#include "graphs.hpp"
#include "neuraltrees/canonical.hpp"
#include "neuraltrees/decompose.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/htree.hpp"
#include "oracles.hpp"

using namespace neuraltrees;

namespace {

using Counts = std::vector<int>;                        // bags per kind: other, vertex, bridge, cycle, pair, rigid
using Key = std::pair<int, std::vector<std::int64_t>>;  // a kind and the members

Counts counts(const Graph& g) {
    Counts out(6, 0);
    for (std::int8_t kind : canonical_decomposition(g).kinds) ++out[kind];
    return out;
}

/// Bags with kinds and the edges between them, the vertices renamed.
std::pair<std::multiset<Key>, std::multiset<std::set<Key>>> labelled(const TreeDecomposition& td,
                                                                     const std::vector<std::int64_t>& names) {
    std::vector<Key> keys;
    for (std::int64_t b = 0; b < td.view().num_bags(); ++b) {
        Key key{td.kinds[b], {}};
        for (Vertex v : td.view().bag(b)) key.second.push_back(names[v]);
        std::sort(key.second.begin(), key.second.end());
        keys.push_back(key);
    }
    std::multiset<std::set<Key>> edges;
    for (auto [a, b] : td.edges) edges.insert({keys[a], keys[b]});
    return {{keys.begin(), keys.end()}, edges};
}

/// Is the skeleton connected without any two of its vertices, and are no two of its edges parallel?
bool is_rigid(std::span<const std::array<Vertex, 2>> edges) {
    std::set<Vertex> vertices;
    std::set<std::pair<Vertex, Vertex>> seen;
    for (auto [u, v] : edges) {
        vertices.insert({u, v});
        if (!seen.insert(std::minmax(u, v)).second) return false;
    }
    if (vertices.size() < 4) return false;
    for (Vertex a : vertices)
        for (Vertex b : vertices) {
            std::set<Vertex> reached;
            for (Vertex v : vertices)
                if (v != a && v != b) {
                    reached.insert(v);
                    break;
                }
            for (std::size_t before = 0; before != reached.size();) {
                before = reached.size();
                for (auto [u, v] : edges) {
                    if (u == a || u == b || v == a || v == b) continue;
                    if (reached.contains(u) || reached.contains(v)) reached.insert({u, v});
                }
            }
            if (reached.size() != vertices.size() - (a == b ? 1 : 2)) return false;
        }
    return true;
}

/// A cycle with paths between two of its vertices, again and again.
Graph random_block(std::uint64_t seed) {
    Rng rng(seed);
    Edges edges;
    int n = 3 + rng.below(6);
    for (int v = 0; v < n; ++v) edges.push_back({v, (v + 1) % n});
    for (int ear = rng.below(12); ear > 0; --ear) {
        std::int64_t from = rng.below(n), to = rng.below(n);
        if (from == to) continue;
        for (int inner = rng.below(4); inner > 0; --inner) {
            edges.push_back({from, n});
            from = n++;
        }
        edges.push_back({from, to});
    }
    return shuffled(graph(n, edges), seed);
}

void check_skeletons(const Graph& g) {
    const SpqrTrees trees = spqr_trees(g);
    const auto node_of = [&](std::int64_t e) {
        return std::upper_bound(trees.ptr.begin(), trees.ptr.end(), e) - trees.ptr.begin() - 1;
    };
    std::multiset<std::pair<Vertex, Vertex>> real;
    for (std::int64_t x = 0; x < trees.num_nodes(); ++x) {
        const auto edges = std::span(trees.edges).subspan(trees.ptr[x], trees.ptr[x + 1] - trees.ptr[x]);
        std::set<Vertex> vertices;
        for (auto [u, v] : edges) vertices.insert({u, v});
        switch (static_cast<BagKind>(trees.kind[x])) {
            case BagKind::bridge: CHECK_EQ(edges.size(), 1u); break;
            case BagKind::pair:
                CHECK_EQ(vertices.size(), 2u);
                CHECK(edges.size() >= 3);
                break;
            case BagKind::cycle:
                CHECK_EQ(vertices.size(), edges.size());
                CHECK(edges.size() >= 3);
                for (std::size_t i = 0; i < edges.size(); ++i) CHECK_EQ(edges[i][1], edges[(i + 1) % edges.size()][0]);
                break;
            case BagKind::rigid: CHECK(is_rigid(edges)); break;
            default: CHECK(false);
        }
        for (std::int64_t e = trees.ptr[x]; e < trees.ptr[x + 1]; ++e) {
            const auto ends = std::minmax(trees.edges[e][0], trees.edges[e][1]);
            const std::int64_t partner = trees.partner[e];
            if (partner < 0) {
                real.insert(ends);
                continue;
            }
            CHECK_EQ(trees.partner[partner], e);
            CHECK(ends == std::minmax(trees.edges[partner][0], trees.edges[partner][1]));
            const auto other = node_of(partner);
            CHECK(other != x);
            CHECK_EQ(trees.block[other], trees.block[x]);
            CHECK(trees.kind[other] != trees.kind[x] || trees.kind[x] == static_cast<std::int8_t>(BagKind::rigid));
        }
    }
    std::multiset<std::pair<Vertex, Vertex>> expected;
    for (auto [u, v] : edges_of(g)) expected.insert({static_cast<Vertex>(u), static_cast<Vertex>(v)});
    CHECK(real == expected);
}

}  // namespace

TEST(known_graphs_have_known_kinds) {
    CHECK_EQ(counts(Graph{}), (Counts{0, 0, 0, 0, 0, 0}));
    CHECK_EQ(counts(graph(3, {})), (Counts{0, 3, 0, 0, 0, 0}));
    CHECK_EQ(counts(path(2)), (Counts{0, 0, 1, 0, 0, 0}));
    CHECK_EQ(counts(path(5)), (Counts{0, 3, 4, 0, 0, 0}));
    CHECK_EQ(counts(star(6)), (Counts{0, 1, star(6).view().num_nodes() - 1, 0, 0, 0}));
    CHECK_EQ(counts(cycle(3)), (Counts{0, 0, 0, 1, 0, 0}));
    CHECK_EQ(counts(complete(4)), (Counts{0, 0, 0, 0, 0, 1}));
    CHECK_EQ(counts(wheel(7)), (Counts{0, 0, 0, 0, 0, 1}));
    CHECK_EQ(counts(petersen()), (Counts{0, 0, 0, 0, 0, 1}));
    CHECK_EQ(counts(complete_bipartite(2, 7)), (Counts{0, 0, 0, 7, 1, 0}));
    CHECK_EQ(counts(grid(2, 6)), (Counts{0, 0, 0, 5, 4, 0}));
    CHECK_EQ(counts(paper_graph()), (Counts{0, 0, 0, 2, 1, 0}));
    CHECK_EQ(counts(disjoint_union({cycle(4), graph(1, {}), complete(4)})), (Counts{0, 1, 0, 1, 0, 1}));
}

TEST(skeletons_are_rings_bonds_and_3_connected) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const Graph g = seed % 2 ? random_block(seed) : random_graph(4 + static_cast<int>(seed % 9), 0.4, seed);
        const check::Note note(g);
        check_skeletons(g);
    }
}

TEST(canonical_decompositions_are_valid_and_do_not_depend_on_numbers) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const int n = static_cast<int>(seed % 30);
        const Graph g =
            seed % 3 == 0 ? random_block(seed) : random_graph(n, seed % 3 == 1 ? 1.5 / (n + 1) : 0.15, seed);
        const check::Note note(g);
        const TreeDecomposition td = canonical_decomposition(g);
        CHECK_EQ(first_violation(g, td), std::nullopt);
        CHECK(oracle::is_tree_decomposition(g, td));
        CHECK(is_normalised(g, td, Nested::keep));
        CHECK(td.lower_bound <= td.width());
        std::vector<std::int64_t> same(g.view().num_nodes()), name(same.size()), old(same.size());
        for (std::size_t v = 0; v < same.size(); ++v) same[v] = name[v] = static_cast<std::int64_t>(v);
        Rng(seed).shuffle(name);  // as `shuffled` does
        for (std::size_t v = 0; v < same.size(); ++v) old[name[v]] = static_cast<std::int64_t>(v);
        CHECK(labelled(td, same) == labelled(canonical_decomposition(shuffled(g, seed)), old));
    }
}

TEST(blocks_hold_every_edge_once) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const int n = static_cast<int>(seed % 25);
        const Graph g = random_graph(n, 2.0 / (n + 1), seed);
        const check::Note note(g);
        const BlockCutTree tree = block_cut_tree(g);
        CHECK_EQ(static_cast<std::int64_t>(tree.edges.size()), g.view().num_edges());
        std::map<Vertex, int> blocks;
        for (std::size_t b = 0; b + 1 < tree.node_ptr.size(); ++b) {
            const auto nodes = std::span(tree.nodes).subspan(tree.node_ptr[b], tree.node_ptr[b + 1] - tree.node_ptr[b]);
            CHECK(std::is_sorted(nodes.begin(), nodes.end()));
            std::set<Vertex> ends;
            for (std::int64_t e = tree.edge_ptr[b]; e < tree.edge_ptr[b + 1]; ++e)
                ends.insert({tree.edges[e][0], tree.edges[e][1]});
            CHECK(std::equal(nodes.begin(), nodes.end(), ends.begin(), ends.end()));
            for (Vertex v : nodes) ++blocks[v];
        }
        // A vertex is a cut vertex exactly if the graph falls apart without it.
        std::vector<Vertex> position(n, -1), rest;
        const auto whole = connected_components(g).count();
        for (Vertex v = 0; v < n; ++v) {
            rest.clear();
            for (Vertex u = 0; u < n; ++u)
                if (u != v) rest.push_back(u);
            const bool cut = connected_components(induced_subgraph(g, rest, position)).count() > whole;
            CHECK_EQ(cut, std::binary_search(tree.cut_vertices.begin(), tree.cut_vertices.end(), v));
            CHECK_EQ(cut, blocks[v] > 1);
        }
    }
}

TEST(deep_graphs_need_no_stack) {
    const int n = 200'000;
    CHECK_EQ(counts(path(n)), (Counts{0, n - 2, n - 1, 0, 0, 0}));
    CHECK_EQ(counts(cycle(n)), (Counts{0, 0, 0, 1, 0, 0}));
    CHECK_EQ(counts(grid(2, n / 2)), (Counts{0, 0, 0, n / 2 - 1, n / 2 - 2, 0}));
    CHECK_EQ(counts(complete_bipartite(2, n)), (Counts{0, 0, 0, n, 1, 0}));
    CHECK_EQ(counts(wheel(n)), (Counts{0, 0, 0, 0, 0, 1}));
}

TEST(canonical_work_stops_when_asked) {
    const Graph g = random_graph(400, 0.2, 1);
    for (int stop_after : {1, 2}) {
        int asked = 0;
        Caller caller([&](int, int) { return ++asked < stop_after; }, std::chrono::milliseconds(0));
        CHECK_THROWS(canonical_decomposition(g, nullptr, Watch(caller)), Interrupted, "");
    }
}

TEST(terminal_bags_have_one_leaf_per_member_in_order) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const Graph g = seed % 2 ? random_block(seed) : random_graph(20, 0.08, seed);
        const check::Note note(g);
        const TreeDecomposition td = canonical_decomposition(g);
        HTreeOptions options;
        options.terminal = Terminal::bag;
        const HTree t = build_htree(g, td, options);
        const HTreeView tree{t.parent.view(),     t.level.view(),     t.kappa.view(),
                             t.component.view(),  t.bag_ptr.view(),   t.bag_nodes.view(),
                             t.edge_index.view(), t.edge_type.view(), t.kind.view()};
        CHECK_EQ(first_violation(g, tree), std::nullopt);
        std::vector<Vertex> leaves;
        std::vector<std::int8_t> kinds;
        for (std::int64_t r = 0; r < tree.num_nodes(); ++r) {
            if (tree.parent[r] >= 0) continue;
            kinds.push_back(static_cast<std::int8_t>(tree.kind[r]));
            for (std::int64_t i = 0; i < tree.num_nodes(); ++i)
                if (tree.parent[i] == r) leaves.push_back(static_cast<Vertex>(tree.kappa[i]));
        }
        CHECK_EQ(kinds, td.kinds);
        CHECK_EQ(leaves, td.bag_order);
        options.max_nodes = tree.num_nodes() - 1;
        CHECK_THROWS(build_htree(g, td, options), TreeTooLargeError, "the H-tree exceeds");
    }
}

TEST(rigid_bags_are_refined) {
    const DecomposeOptions options;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Graph g = seed % 2 ? random_block(seed) : random_graph(15 + static_cast<int>(seed % 90), 0.08, seed);
        const check::Note note(g);
        const TreeDecomposition plain = canonical_decomposition(g), fine = canonical_decomposition(g, &options);
        CHECK_EQ(first_violation(g, fine), std::nullopt);
        CHECK(is_normalised(g, fine, Nested::keep));
        CHECK(fine.width() <= plain.width());
        CHECK(fine.lower_bound <= fine.width());
        // All that is not rigid stays as it is.
        Counts before(6, 0), after(6, 0);
        for (std::int8_t kind : plain.kinds) ++before[kind];
        for (std::int8_t kind : fine.kinds) ++after[kind];
        for (int kind = 1; kind < 5; ++kind) CHECK_EQ(before[kind], after[kind]);
        CHECK(after[5] <= before[5]);
        CHECK(after[0] == 0 || after[5] < before[5]);
    }
    CHECK_EQ(canonical_decomposition(complete(6), &options).kinds, canonical_decomposition(complete(6)).kinds);
}
