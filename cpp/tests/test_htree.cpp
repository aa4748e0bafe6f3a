#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>

#include "check.hpp"
#include "decompositions.hpp"
#include "graphs.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/htree.hpp"
#include "oracles.hpp"

using namespace neuraltrees;

namespace {

using Ints = std::vector<std::int64_t>;
constexpr std::chrono::milliseconds at_once(0);  // the pause between two questions to a caller

HTreeView view(const HTree& t) {
    return {t.parent.view(),  t.level.view(),     t.kappa.view(),      t.component.view(),
            t.bag_ptr.view(), t.bag_nodes.view(), t.edge_index.view(), t.edge_type.view()};
}

HTree build(const Graph& g, const TreeDecomposition& td, const HTreeOptions& options = {}) {
    return build_htree(g, td, options);
}

HTree build(const Graph& g) { return build(g, decompose(g, {})); }

TreeDecomposition one_bag(int n) {
    std::vector<Vertex> all(n);
    std::iota(all.begin(), all.end(), 0);
    return decomposition({all}, {});
}

TreeDecomposition paper_decomposition() { return decomposition({{0, 1, 2}, {1, 2, 3}, {2, 3, 4}}, {{0, 1}, {1, 2}}); }

/// The tree as Algorithm 1 writes it: one line (parent, level, kappa, bag) per node.
struct Line {
    std::int64_t parent, level, kappa;
    std::vector<Vertex> bag;
    bool operator==(const Line&) const = default;
};

std::vector<Line> lines_of(const HTreeView& t) {
    std::vector<Line> out;
    for (std::int64_t i = 0; i < t.num_nodes(); ++i)
        out.push_back({t.parent[i], t.level[i], t.kappa[i], {t.bag(i).begin(), t.bag(i).end()}});
    return out;
}

/// Appends what hangs below a bag, by recursion on its definition.
void hang(GraphView g, const DecomposeOptions& options, std::vector<Line>& lines, std::int64_t node) {
    const std::vector<Vertex> bag = lines[node].bag;
    const std::int64_t level = lines[node].level + 1;
    std::vector<Vertex> position(g.num_nodes(), -1);
    const Graph inside = induced_subgraph(g, bag, position);
    const auto n = static_cast<std::int64_t>(bag.size());
    if (inside.view().num_edges() == n * (n - 1) / 2) {
        for (Vertex v : bag) lines.push_back({node, level, v, {v}});
        return;
    }
    Bags parts;
    if (n <= SmallGraph::max_nodes) {
        const SmallDecomposition td = decompose_small(small(inside), options);
        for (int b = 0; b < td.count; ++b) {
            parts.emplace_back();
            for (int i = 0; i < n; ++i)
                if (td.bag[b] >> i & 1) parts.back().push_back(i);
        }
    } else {
        parts = bags_of(decompose(inside, options));
    }
    for (auto part : parts) {
        for (Vertex& v : part) v = bag[v];
        lines.push_back({node, level, -1, part});
        hang(g, options, lines, static_cast<std::int64_t>(lines.size()) - 1);
    }
}

/// Component by component, the roots first.
std::vector<Line> expected_lines(const Graph& g, const TreeDecomposition& td, const DecomposeOptions& options) {
    const Components components = connected_components(g);
    const Bags bags = bags_of(td);
    std::vector<Line> lines;
    for (std::size_t b = 0; b < bags.size();) {
        const std::size_t first = b;
        const auto root = static_cast<std::int64_t>(lines.size());
        for (; b < bags.size() && components.label[bags[b][0]] == components.label[bags[first][0]]; ++b)
            lines.push_back({-1, 0, -1, bags[b]});
        for (std::size_t r = first; r < b; ++r) hang(g, options, lines, root + static_cast<std::int64_t>(r - first));
    }
    return lines;
}

void check_tree(const Graph& g, const TreeDecomposition& td, const HTreeOptions& options) {
    const HTree tree = build(g, td, options);
    CHECK_EQ(first_violation(g, view(tree)), std::nullopt);
    CHECK(lines_of(view(tree)) == expected_lines(g, td, options.nested));
}

/// The arrays of a tree, to be changed.
struct Arrays {
    Ints parent, level, kappa, component, bag_ptr{0}, bag_nodes, edge_index, edge_type;

    Arrays() = default;
    explicit Arrays(const HTree& t)
        : parent(copy(t.parent)), level(copy(t.level)), kappa(copy(t.kappa)), component(copy(t.component)),
          bag_ptr(copy(t.bag_ptr)), bag_nodes(copy(t.bag_nodes)), edge_index(copy(t.edge_index)),
          edge_type(copy(t.edge_type)) {}
    HTreeView view() const { return {parent, level, kappa, component, bag_ptr, bag_nodes, edge_index, edge_type}; }
    static Ints copy(const Buffer& b) { return {b.view().begin(), b.view().end()}; }
};

/// The arrays of a tree given line by line; a parent comes before its children, and all is one component.
Arrays arrays_of(const std::vector<Line>& lines, const Edges& root_edges) {
    Arrays a;
    for (const Line& line : lines) {
        a.parent.push_back(line.parent);
        a.level.push_back(line.level);
        a.kappa.push_back(line.kappa);
        a.component.push_back(0);
        a.bag_nodes.insert(a.bag_nodes.end(), line.bag.begin(), line.bag.end());
        a.bag_ptr.push_back(static_cast<std::int64_t>(a.bag_nodes.size()));
    }
    Ints source, target;
    auto join = [&](std::int64_t u, std::int64_t v, std::int64_t type) {
        source.push_back(u);
        target.push_back(v);
        a.edge_type.push_back(type);
    };
    for (auto [u, v] : root_edges) join(u, v, 0), join(v, u, 0);
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (lines[i].parent >= 0) {
            join(static_cast<std::int64_t>(i), lines[i].parent, 1);
            join(lines[i].parent, static_cast<std::int64_t>(i), 2);
        }
    a.edge_index = source;
    a.edge_index.insert(a.edge_index.end(), target.begin(), target.end());
    return a;
}

/// A bag of a complete graph below `parent`, with its leaves.
void add_bag(std::vector<Line>& lines, std::int64_t parent, const std::vector<Vertex>& bag) {
    const auto node = static_cast<std::int64_t>(lines.size());
    const std::int64_t level = parent < 0 ? 0 : lines[parent].level + 1;
    lines.push_back({parent, level, -1, bag});
    for (Vertex v : bag) lines.push_back({node, level + 1, v, {v}});
}

constexpr Ints Arrays::* all_arrays[] = {&Arrays::parent,  &Arrays::level,     &Arrays::kappa,      &Arrays::component,
                                         &Arrays::bag_ptr, &Arrays::bag_nodes, &Arrays::edge_index, &Arrays::edge_type};

/// The longest shortest path of every tree, from all nodes.
Ints slow_diameters(const HTreeView& t) {
    std::vector<Ints> next(t.num_nodes());
    for (std::int64_t e = 0; e < t.num_edges(); ++e) next[t.edge_index[e]].push_back(t.edge_index[t.num_edges() + e]);
    Ints longest;
    for (std::int64_t start = 0; start < t.num_nodes(); ++start) {
        longest.resize(std::max<std::size_t>(longest.size(), t.component[start] + 1), 0);
        Ints distance(t.num_nodes(), -1), queue{start};
        distance[start] = 0;
        for (std::size_t head = 0; head < queue.size(); ++head)
            for (std::int64_t u : next[queue[head]])
                if (distance[u] < 0) distance[u] = distance[queue[head]] + 1, queue.push_back(u);
        longest[t.component[start]] = std::max(longest[t.component[start]], distance[queue.back()]);
    }
    return longest;
}

}  // namespace

TEST(the_papers_figure) {
    const HTree t = build(paper_graph(), paper_decomposition());
    CHECK_EQ(t.parent.view(), (Ints{-1, -1, -1, 0, 3, 3, 0, 6, 6, 1, 9, 9, 1, 12, 12, 2, 2, 2}));
    CHECK_EQ(t.level.view(), (Ints{0, 0, 0, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 1, 1}));
    CHECK_EQ(t.kappa.view(), (Ints{-1, -1, -1, -1, 0, 2, -1, 0, 1, -1, 2, 3, -1, 1, 3, 2, 3, 4}));
    CHECK_EQ(t.component.view(), Ints(18, 0));
    CHECK_EQ(t.bag_ptr.view(), (Ints{0, 3, 6, 9, 11, 12, 13, 15, 16, 17, 19, 20, 21, 23, 24, 25, 26, 27, 28}));
    CHECK_EQ(t.bag_nodes.view(),
             (Ints{0, 1, 2, 1, 2, 3, 2, 3, 4, 0, 2, 0, 2, 0, 1, 0, 1, 2, 3, 2, 3, 1, 3, 1, 3, 2, 3, 4}));
    CHECK_EQ(view(t).num_edges(), 2 * 17);
    // Root-root pairs first, then all nodes to their parents, then the same pairs turned round.
    Ints source{0, 1, 1, 2}, target{1, 0, 2, 1}, type{0, 0, 0, 0};
    for (int way : {1, 2})
        for (std::int64_t i = 3; i < 18; ++i) {
            source.push_back(way == 1 ? i : t.parent.view()[i]);
            target.push_back(way == 1 ? t.parent.view()[i] : i);
            type.push_back(way);
        }
    source.insert(source.end(), target.begin(), target.end());
    CHECK_EQ(t.edge_index.view(), source);
    CHECK_EQ(t.edge_type.view(), type);
    CHECK_EQ(first_violation(paper_graph(), view(t)), std::nullopt);
    CHECK_EQ(diameters(view(t)), (Ints{5}));
}

TEST(the_smallest_trees) {
    const HTree none = build(Graph{});
    CHECK_EQ(none.parent.size, 0);
    CHECK_EQ(none.bag_ptr.view(), (Ints{0}));
    CHECK_EQ(first_violation(Graph{}, view(none)), std::nullopt);
    CHECK_EQ(diameters(view(none)), Ints{});
    const HTree one = build(graph(1, {}));
    CHECK_EQ(one.parent.view(), (Ints{-1, 0}));
    CHECK_EQ(one.kappa.view(), (Ints{-1, 0}));
    CHECK_EQ(one.bag_nodes.view(), (Ints{0, 0}));
    CHECK_EQ(one.edge_index.view(), (Ints{1, 0, 0, 1}));
    CHECK_EQ(one.edge_type.view(), (Ints{1, 2}));
    const HTree forest = build(graph(3, {{0, 2}}));
    CHECK_EQ(forest.parent.view(), (Ints{-1, 0, 0, -1, 3}));
    CHECK_EQ(forest.component.view(), (Ints{0, 0, 0, 1, 1}));
    CHECK_EQ(forest.kappa.view(), (Ints{-1, 0, 2, -1, 1}));
    CHECK_EQ(diameters(view(forest)), (Ints{2, 1}));
}

TEST(a_bag_may_fall_apart) {
    // One bag for the square 0-1-2-3 without its edges 1-2 and 3-0: what hangs below has two parts.
    const Graph g = graph(4, {{0, 1}, {2, 3}, {0, 2}});
    const HTree t = build(g, one_bag(4));
    CHECK_EQ(first_violation(g, view(t)), std::nullopt);
    const Graph apart = graph(5, {{0, 1}, {2, 3}, {4, 0}, {4, 1}, {4, 2}, {4, 3}});
    const TreeDecomposition td = decomposition({{0, 1, 2, 3, 4}}, {});
    const HTree nested = build(apart, td);
    CHECK_EQ(lines_of(view(nested))[1].bag.size(), 3);
    CHECK_EQ(first_violation(apart, view(nested)), std::nullopt);
}

TEST(trees_follow_algorithm_1) {
    for (std::uint64_t seed = 0; seed < 250; ++seed) {
        Rng rng(seed);
        const Graph g = random_graph(1 + rng.below(14), 0.1 * rng.below(10), seed);
        HTreeOptions options;
        options.nested.method = std::array{Method::min_fill, Method::min_degree, Method::junction_tree}[seed % 3];
        options.nested.seed = seed % 4;
        options.nested.restarts = 1 + static_cast<int>(seed % 3);
        const check::Note note(g), other("seed", seed);
        check_tree(g, decompose(g, options.nested), options);
        check_tree(g, normalised(g, messy_decomposition(g, seed)), options);
    }
}

TEST(sparse_graphs_of_many_bags_follow_algorithm_1) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const Graph g = partial_k_tree(400, 2 + static_cast<int>(seed % 4), 0.8, seed);
        check_tree(g, decompose(g, {}), {});
    }
    // Hubs: their long rows are not scanned for every bag.
    check_tree(wheel(300), decompose(wheel(300), {}), {});
    const Graph hubs = complete_bipartite(4, 60);
    check_tree(hubs, decompose(hubs, {}), {});
    check_tree(shuffled(hubs, 1), decompose(shuffled(hubs, 1), {}), {});
}

TEST(exact_counts_as_min_fill_below_the_roots) {
    HTreeOptions options;
    options.nested.method = Method::exact;
    const Graph g = petersen();
    const HTree a = build(g, one_bag(10), options), b = build(g, one_bag(10));
    CHECK_EQ(a.bag_nodes.view(), b.bag_nodes.view());
}

TEST(bags_of_more_than_64_vertices_nest) {
    check_tree(cycle(100), one_bag(100), {});
    check_tree(grid(9, 9), one_bag(81), {});
    check_tree(random_graph(90, 0.05, 1), normalised(random_graph(90, 0.05, 1), one_bag(90)), {});
    check_tree(complete(80), one_bag(80), {});
    // Wide bags below wide bags: three pairs of 75 are strangers, so the bags halve three times.
    Edges edges;
    for (int u = 0; u < 75; ++u)
        for (int v = u + 1; v < 75; ++v)
            if (u >= 6 || v >= 6 || u / 2 != v / 2) edges.push_back({u, v});
    const Graph nearly = graph(75, edges);
    check_tree(nearly, one_bag(75), {});
    CHECK_EQ(build(nearly, one_bag(75)).parent.size, 1 + 2 + 4 + 8 * (1 + 72));
    for (Method method : {Method::min_degree, Method::junction_tree}) {
        HTreeOptions options;
        options.nested.method = method;
        check_tree(random_connected(70, 0.04, 2), one_bag(70), options);
    }
}

TEST(plans_kept_from_one_tree_do_not_leak_into_the_next) {
    // The same bags under other rules, turn by turn.
    std::vector<Graph> graphs;
    for (std::uint64_t seed = 0; seed < 8; ++seed) graphs.push_back(random_connected(11, 0.4, seed));
    for (int round = 0; round < 3; ++round)
        for (Method method : {Method::min_fill, Method::min_degree, Method::junction_tree})
            for (std::uint64_t seed : {0, 1})
                for (int restarts : {1, 4})
                    for (const Graph& g : graphs) {
                        HTreeOptions options;
                        options.nested.method = method;
                        options.nested.seed = seed;
                        options.nested.restarts = restarts;
                        check_tree(g, one_bag(11), options);
                    }
}

TEST(a_tree_may_have_exactly_as_many_nodes_as_allowed) {
    HTreeOptions options;
    options.max_nodes = 18;
    CHECK_EQ(build(paper_graph(), paper_decomposition(), options).parent.size, 18);
    options.max_nodes = 17;
    CHECK_THROWS(build(paper_graph(), paper_decomposition(), options), TreeTooLargeError, "exceeds 17 nodes");
    for (const auto& [g, td] : {std::pair{cycle(70), one_bag(70)},
                                {complete(70), one_bag(70)},
                                {grid(3, 3), one_bag(9)},
                                {star(600), decompose(star(600), {})},
                                {cocktail_party(16), one_bag(16)}}) {
        const std::int64_t nodes = build(g, td).parent.size;
        options.max_nodes = nodes;
        CHECK_EQ(build(g, td, options).parent.size, nodes);
        for (std::int64_t fewer : {nodes - 1, nodes / 2, std::int64_t{1}, std::int64_t{0}}) {
            options.max_nodes = fewer;
            CHECK_THROWS(build(g, td, options), TreeTooLargeError, "exceeds " + std::to_string(fewer) + " nodes");
        }
    }
}

TEST(a_tree_that_would_explode_is_refused_early) {
    // Each pair of strangers doubles the tree: 60 guests at a cocktail party would need some 2^30 bags.
    HTreeOptions options;
    options.max_nodes = 100'000;
    const auto begin = std::chrono::steady_clock::now();
    for (int guests = 20; guests <= 60; guests += 4) {
        const Graph g = cocktail_party(guests);
        const check::Note note("guests", guests);
        if (guests <= 24) {
            const HTree t = build(g, one_bag(guests), options);
            CHECK_EQ(first_violation(g, view(t)), std::nullopt);
            // 2^i bags of depth i, and a leaf for each of the guests/2 vertices of the last ones.
            const std::int64_t last = std::int64_t{1} << guests / 2;
            CHECK_EQ(t.parent.size, 2 * last - 1 + last * (guests / 2));
        } else {
            CHECK_THROWS(build(g, one_bag(guests), options), TreeTooLargeError, "exceeds 100000 nodes");
        }
    }
    for (int guests : {70, 90, 120})
        CHECK_THROWS(build(cocktail_party(guests), one_bag(guests), options), TreeTooLargeError, "");
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
    // The error names the width of the decomposition, not of the bag that happened to be at work.
    for (int guests : {40, 100}) {
        int width = -1;
        try {
            build(cocktail_party(guests), one_bag(guests), options);
        } catch (const TreeTooLargeError& error) {
            width = error.width;
        }
        CHECK_EQ(width, guests - 1);
    }
    // Many modest bags count together.
    const Graph many = disjoint_union(std::vector<Graph>(200, cocktail_party(12)));
    options.max_nodes = 1000;
    CHECK_THROWS(build(many, decompose(many, {}), options), TreeTooLargeError, "exceeds 1000 nodes");
}

TEST(building_can_be_interrupted) {
    const Graph g = partial_k_tree(3000, 3, 0.8, 1);
    const TreeDecomposition td = decompose(g, {});
    for (int threads : {1, 4}) {
        HTreeOptions options;
        options.nested.threads = threads;
        Caller patient([](int, int) { return true; }, at_once);
        CHECK(build_htree(g, td, options, Watch(patient)).parent.size > 3000);
        Caller impatient([](int, int) { return false; }, at_once);
        CHECK_THROWS(build_htree(g, td, options, Watch(impatient)), Interrupted, "");
    }
    // A single bag can be long work: it asks as it nests.
    for (int n : {60, 120}) {
        int asked = 0;
        Caller later([&](int, int) { return ++asked <= 10; }, at_once);
        const Graph bag = shuffled(cocktail_party(n), 1);
        HTreeOptions options;
        options.max_nodes = std::int64_t{1} << 40;
        CHECK_THROWS(build_htree(bag, one_bag(n), options, Watch(later)), Interrupted, "");
        CHECK_EQ(asked, 11);
    }
}

TEST(the_number_of_nodes_is_announced_before_they_are_made) {
    const Graph g = partial_k_tree(300, 3, 0.8, 1);
    HTreeOptions options;
    std::int64_t announced = 0;
    options.announce = [&](std::int64_t nodes, int) { announced = nodes; };
    CHECK_EQ(build(g, decompose(g, {}), options).parent.size, announced);
}

TEST(a_tree_that_is_far_too_large_is_refused_after_a_sample) {
    // Its bags of some hundred nodes are sparse: each by itself is no trouble, but there are many.
    const Graph g = random_connected(1500, 4.0 / 1500, 1);
    DecomposeOptions once;
    once.restarts = 1;
    const TreeDecomposition td = decompose(g, once);
    CHECK(td.width() > 100);
    HTreeOptions options;
    options.nested.restarts = 1;
    options.max_nodes = 20'000;
    const auto begin = std::chrono::steady_clock::now();
    try {
        build(g, td, options);
        CHECK(false);
    } catch (const TreeTooLargeError& error) {
        CHECK(!error.exact && error.nodes > options.max_nodes && error.width == td.width());
    }
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
    // An estimate refuses nothing that fits.
    options.max_nodes = 10'000'000;
    options.max_nodes = build(g, td, options).parent.size;
    CHECK_EQ(build(g, td, options).parent.size, options.max_nodes);
}

TEST(a_large_tree_of_a_large_graph_says_how_many_nodes_it_needs) {
    const Graph g = grid(3, 2000);
    const TreeDecomposition td = decompose(g, {});
    HTreeOptions options;
    options.max_nodes = 1000;
    const std::int64_t needed = build(g, td).parent.size;
    try {
        build(g, td, options);
        CHECK(false);
    } catch (const TreeTooLargeError& error) {
        CHECK(error.exact);
        CHECK_EQ(error.nodes, needed);
        CHECK_EQ(error.width, 3);
    }
}

TEST(hub_graphs_become_trees_quickly) {
    for (const Graph& g : {star(100'000), wheel(100'000)}) {
        const TreeDecomposition td = decompose(g, {});
        const auto begin = std::chrono::steady_clock::now();
        const HTree t = build(g, td);
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
        CHECK_EQ(first_violation(g, view(t)), std::nullopt);
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
    }
}

TEST(diameters_are_those_of_a_search_from_every_node) {
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        const Graph g = random_graph(1 + static_cast<int>(seed % 16), 0.06 * static_cast<double>(seed % 9), seed);
        const HTree t = build(g, seed % 2 ? normalised(g, messy_decomposition(g, seed)) : decompose(g, {}));
        const check::Note note(g);
        CHECK_EQ(diameters(view(t)), slow_diameters(view(t)));
    }
}

TEST(a_broken_invariant_is_named) {
    const Graph g = paper_graph();
    const Arrays good(build(g, paper_decomposition()));
    auto why = [&](const std::function<void(Arrays&)>& breaking) {
        Arrays arrays = good;
        breaking(arrays);
        return first_violation(g, arrays.view()).value_or("");
    };
    CHECK_EQ(why([](Arrays&) {}), "");
    CHECK_EQ(why([](Arrays& a) { a.level.pop_back(); }),
             "the arrays parent, level, kappa, component and bag_ptr disagree about the number of nodes");
    CHECK_EQ(why([](Arrays& a) { a.edge_type.pop_back(); }),
             "edge_index and edge_type disagree about the number of edges");
    CHECK_EQ(why([](Arrays& a) { a.bag_nodes.pop_back(); }), "bag_ptr does not span bag_nodes");
    CHECK_EQ(why([](Arrays& a) { std::swap(a.bag_ptr[1], a.bag_ptr[2]); }), "bag_ptr decreases at node 1");
    CHECK_EQ(why([](Arrays& a) { a.parent[4] = 5; }), "the parent of node 4 is 5, not an earlier node or -1");
    CHECK_EQ(why([](Arrays& a) { a.level[4] = 1; }), "the level of node 4 is not its parent's plus one");
    CHECK_EQ(why([](Arrays& a) { a.component[4] = 1; }), "node 4 is in another component than its parent");
    CHECK_EQ(why([](Arrays& a) { std::fill(a.component.begin(), a.component.end(), 1); }),
             "node 0 is in component 1, but its bag is in component 0");
    CHECK_EQ(why([](Arrays& a) { a.bag_nodes[11] = 4; }), "the bag of node 4 is not inside its parent's");
    CHECK_EQ(why([](Arrays& a) { a.bag_nodes[0] = 1; }), "the bag of node 0 is not sorted");
    CHECK_EQ(why([](Arrays& a) { a.bag_nodes[0] = -1; }),
             "the bag of node 0 holds -1, but the graph's nodes are 0 to 4");
    CHECK_EQ(why([](Arrays& a) { a.edge_type[0] = 3; }), "edge 0 has type 3, not 0, 1 or 2");
    CHECK_EQ(why([](Arrays& a) { a.edge_type[0] = 1; }), "edge 0 of type 1 is not the one from a child to its parent");
    CHECK_EQ(why([](Arrays& a) { a.edge_index[0] = 18; }), "edge 0 names a node that is not there");
    CHECK_EQ(why([](Arrays& a) { a.edge_index[0] = 3; }), "edge 0 of type 0 does not join two roots");
    CHECK_EQ(why([](Arrays& a) { a.kappa[4] = 2; }), "the bag of leaf 4 is not its kappa alone");
    CHECK_EQ(why([](Arrays& a) { a.kappa[4] = -1; }), "node 4 has neither children nor a kappa");
    CHECK_EQ(why([](Arrays& a) { a.kappa[3] = 0; }), "node 3 is a leaf with children");
    // The same tree seen as that of other graphs.
    auto of = [&](const Edges& edges) { return first_violation(graph(5, edges), good.view()).value_or(""); };
    CHECK_EQ(of({{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}, {2, 4}, {3, 4}}),
             "the graph of node 0 is complete, but not all of its children are leaves");
    CHECK_EQ(of({{0, 1}, {0, 2}, {1, 3}, {2, 3}, {2, 4}}),
             "the graph of node 2 is not complete, but its children are leaves");
    CHECK_EQ(of({{0, 1}, {0, 2}, {1, 3}, {2, 3}, {2, 4}, {3, 4}, {0, 4}}),
             "the root bags are no tree decomposition: edge 0-4 is in no bag");
    CHECK_EQ(first_violation(graph(6, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {2, 4}, {3, 4}}), good.view()).value_or(""),
             "the root bags are no tree decomposition: node 5 is in no bag");
}

TEST(children_must_be_a_tree_decomposition) {
    auto why = [](const Graph& g, const Bags& children) {
        std::vector<Line> lines{{-1, 0, -1, {0, 1, 2, 3}}};
        for (const auto& bag : children) add_bag(lines, 0, bag);
        return first_violation(g, arrays_of(lines, {}).view()).value_or("");
    };
    CHECK_EQ(why(path(4), {{0, 1}, {1, 2}, {2, 3}}), "");
    // No tree can join the four edges of a square.
    CHECK_EQ(why(cycle(4), {{0, 1}, {1, 2}, {2, 3}, {0, 3}}),
             "the children of node 0 are no tree decomposition: their intersections span 3, not 4");
    CHECK_EQ(why(cycle(4), {{0, 1}, {1, 2}, {2, 3}}), "edge 0-3 is in no child of node 0");
    CHECK_EQ(why(path(4), {{0, 1}, {1, 2}}), "graph node 3 has no leaf");
    CHECK_EQ(why(path(4), {{0, 1}, {1, 2}, {2, 3}, {2}}),
             "of the children of node 0, the bag of 4 contains that of 10");
    std::vector<Line> lines = lines_of(view(build(paper_graph(), paper_decomposition())));
    lines.erase(lines.begin() + 15);  // a leaf of the last bag, whose vertex has others elsewhere
    CHECK_EQ(first_violation(paper_graph(), arrays_of(lines, {{0, 1}, {1, 2}}).view()).value_or(""),
             "the children of node 2 do not cover its bag");
    std::vector<Line> twice;
    add_bag(twice, -1, {0, 1});
    CHECK_EQ(first_violation(path(2), arrays_of(twice, {}).view()), std::nullopt);
    twice.push_back({0, 1, 1, {1}});
    CHECK_EQ(first_violation(path(2), arrays_of(twice, {}).view()).value_or(""),
             "node 0 has two leaves of one graph node");
}

TEST(no_part_of_a_tree_can_be_left_out) {
    for (const Graph& g : {paper_graph(), complete(4), path(5), cycle(6), cocktail_party(6), wheel(6)}) {
        const TreeDecomposition td = decompose(g, {});
        const HTree tree = build(g, td);
        const std::vector<Line> lines = lines_of(view(tree));
        Edges root_edges;
        for (auto [a, b] : td.edges) root_edges.push_back({a, b});
        CHECK_EQ(first_violation(g, arrays_of(lines, root_edges).view()), std::nullopt);
        for (std::size_t cut = static_cast<std::size_t>(td.view().num_bags()); cut < lines.size(); ++cut) {
            std::vector<Line> rest;
            std::vector<std::int64_t> number(lines.size(), -1);
            for (std::size_t i = 0; i < lines.size(); ++i) {
                if (i == cut || (lines[i].parent >= 0 && number[lines[i].parent] < 0)) continue;
                number[i] = static_cast<std::int64_t>(rest.size());
                rest.push_back(lines[i]);
                if (lines[i].parent >= 0) rest.back().parent = number[lines[i].parent];
            }
            const check::Note note(g), other("without node", cut);
            CHECK(first_violation(g, arrays_of(rest, root_edges).view()).has_value());
        }
    }
}

TEST(diameters_refuse_what_is_no_tree) {
    Arrays good(build(paper_graph(), paper_decomposition()));
    auto refuse = [&](const std::function<void(Arrays&)>& breaking) {
        Arrays arrays = good;
        breaking(arrays);
        CHECK_THROWS(diameters(arrays.view()), InputError, "Expected an H-tree");
    };
    refuse([](Arrays& a) { a.component.pop_back(); });
    refuse([](Arrays& a) { a.edge_index.pop_back(); });
    refuse([](Arrays& a) { a.parent[3] = 3; });
    refuse([](Arrays& a) { a.component[3] = -1; });
    refuse([](Arrays& a) { a.component[3] = 18; });
    refuse([](Arrays& a) { a.edge_index[5] = 18; });
    refuse([](Arrays& a) { a.edge_index.back() = -1; });
}

TEST(no_single_entry_of_a_tree_can_be_changed) {
    for (const Graph& g : {paper_graph(), disjoint_union({path(3), complete(3), graph(1, {})}), cycle(5)}) {
        Arrays arrays(build(g));
        const auto nodes = static_cast<std::int64_t>(arrays.parent.size());
        for (Ints Arrays::* array : all_arrays)
            for (std::size_t i = 0; i < (arrays.*array).size(); ++i) {
                const std::int64_t before = (arrays.*array)[i];
                for (std::int64_t value = -2; value <= nodes + 1; ++value) {
                    if (value == before) continue;
                    (arrays.*array)[i] = value;
                    const auto which = std::ranges::find(all_arrays, array) - all_arrays;
                    const check::Note note(g), other("array", which, "entry", i, "was", before, "is", value);
                    CHECK(first_violation(g, arrays.view()).has_value());
                }
                (arrays.*array)[i] = before;
            }
        CHECK_EQ(first_violation(g, arrays.view()), std::nullopt);
    }
}

TEST(trees_from_anywhere_are_judged_without_harm) {
    // Several changes at once, arrays of wrong lengths among them: whatever the answer, nothing may crash.
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        Rng rng(seed);
        const Graph g = random_graph(1 + rng.below(6), 0.5, seed % 20);
        Arrays a(build(g));
        for (int wounds = 1 + rng.below(4); wounds > 0; --wounds) {
            Ints& array = a.*all_arrays[rng.below(8)];
            if (rng.chance(0.1)) array.resize(array.size() + 1 - (array.empty() ? 0 : 2 * rng.below(2)));
            if (array.empty()) continue;
            std::int64_t& entry = array[rng.below(static_cast<int>(array.size()))];
            entry = rng.chance(0.1) ? static_cast<std::int64_t>(rng.next()) : rng.below(20) - 2;
        }
        first_violation(g, a.view());
        try {
            diameters(a.view());
        } catch (const InputError&) {
        }
    }
}

TEST(trees_of_32_bits_are_the_same) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Graph g = partial_k_tree(40, 4, 0.7, seed);
        const TreeDecomposition td = decompose(g, {});
        const HTree wide = build(g, td);
        const NarrowHTree narrow = build_htree<std::int32_t>(g, td, {});
        const HTreeViewOf<std::int32_t> seen{narrow.parent.view(),     narrow.level.view(),    narrow.kappa.view(),
                                             narrow.component.view(),  narrow.bag_ptr.view(),  narrow.bag_nodes.view(),
                                             narrow.edge_index.view(), narrow.edge_type.view()};
        CHECK(std::ranges::equal(narrow.parent.view(), wide.parent.view()));
        CHECK(std::ranges::equal(narrow.level.view(), wide.level.view()));
        CHECK(std::ranges::equal(narrow.kappa.view(), wide.kappa.view()));
        CHECK(std::ranges::equal(narrow.component.view(), wide.component.view()));
        CHECK(std::ranges::equal(narrow.bag_ptr.view(), wide.bag_ptr.view()));
        CHECK(std::ranges::equal(narrow.bag_nodes.view(), wide.bag_nodes.view()));
        CHECK(std::ranges::equal(narrow.edge_index.view(), wide.edge_index.view()));
        CHECK(std::ranges::equal(narrow.edge_type.view(), wide.edge_type.view()));
        CHECK_EQ(diameters(seen), diameters(view(wide)));
        CHECK(!first_violation(g, seen));
    }
}

TEST(numbers_that_do_not_fit_are_refused_before_memory_is_taken) {
    const Graph g = graph(3, {{0, 1}, {1, 2}});
    const TreeDecomposition td = decompose(g, {});
    CHECK_EQ(build_fitting_htree(g, td, {}).index(), 0u);
    const Graph large = disjoint_union(std::vector<Graph>(12'000, graph(2, {{0, 1}})));
    const TreeDecomposition bags = decompose(large, {});
    CHECK_EQ(build(large, bags).parent.size, 36'000);
    CHECK_THROWS(build_htree<std::int16_t>(large, bags, {}), InputError, "fit into 16 bits; got 36000 nodes");
}
