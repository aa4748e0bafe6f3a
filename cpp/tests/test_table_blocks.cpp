#include <cmath>
#include <limits>

#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/table_blocks.hpp"

using namespace neuraltrees;

namespace {

/// Some of the variables 0 … n - 1, in their order.
std::vector<Vertex> some(int n, double share, Rng& rng) {
    std::vector<Vertex> chosen;
    for (Vertex v = 0; v < n; ++v)
        if (rng.chance(share)) chosen.push_back(v);
    return chosen;
}

std::vector<double> numbers(std::int64_t count, Rng& rng) {
    std::vector<double> values(count);
    for (double& x : values) x = 1 + rng.below(7);  // small integers: all sums and products are exact
    return values;
}

}  // namespace

TEST(blocks_assign_multiply_and_sum_as_entry_by_entry) {
    Rng rng(1);
    for (int turn = 0; turn < 400; ++turn) {
        const int n = rng.below(14);
        std::vector<std::int64_t> cardinalities;
        for (int v = 0; v < n; ++v) cardinalities.push_back(2 + rng.below(rng.chance(0.1) ? 9 : 2));
        std::vector<Vertex> all = some(n, 1, rng);
        const Axes axes = make_axes(all, cardinalities);
        if (axes.size > 200'000) continue;
        const Axes other = make_axes(some(n, 0.5, rng), cardinalities);
        const Walk walk = make_walk(axes, other.variables, cardinalities);
        const std::vector<double> first = numbers(axes.size, rng), second = numbers(other.size, rng);
        std::vector<double> product = first, copy(axes.size), sum(other.size, 2.0);
        const Walk* const walks[] = {&walk};
        BlockSteps steps(axes, walks);
        std::int64_t at = 0;
        do {
            assign_block(walk.block, copy.data() + at, second.data() + steps.places[0]);
            multiply_block(walk.block, product.data() + at, second.data() + steps.places[0]);
            sum_block(walk.block, first.data() + at, sum.data() + steps.places[0]);
            at += axes.block;
        } while (steps.next());
        CHECK_EQ(at, axes.size);
        std::vector<double> expected(other.size, 2.0);
        each_entry(axes, walk, [&](std::int64_t i, std::int64_t j) {
            CHECK_EQ(copy[i], second[j]);
            CHECK_EQ(product[i], first[i] * second[j]);
            expected[j] += first[i];
        });
        CHECK_EQ(sum, expected);
    }
}

TEST(exponentials_are_those_of_the_standard_library) {
    Rng rng(2);
    std::vector<double> values{0.0, -0.0, -1e-300, -0.5, -700.0, -708.0, -std::numeric_limits<double>::infinity()};
    for (int i = 0; i < 5000; ++i) values.push_back(-static_cast<double>(rng.next() >> 11) * 0x1p-53 * 708);
    std::vector<double> found = values;
    exponentials(found);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double expected = std::exp(values[i]);
        CHECK(std::abs(found[i] - expected) <= 1e-15 * expected);
    }
}
