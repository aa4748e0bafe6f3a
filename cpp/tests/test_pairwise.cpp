#include <cmath>
#include <random>

#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/pairwise.hpp"

using namespace neuraltrees;

namespace {

/// A random model on a graph: labels per node, potentials of D labels, two tables and their transposes, some nodes
/// known.
struct Model {
    std::int64_t width = 3;
    std::vector<std::uint8_t> known;
    std::vector<std::int64_t> labels, owner, first, last, index, given;
    std::vector<double> unary, tables, weight;

    /// Nodes have up to `width` labels; all of them if `full`.
    Model(const Graph& g, double share, std::uint64_t seed, std::int64_t most = 3, bool full = false) : width(most) {
        std::mt19937_64 random(seed);
        std::normal_distribution<double> normal;
        const std::int64_t n = g.view().num_nodes();
        for (const auto& [u, v] : edges_of(g)) {
            first.push_back(std::min(u, v));
            last.push_back(std::max(u, v));
            for (int j = 0; j < 2; ++j) index.push_back(static_cast<std::int64_t>(random() % 4));
        }
        for (std::int64_t v = 0; v < n; ++v) {
            labels.push_back(full ? width : 1 + static_cast<std::int64_t>(random() % width));
            known.push_back(static_cast<double>(random() % 1000) < 1000 * share);
            given.push_back(known[v] ? static_cast<std::int64_t>(random() % labels[v]) : -1);
        }
        owner.assign(n, 0);
        for (std::int64_t i = 0; i < n * width; ++i) unary.push_back(normal(random));
        for (std::int64_t i = 0; i < 2 * width * width; ++i) tables.push_back(normal(random));
        for (std::size_t i = 0; i < index.size(); ++i) weight.push_back(normal(random));
    }

    PairwiseView view() const { return {known, labels, owner, first, last, 1}; }
    PairwiseTables<double> potentials() const {
        return {width, 2, 2, unary.data(), tables.data(), index.data(), weight.data(), given.data()};
    }

    double edge(std::size_t e, std::int64_t a, std::int64_t b) const {
        double sum = 0;
        for (std::size_t j = 0; j < 2; ++j) {
            const std::int64_t number = index[2 * e + j], size = width * width;
            sum += weight[2 * e + j] *
                   (number < 2 ? tables[number * size + a * width + b] : tables[(number - 2) * size + b * width + a]);
        }
        return sum;
    }

    /// Log Z and the marginals, by listing all labellings.
    double list(std::vector<double>& marginals) const {
        const std::size_t n = labels.size();
        std::vector<std::int64_t> y(n, 0);
        marginals.assign(n * width, 0.0);
        double total = 0;
        for (;;) {
            bool agrees = true;
            double score = 0;
            for (std::size_t v = 0; v < n; ++v) {
                agrees &= given[v] < 0 || given[v] == y[v];
                score += unary[v * width + y[v]];
            }
            for (std::size_t e = 0; e < first.size(); ++e) score += edge(e, y[first[e]], y[last[e]]);
            if (agrees) {
                total += std::exp(score);
                for (std::size_t v = 0; v < n; ++v) marginals[v * width + y[v]] += std::exp(score);
            }
            std::size_t v = 0;
            while (v < n && ++y[v] == labels[v]) y[v++] = 0;
            if (v == n) break;
        }
        for (double& x : marginals) x /= total;
        return std::log(total);
    }
};

}  // namespace

TEST(marginals_are_those_of_listing) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const Graph g = random_graph(1 + static_cast<int>(seed % 7), 0.2 + 0.1 * static_cast<double>(seed % 8), seed);
        const Model model(g, 0.1 * static_cast<double>(seed % 5), seed);
        std::vector<double> wanted;
        const double log_z = model.list(wanted);
        const PairwisePlan plan = plan_pairwise(model.view(), 0, 1 << 20);
        double total = 0;
        std::vector<double> found(wanted.size(), -1.0);
        CHECK(run_pairwise(plan, model.potentials(), &total, found.data()));
        CHECK(std::abs(total - log_z) < 1e-9);
        for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(found[i] - wanted[i]) < 1e-9);
    }
}

TEST(leaves_with_any_number_of_states_and_axes) {
    for (const std::int64_t width : {1, 2, 3, 4, 5, 8, 9})
        for (const bool full : {false, true})
            for (int n = 1; n <= (width > 5 ? 4 : 5); ++n) {
                const Model model(complete(n), 0.0, static_cast<std::uint64_t>(n), width, full);
                std::vector<double> wanted;
                const double log_z = model.list(wanted);
                const PairwisePlan plan = plan_pairwise(model.view(), 0, 1 << 20);
                CHECK_EQ(plan.steps[0].leaf, n > 1);
                double total = 0;
                std::vector<double> found(wanted.size(), -1.0);
                CHECK(run_pairwise(plan, model.potentials(), &total, found.data()));
                CHECK(std::abs(total - log_z) < 1e-9);
                for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(found[i] - wanted[i]) < 1e-9);
            }
}

TEST(shared_tables_are_read_as_they_are_and_transposed) {
    const Graph g = random_graph(6, 1.2, 4);
    Model model(g, 0.3, 4);
    const std::size_t edges = model.first.size();
    for (std::size_t e = 0; e < edges; ++e) {  // the second term of every edge is left out, and the weights
        model.index[e] = model.index[2 * e];
    }
    model.index.resize(edges);
    const PairwiseTables<double> given{
        model.width, 2, 1, model.unary.data(), model.tables.data(), model.index.data(), nullptr, model.given.data()};
    Model weighted = model;
    for (std::size_t e = edges; e-- > 0;) {
        weighted.weight[2 * e] = 1;
        weighted.weight[2 * e + 1] = 0;
    }
    weighted.index.assign(2 * edges, 0);
    for (std::size_t e = 0; e < edges; ++e) weighted.index[2 * e] = model.index[e];
    std::vector<double> wanted;
    const double log_z = weighted.list(wanted);
    double total = 0;
    std::vector<double> found(wanted.size(), -1.0);
    CHECK(run_pairwise(plan_pairwise(model.view(), 0, 1 << 20), given, &total, found.data()));
    CHECK(std::abs(total - log_z) < 1e-9);
    for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(found[i] - wanted[i]) < 1e-9);
}

TEST(messages_are_divided_by_their_largest_entries_where_products_could_be_too_small) {
    // A leaf of the star may have a factor of 1e-10, but the sum over its labels is 1 + 1e-10 for both of the centre.
    Model model(star(60), 0.0, 1, 2, true);
    const double low = std::log(1e-10);
    model.unary.assign(model.unary.size(), 0.0);
    model.tables = {0, low, low, 0, 0, 0, 0, 0};
    for (std::size_t e = 0; e < model.first.size(); ++e) {
        model.index[2 * e] = 0;
        model.index[2 * e + 1] = 1;
        model.weight[2 * e] = model.weight[2 * e + 1] = 1;
    }
    const PairwisePlan plan = plan_pairwise(model.view(), 0, 1 << 20);
    double total = 0;
    std::vector<double> found(model.unary.size());
    CHECK(run_pairwise(plan, model.potentials(), &total, found.data()));
    CHECK(std::abs(total - std::log(2.0) - 59 * std::log1p(1e-10)) < 1e-12);
    for (const double p : found) CHECK(std::abs(p - 0.5) < 1e-12);
    model.tables[3] = low;  // now one label of the centre is 1e10 times as probable by every leaf
    CHECK(!run_pairwise(plan, model.potentials(), &total, found.data()));
}

TEST(wrong_labels_and_other_masks_are_declined) {
    Model model(path(4), 0.0, 3, 3, true);
    model.known = {1, 0, 0, 1};
    model.given = {2, -1, -1, 0};
    const PairwisePlan plan = plan_pairwise(model.view(), 0, 1 << 20);
    std::vector<double> found(model.unary.size());
    double total = 0;
    const auto runs = [&] { return run_pairwise(plan, model.potentials(), &total, found.data()); };
    CHECK(runs());
    for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{-2}, std::int64_t{3}, INT64_MIN, INT64_MAX}) {
        model.given = {wrong, -1, -1, 0};
        CHECK(!runs());
    }
    for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-2}, INT64_MIN, INT64_MAX}) {
        model.given = {2, wrong, -1, 0};
        CHECK(!runs());
    }
    model.given = {-1, 2, -1, 0};  // as many, but others
    CHECK(!runs());
    model.given = {2, -1, -1, 0};
    CHECK(runs());
    for (const double wrong : {std::nan(""), HUGE_VAL})
        for (std::vector<double>* each : {&model.unary, &model.tables})
            for (double& x : *each) {
                const double before = x;
                x = wrong;
                CHECK(!runs());
                x = before;
            }
    CHECK(runs());
}

TEST(sizes_of_tables_are_known_before) {
    const Model model(complete(6), 0.0, 1);
    const PairwisePlan plan = plan_pairwise(model.view(), 0, 1 << 20);
    CHECK_EQ(plan.width, 5);
    std::int64_t all = 1;
    for (const std::int64_t count : model.labels) all *= count;
    CHECK(plan.table_entries >= all);
    CHECK(plan_pairwise(model.view(), 0, plan.table_entries - 1).steps.empty());
    CHECK_EQ(plan_pairwise(model.view(), 1, 6).table_entries, 6);
}

TEST(impossible_and_infinite_numbers_are_declined) {
    const Graph g = path(3);
    for (const double wrong : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        Model model(g, 0.0, 2);
        for (std::int64_t s = 0; s < model.width; ++s) model.unary[model.width + s] = wrong;
        const PairwisePlan plan = plan_pairwise(model.view(), 0, 1 << 20);
        double total = 0;
        std::vector<double> found(model.unary.size());
        CHECK(!run_pairwise(plan, model.potentials(), &total, found.data()));
    }
}
