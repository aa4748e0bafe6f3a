#include <cmath>
#include <random>

#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/rooted_forest.hpp"
#include "neuraltrees/sweep.hpp"

using namespace neuraltrees;

namespace {

using Ids = std::vector<std::int64_t>;
using Rows = std::vector<double>;

/// A random forest: the parent of a node is one of the `back` before it, or there is none.
Ids random_forest(std::int64_t n, std::int64_t back, std::mt19937_64& random) {
    Ids parent(n, -1);
    for (std::int64_t v = 1; v < n; ++v)
        if (random() % 10 > 0)
            parent[v] = std::max<std::int64_t>(0, v - 1 - static_cast<std::int64_t>(random() % back));
    return parent;
}

Rows numbers(std::size_t count, std::mt19937_64& random) {
    Rows out(count);
    for (double& x : out) x = std::uniform_real_distribution<double>(0.1, 0.9)(random);
    return out;
}

/// The sum over all nodes of a tree, weighted by the factors along the path, by walking up from both nodes.
Rows dense(const Ids& parent, const Rows& values, const Rows& factors, std::int64_t channels) {
    const auto n = static_cast<std::int64_t>(parent.size());
    Rows out(values.size(), 0.0);
    const auto depth = [&](std::int64_t v) {
        int d = 0;
        for (; parent[v] >= 0; v = parent[v]) ++d;
        return d;
    };
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t c = 0; c < channels; ++c) {
                std::int64_t u = i, v = j;
                double product = 1;
                const auto climb = [&](std::int64_t& w) {
                    product *= factors[w * channels + c];
                    w = parent[w];
                };
                while (u != v && u >= 0 && v >= 0) climb(depth(u) >= depth(v) ? u : v);
                if (u == v) out[i * channels + c] += product * values[j * channels + c];
            }
    return out;
}

double distance(const Rows& a, const Rows& b) {
    double most = a.size() == b.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) most = std::max(most, std::abs(a[i] - b[i]));
    return most;
}

Rows swept(const SweepForest& forest, const Rows& values, const Rows& factors, std::int64_t channels, int threads) {
    Rows sums(values.size()), out(values.size()), in_place(values.size());
    sweep<double>(forest, values.data(), {factors.data(), true}, sums.data(), out.data(), channels, threads);
    sweep<double>(forest, values.data(), {factors.data(), true}, in_place.data(), in_place.data(), channels, 1);
    CHECK_EQ(out, in_place);
    return out;
}

}  // namespace

TEST(a_chain_is_rooted_in_the_middle) {
    const RootedForest forest = root_at_centres(path(5));
    CHECK_EQ(forest.order, (Ids{2, 1, 3, 0, 4}));
    CHECK_EQ(forest.parent, (Ids{-1, 0, 0, 1, 2}));
    CHECK_EQ(forest.tree_ptr, (Ids{0, 5}));
    CHECK_EQ(forest.depth, 2);
    CHECK_EQ(forest.largest, 5);
}

TEST(forests_without_nodes_or_edges) {
    CHECK_EQ(root_at_centres(graph(0, {})).tree_ptr, Ids{0});
    CHECK_EQ(root_at_centres(graph(3, {})).tree_ptr, (Ids{0, 1, 2, 3}));
    CHECK_EQ(root_as_given(Ids{}).tree_ptr, Ids{0});
}

TEST(cycles_are_refused) {
    CHECK_THROWS(root_at_centres(cycle(4)), InputError, "Expected a forest; got 4 nodes and 4 edges");
    CHECK_THROWS(root_as_given(Ids{1, 0}), InputError, "a cycle above node 0");
    CHECK_THROWS(root_as_given(Ids{2}), InputError, "got 2 at node 0");
    CHECK_THROWS(root_as_given(Ids{-2}), InputError, "got -2 at node 0");
}

TEST(a_deep_chain_needs_no_stack) {
    constexpr std::int64_t n = 200000;
    Ids parent(n);
    for (std::int64_t v = 0; v < n; ++v) parent[v] = v + 1 < n ? v + 1 : -1;
    const RootedForest forest = root_as_given(parent);
    CHECK_EQ(forest.depth, n - 1);
    CHECK_EQ(forest.order[0], n - 1);
}

TEST(sweeps_are_those_of_the_dense_kernel) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 60; ++round) {
        const std::int64_t n = static_cast<std::int64_t>(random() % 25), channels = 1 + random() % 70;
        const Ids parent = random_forest(n, 1 + round % 5, random);
        const RootedForest placed = root_as_given(parent);
        const SweepForest forest{placed.parent, placed.order, placed.tree_ptr};
        check_forest(forest);
        const Rows values = numbers(n * channels, random), factors = numbers(n * channels, random);
        CHECK(distance(swept(forest, values, factors, channels, 1), dense(parent, values, factors, channels)) < 1e-12);
        CHECK_EQ(swept(forest, values, factors, channels, 1), swept(forest, values, factors, channels, 3));
    }
}

TEST(gradients_of_factors_are_those_of_finite_differences) {
    std::mt19937_64 random(2);
    for (int round = 0; round < 20; ++round) {
        const std::int64_t n = 1 + static_cast<std::int64_t>(random() % 12), channels = 2;
        const RootedForest placed = root_as_given(random_forest(n, 3, random));
        const SweepForest forest{placed.parent, placed.order, placed.tree_ptr};
        const Rows values = numbers(n * channels, random), grad = numbers(n * channels, random);
        Rows factors = numbers(n * channels, random);
        Rows sums(values.size()), out(values.size()), of_values(values.size()), of_factors(values.size());
        sweep<double>(forest, values.data(), {factors.data(), true}, sums.data(), out.data(), channels, 1);
        sweep_gradients<double>(forest, grad.data(), {factors.data(), true}, sums.data(), out.data(), of_values.data(),
                                of_factors.data(), channels, 1);
        CHECK(distance(of_values, swept(forest, grad, factors, channels, 1)) < 1e-12);
        const auto loss = [&] {
            const Rows z = swept(forest, values, factors, channels, 1);
            double sum = 0;
            for (std::size_t i = 0; i < z.size(); ++i) sum += z[i] * grad[i];
            return sum;
        };
        for (std::size_t i = 0; i < factors.size(); ++i) {
            const double kept = factors[i], step = 1e-6;
            factors[i] = kept + step;
            const double above = loss();
            factors[i] = kept - step;
            const double below = loss();
            factors[i] = kept;
            CHECK(std::abs((above - below) / (2 * step) - of_factors[i]) < 1e-5);
        }
        // One factor for all edges has the sum of their gradients.
        const Rows one{0.5, 0.7};
        Rows every(values.size()), of_one(channels), of_every(values.size());
        for (std::size_t i = 0; i < every.size(); ++i) every[i] = one[i % channels];
        sweep<double>(forest, values.data(), {every.data(), true}, sums.data(), out.data(), channels, 1);
        sweep_gradients<double>(forest, grad.data(), {every.data(), true}, sums.data(), out.data(), of_values.data(),
                                of_every.data(), channels, 1);
        sweep_gradients<double>(forest, grad.data(), {one.data(), false}, sums.data(), out.data(), of_values.data(),
                                of_one.data(), channels, 2);
        Rows total(channels, 0.0);
        for (std::size_t i = 0; i < of_every.size(); ++i) total[i % channels] += of_every[i];
        CHECK(distance(total, of_one) < 1e-12);
    }
}

TEST(plans_that_lead_astray_are_refused) {
    const Ids none{}, starts{0, 2}, good{-1, 0}, self{-1, 1}, later{1, -1}, order{0, 2}, shorter{0};
    const auto refuses = [](const SweepForest& forest, const char* message) {
        CHECK_THROWS(check_forest(forest), InputError, message);
    };
    refuses({self, none, starts}, "got 1 at place 1");
    refuses({later, none, starts}, "got 1 at place 0");
    refuses({good, order, starts}, "Expected an order of the nodes 0 to 1; got 2");
    refuses({good, shorter, starts}, "Expected an order of 2 nodes; got 1");
    refuses({good, none, none}, "Expected tree_ptr to start with 0");
    const Ids across{0, 1, 2}, backwards{0, 2, 1}, beyond{0, 3}, early{0, 0};
    refuses({good, none, across}, "got 0 at place 1");
    refuses({good, none, backwards}, "got 1 after 2");
    refuses({good, none, beyond}, "got 3 after 0");
    refuses({good, none, early}, "Expected no parent after the last tree");
    check_forest({good, none, starts});
}
