#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "check.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/norm_relu.hpp"
#include "neuraltrees/products.hpp"
#include "neuraltrees/relu_sum.hpp"

using namespace neuraltrees;

namespace {

using Ids = std::vector<std::int64_t>;
using Rows = std::vector<double>;

Rows numbers(std::size_t count, std::mt19937_64& random) {
    Rows out(count);
    for (double& x : out) x = std::normal_distribution<double>()(random);
    return out;
}

Ids ids(std::size_t count, std::int64_t below, std::mt19937_64& random) {
    Ids out(count);
    for (auto& x : out) x = static_cast<std::int64_t>(random() % below);
    return out;
}

double distance(const Rows& a, const Rows& b) {
    double most = a.size() == b.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) most = std::max(most, std::abs(a[i] - b[i]));
    return most;
}

double dot(const Rows& a, const Rows& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

/// How fast `of` grows where `at` moves along `way`, by central differences.
template <typename Of>
double slope(Of&& of, Rows at, const Rows& way) {
    const double step = 1e-6;
    Rows up = at, down = at;
    for (std::size_t i = 0; i < at.size(); ++i) {
        up[i] += step * way[i];
        down[i] -= step * way[i];
    }
    return (of(up) - of(down)) / (2 * step);
}

}  // namespace

TEST(products_of_all_layouts) {
    std::mt19937_64 random(4);
    const std::int64_t sizes[][4] = {{1, 1, 1, 1},    {2, 7, 5, 3},     {3, 13, 300, 130}, {1, 1600, 2, 70},
                                     {2, 6, 513, 16}, {1, 5, 0, 4},     {0, 3, 3, 3},      {1, 0, 3, 3},
                                     {2, 3, 3, 0},    {1, 20, 17, 264}, {1, 3100, 1, 1}};
    for (const auto& [runs, rows, depth, columns] : sizes) {
        const Rows left = numbers(runs * rows * depth, random), right = numbers(runs * depth * columns, random);
        const std::vector<float> a(left.begin(), left.end()), b(right.begin(), right.end());
        // Left: runs first, or rows first, or columns first. Right: as it is or transposed.
        for (const auto& [run, row, column] :
             {std::array{rows * depth, depth, std::int64_t{1}}, std::array{depth, runs * depth, std::int64_t{1}},
              std::array{rows, std::int64_t{1}, runs * rows}}) {
            for (const bool transposed : {false, true}) {
                const Matrices<const float> first{a.data(), run, row, column};
                const Matrices<const float> second{b.data(), depth * columns, transposed ? 1 : columns,
                                                   transposed ? depth : 1};
                std::vector<float> out(runs * rows * columns, NAN), again = out;
                multiply({runs, rows, depth, columns}, first, second, {out.data(), columns, runs * columns, 1}, 1);
                multiply({runs, rows, depth, columns}, first, second, {again.data(), columns, runs * columns, 1}, 3);
                CHECK(out == again);
                double most = 0;
                for (std::int64_t r = 0; r < runs; ++r)
                    for (std::int64_t i = 0; i < rows; ++i)
                        for (std::int64_t j = 0; j < columns; ++j) {
                            double sum = 0;
                            for (std::int64_t k = 0; k < depth; ++k)
                                sum += double{a[r * run + i * row + k * column]} *
                                       b[r * second.run + k * second.row + j * second.column];
                            most = std::max(most, std::abs(sum - out[(i * runs + r) * columns + j]));
                        }
                CHECK(most < 1e-6 * (1 + depth));
            }
        }
    }
    float one = 1;
    CHECK_THROWS(multiply({1, 1, 1, 2}, {&one, 1, 1, 1}, {&one, 1, 1, 1}, {&one, 1, 1, 2}, 1), InputError,
                 "Expected results whose columns are neighbours; got another layout.");
}

TEST(relu_sums_and_their_gradients) {
    std::mt19937_64 random(1);
    for (const std::int64_t kinds : {0, 1, 5}) {
        const std::int64_t sources = 9, targets = 7, channels = 300;
        const Ids source = ids(60, sources, random), target = ids(60, targets, random);
        const Ids kind = kinds > 1 ? ids(60, kinds, random) : Ids{};
        const Rows x = numbers(sources * channels, random), table = numbers(kinds * channels, random);
        const ReluEdges edges{source, target, kind};
        check_edges(edges, sources, targets, std::max<std::int64_t>(kinds, 1));
        const auto sums = [&](const Rows& states, const Rows& rows, int threads) {
            Rows out(targets * channels, NAN);
            relu_sum(edges, states.data(), kinds ? rows.data() : nullptr, out.data(), targets, channels, threads);
            return out;
        };
        Rows expected(targets * channels, 0.0);
        for (std::size_t e = 0; e < source.size(); ++e)
            for (std::int64_t c = 0; c < channels; ++c) {
                const double shift = kinds ? table[(kind.empty() ? 0 : kind[e]) * channels + c] : 0;
                expected[target[e] * channels + c] += std::max(0.0, x[source[e] * channels + c] + shift);
            }
        CHECK(distance(sums(x, table, 1), expected) < 1e-12);
        CHECK(sums(x, table, 1) == sums(x, table, 2));
        if (!kinds) {
            Rows plain(targets * channels, NAN);
            std::fill(expected.begin(), expected.end(), 0.0);
            for (std::size_t e = 0; e < source.size(); ++e)
                for (std::int64_t c = 0; c < channels; ++c)
                    expected[target[e] * channels + c] += x[source[e] * channels + c];
            edge_sum(edges, x.data(), plain.data(), targets, channels, 2);
            CHECK(plain == expected);
        }
        const Rows grad = numbers(targets * channels, random);
        Rows of_x(x.size(), NAN), of_table(table.size(), NAN);
        relu_sum_gradients(edges, grad.data(), x.data(), kinds ? table.data() : nullptr, of_x.data(),
                           kinds ? of_table.data() : nullptr, sources, std::max<std::int64_t>(kinds, 1), channels, 2);
        const Rows way = numbers(x.size(), random), other = numbers(table.size(), random);
        const auto of_states = [&](const Rows& states) { return dot(sums(states, table, 1), grad); };
        const auto of_rows = [&](const Rows& rows) { return dot(sums(x, rows, 1), grad); };
        CHECK(std::abs(slope(of_states, x, way) - dot(of_x, way)) < 1e-4);
        if (kinds) CHECK(std::abs(slope(of_rows, table, other) - dot(of_table, other)) < 1e-4);
    }
    const auto checked = [](Ids source, Ids target, Ids kind, std::int64_t kinds) {
        check_edges({source, target, kind}, 1, 3, kinds);
    };
    checked({0}, {2}, {1}, 2);
    CHECK_THROWS(checked({0}, {3}, {}, 1), InputError, "numbers of rows");
    CHECK_THROWS(checked({0}, {}, {}, 1), InputError, "a kind per edge");
    CHECK_THROWS(checked({0}, {0}, {}, 2), InputError, "numbers of rows");
    CHECK_THROWS(checked({0}, {0}, {3}, 2), InputError, "numbers of rows");
}

TEST(norms_and_their_gradients) {
    std::mt19937_64 random(2);
    for (const bool relu : {false, true})
        for (const auto& [drops, copied] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
            const NormShape shape{150, 210, 70};
            const std::size_t count = shape.rows * shape.channels;
            const Rows h = numbers(count, random), residual = numbers(count, random), grad = numbers(count, random);
            const Rows scale = numbers(shape.channels, random), shift = numbers(shape.channels, random);
            std::vector<std::int32_t> entries(shape.rows * shape.size), keys(shape.channels / shape.size);
            for (auto& each : entries) each = static_cast<std::int32_t>(random());
            for (auto& each : keys) each = static_cast<std::int32_t>(random());
            Rows times(shape.rows, 1.0);
            if (copied)
                for (auto& each : times) each = static_cast<double>(1 + random() % 5);
            const NormCopies<double> copies = norm_copies(copied ? times.data() : nullptr, shape.rows);
            const double nodes = std::accumulate(times.begin(), times.end(), 0.0);
            CHECK(copies.all == nodes);
            const DropHashes hashes{entries.data(), keys.data(), 0.5F - 0.3F, 2.0F};
            Rows running(shape.channels, 0.0), variance(shape.channels, 1.0);
            Rows mean(shape.channels), inverse(shape.channels);
            const auto normalised = [&](const Rows& states, const Rows& factors, const Rows& shifts, int threads) {
                Rows out(count, NAN);
                const NormParameters<double> norm{factors.data(), shifts.data(), running.data(), variance.data(), 1.0};
                norm_relu(shape, states.data(), copies, norm, relu, drops ? &hashes : nullptr, residual.data(),
                          out.data(), mean.data(), inverse.data(), threads);
                return out;
            };
            const Rows out = normalised(h, scale, shift, 1);
            CHECK(out == normalised(h, scale, shift, 2));
            std::int64_t dropped = 0;
            for (std::int64_t c = 0; c < shape.channels; ++c) {
                double sum = 0, squares = 0;
                for (std::int64_t r = 0; r < shape.rows; ++r) sum += times[r] * h[r * shape.channels + c];
                sum /= nodes;
                for (std::int64_t r = 0; r < shape.rows; ++r)
                    squares += times[r] * std::pow(h[r * shape.channels + c] - sum, 2);
                CHECK(std::abs(running[c] - sum) < 1e-12);
                CHECK(std::abs(variance[c] - squares / (nodes - 1)) < 1e-12);
                for (std::int64_t r = 0; r < shape.rows; ++r) {
                    const std::int64_t at = r * shape.channels + c;
                    double y = (h[at] - sum) / std::sqrt(squares / nodes + 1e-5) * scale[c] + shift[c];
                    y = relu ? std::max(0.0, y) : y;
                    const bool zero = drops && out[at] == residual[at];
                    dropped += zero;
                    CHECK(std::abs(out[at] - residual[at] - (zero ? 0 : (drops ? 2 : 1) * y)) < 1e-10);
                }
            }
            if (drops && !relu) CHECK(std::abs(static_cast<double>(dropped) / count - 0.3) < 0.02);
            Rows of_h(count, NAN), of_scale(shape.channels, NAN), of_shift(shape.channels, NAN);
            norm_relu_gradients(shape, grad.data(), h.data(), copies, scale.data(), shift.data(), mean.data(),
                                inverse.data(), relu, drops ? &hashes : nullptr, of_h.data(), of_scale.data(),
                                of_shift.data(), 2);
            const auto whole = [&](const Rows& states, const Rows& factors, const Rows& shifts) {
                return dot(normalised(states, factors, shifts, 1), grad);
            };
            const Rows way = numbers(count, random), along = numbers(shape.channels, random);
            CHECK(std::abs(slope([&](const Rows& a) { return whole(a, scale, shift); }, h, way) - dot(of_h, way)) <
                  1e-2);
            CHECK(std::abs(slope([&](const Rows& a) { return whole(h, a, shift); }, scale, along) -
                           dot(of_scale, along)) < 1e-2);
            CHECK(std::abs(slope([&](const Rows& a) { return whole(h, scale, a); }, shift, along) -
                           dot(of_shift, along)) < 1e-2);
        }
}
