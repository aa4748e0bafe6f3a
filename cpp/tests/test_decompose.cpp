#include <algorithm>
#include <chrono>

#include "check.hpp"
#include "decompositions.hpp"
#include "graphs.hpp"
#include "neuraltrees/bounds.hpp"
#include "neuraltrees/decompose.hpp"
#include "oracles.hpp"

using namespace neuraltrees;

namespace {

constexpr Method greedy_methods[] = {Method::min_fill, Method::min_degree, Method::junction_tree};
constexpr Method all_methods[] = {Method::min_fill, Method::min_degree, Method::junction_tree, Method::exact,
                                  Method::best};

bool searches(Method method) { return method == Method::exact || method == Method::best; }

TreeDecomposition by(Method method, const Graph& g, std::uint64_t seed = 0, int restarts = 4) {
    DecomposeOptions options;
    options.method = method;
    options.seed = seed;
    options.restarts = restarts;
    return searches(method) ? decompose(g, options, Watch(0.05)) : decompose(g, options);
}

}  // namespace

TEST(small_examples_by_every_method) {
    for (Method method : all_methods) {
        const check::Note note("method", method);
        CHECK_EQ(by(method, Graph{}).view().num_bags(), 0);
        CHECK_EQ(by(method, Graph{}).lower_bound, -1);
        CHECK_EQ(bags_of(by(method, graph(2, {}))), (Bags{{0}, {1}}));
        CHECK_EQ(bags_of(by(method, complete(4))), (Bags{{0, 1, 2, 3}}));
        Bags bags = bags_of(by(method, graph(6, {{5, 3}, {3, 1}, {0, 2}})));
        std::sort(bags.begin() + 1, bags.begin() + 3);
        CHECK_EQ(bags, (Bags{{0, 2}, {1, 3}, {3, 5}, {4}}));
        CHECK_EQ(by(method, cycle(7)).width(), 2);
        CHECK_EQ(by(method, cycle(7)).lower_bound, 2);
        CHECK_EQ(by(method, path(100)).width(), 1);
        CHECK_EQ(by(method, path(100)).view().num_bags(), 99);
    }
    CHECK_EQ(bags_of(by(Method::min_fill, path(3))), (Bags{{1, 2}, {0, 1}}));
}

TEST(decompositions_are_valid_normal_and_no_narrower_than_the_treewidth) {
    for (std::uint64_t seed = 0; seed < 240; ++seed) {
        const Graph g = random_graph(1 + static_cast<int>(seed % 11), 0.08 * static_cast<double>(seed % 12), seed);
        const int exact = oracle::treewidth(g);
        for (Method method : greedy_methods) {
            const check::Note note(g), other("method", method, "seed", seed % 4);
            const TreeDecomposition td = by(method, g, seed % 4);
            CHECK(oracle::is_tree_decomposition(g, td));
            CHECK(is_normalised(g, td));
            CHECK(!oracle::some_bag_inside_another(td));
            CHECK(td.lower_bound <= exact && exact <= td.width());
            CHECK(oracle::degeneracy(g) <= td.lower_bound);
        }
    }
}

TEST(graphs_of_all_sizes_are_decomposed) {
    for (int n : {63, 64, 65, 66, 127, 128, 129, 200})
        for (double degree : {1.0, 4.0, 20.0})
            for (Method method : all_methods) {
                const Graph g = random_graph(n, degree / n, static_cast<std::uint64_t>(n));
                const check::Note note("nodes", n, "degree", degree, "method", method);
                const TreeDecomposition td = by(method, g);
                CHECK_EQ(first_violation(g, td), std::nullopt);
                CHECK(is_normalised(g, td));
                CHECK(td.lower_bound <= td.width());
            }
}

TEST(the_first_run_is_the_plain_rule) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const Graph g = random_connected(70, 0.06, seed);
        const int bound = minor_min_degree(g);
        for (Method method : {Method::min_fill, Method::min_degree}) {
            const Greedy rule = method == Method::min_fill ? Greedy::min_fill() : Greedy::min_degree();
            const auto order = greedy_order(g, rule, seed, bound);
            CHECK_EQ(bags_of(by(method, g, seed, 1)), bags_of(decomposition_from_order(g, order)));
            CHECK_EQ(by(method, g, seed, 1).lower_bound, bound);
        }
    }
}

TEST(restarts_only_help) {
    int helped_small = 0, helped_large = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const bool large = seed % 2 == 0;
        const Graph g = random_connected(large ? 80 : 40, large ? 0.06 : 0.1, seed);
        for (Method method : {Method::min_fill, Method::min_degree}) {
            // The second run of min-fill is fill per neighbour.
            const auto second = greedy_order(g, Greedy::fill_per_degree(), 0, minor_min_degree(g));
            if (method == Method::min_fill && large) CHECK(by(method, g, 0, 2).width() <= width_of_order(g, second));
            int before = by(method, g, 0, 1).width();
            const int first = before;
            for (int restarts : {2, 3, 5, 8}) {
                const int width = by(method, g, 0, restarts).width();
                CHECK(width <= before);
                before = width;
            }
            (large ? helped_large : helped_small) += before < first;
        }
    }
    CHECK(helped_small > 0 && helped_large > 0);
}

TEST(seeds_matter_and_are_repeatable) {
    for (const Graph& g : {random_connected(50, 0.1, 1), random_connected(90, 0.06, 1)})
        for (Method method : {Method::min_fill, Method::min_degree}) {
            int different = 0;
            for (std::uint64_t seed = 0; seed < 5; ++seed) {
                const TreeDecomposition a = by(method, g, seed), b = by(method, g, seed);
                CHECK_EQ(a.bag_nodes, b.bag_nodes);
                CHECK_EQ(a.edges, b.edges);
                different += a.bag_nodes != by(method, g, seed + 1).bag_nodes;
            }
            CHECK(different >= 4);
        }
}

TEST(time_and_threads_leave_each_component_its_own_answer) {
    // What a component gets does not depend on its neighbours in the union.
    std::vector<Graph> parts;
    for (std::uint64_t seed = 0; seed < 200; ++seed)
        parts.push_back(random_connected(1 + static_cast<int>(seed % 9), 0.3, seed));
    parts.push_back(random_connected(80, 0.05, 5));
    const Graph all = disjoint_union(parts);
    for (Method method : {Method::min_fill, Method::min_degree, Method::junction_tree, Method::exact}) {
        DecomposeOptions options;
        options.method = method;
        const TreeDecomposition td = decompose(all, options, method == Method::exact ? Watch(0.3) : Watch());
        CHECK_EQ(first_violation(all, td), std::nullopt);
        CHECK(is_normalised(all, td));
        if (method == Method::exact) continue;
        Bags wanted;
        Vertex offset = 0;
        for (const Graph& part : parts) {
            for (auto bag : bags_of(decompose(part, options))) {
                for (Vertex& v : bag) v += offset;
                wanted.push_back(bag);
            }
            offset += part.view().num_nodes();
        }
        CHECK_EQ(bags_of(td), wanted);
    }
}

TEST(a_better_component_takes_its_place_among_the_others) {
    // Min-fill alone gives this graph width 4. Its neighbours have several bags each and share a chunk with it.
    const Graph misleading = random_connected(10, 0.25, 1689);
    CHECK_EQ(by(Method::min_fill, misleading, 0, 1).width(), 4);
    CHECK_EQ(oracle::treewidth(misleading), 3);
    std::vector<Graph> parts;
    for (int i = 0; i < 90; ++i) {
        parts.push_back(path(4));
        parts.push_back(misleading);
        parts.push_back(cycle(5));
    }
    const Graph g = disjoint_union(parts);
    for (int threads : {1, 3}) {
        DecomposeOptions options;
        options.method = Method::exact;
        options.threads = threads;
        const TreeDecomposition td = decompose(g, options);
        CHECK_EQ(first_violation(g, td), std::nullopt);
        CHECK(is_normalised(g, td));
        CHECK_EQ(td.width(), 3);
        CHECK_EQ(td.lower_bound, 3);
    }
}

TEST(hub_graphs_decompose_quickly) {
    for (const Graph& g : {star(100'000), wheel(100'000)})
        for (Method method : {Method::min_fill, Method::min_degree}) {
            const auto begin = std::chrono::steady_clock::now();
            const TreeDecomposition td = by(method, g);
            CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(15));
            CHECK_EQ(td.width(), g.view().degree(1) == 1 ? 1 : 3);
            CHECK_EQ(first_violation(g, td), std::nullopt);
        }
}

TEST(no_time_still_gives_a_valid_answer_by_every_method) {
    std::vector<Graph> graphs{grid(9, 9), random_connected(300, 0.03, 1), partial_k_tree(2000, 4, 0.9, 2),
                              disjoint_union({random_connected(200, 0.05, 3), path(3), random_connected(90, 0.1, 4),
                                              graph(2, {}), cycle(50), complete(70)})};
    for (const Graph& g : graphs)
        for (Method method : all_methods)
            for (double seconds : {0.0, 0.0002, 0.001, 0.005, 0.02}) {
                const check::Note note("nodes", g.view().num_nodes(), "method", method, "seconds", seconds);
                DecomposeOptions options;
                options.method = method;
                const TreeDecomposition td = decompose(g, options, Watch(seconds));
                CHECK_EQ(first_violation(g, td), std::nullopt);
                CHECK(is_normalised(g, td));
                CHECK(td.lower_bound <= td.width());
                if (seconds == 0) CHECK(td.shortcut == Shortcut::one_bag);
            }
}

TEST(best_is_never_wider_than_min_fill) {
    for (std::uint64_t seed = 0; seed < 9; ++seed) {
        const int n = 20 + 17 * static_cast<int>(seed % 9);
        const Graph g = random_connected(n, 4.0 / n, seed);
        const check::Note note(g);
        for (int restarts : {1, 4}) {
            DecomposeOptions options;
            options.restarts = restarts;
            options.seed = seed % 3;
            const int greedy = decompose(g, options).width();
            options.method = Method::best;
            CHECK(decompose(g, options, Watch(0.2)).width() <= greedy);
        }
    }
}

TEST(time_is_kept_where_fill_explodes) {
    const Graph g = random_connected(6000, 6.0 / 6000, 1);
    for (Method method : all_methods) {
        const check::Note note("method", method);
        DecomposeOptions options;
        options.method = method;
        const auto begin = std::chrono::steady_clock::now();
        const TreeDecomposition td = decompose(g, options, Watch(0.3));
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
        CHECK_EQ(first_violation(g, td), std::nullopt);
        CHECK(td.shortcut != Shortcut::none);
    }
}

TEST(every_method_can_be_interrupted) {
    const Graph g = random_connected(6000, 6.0 / 6000, 1);
    for (Method method : all_methods)
        for (int threads : {1, 2}) {
            const check::Note note("method", method, "threads", threads);
            DecomposeOptions options;
            options.method = method;
            options.threads = threads;
            int asked = 0;
            Caller caller([&](int, int) { return ++asked < 5; }, std::chrono::milliseconds(1));
            const auto begin = std::chrono::steady_clock::now();
            CHECK_THROWS(decompose(g, options, Watch(caller)), Interrupted, "");
            CHECK_EQ(asked, 5);
            CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
        }
}
