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

    Model(const Graph& g, double share, std::uint64_t seed) {
        std::mt19937_64 random(seed);
        std::normal_distribution<double> normal;
        const std::int64_t n = g.view().num_nodes();
        for (const auto& [u, v] : edges_of(g)) {
            first.push_back(std::min(u, v));
            last.push_back(std::max(u, v));
            for (int j = 0; j < 2; ++j) index.push_back(static_cast<std::int64_t>(random() % 4));
        }
        for (std::int64_t v = 0; v < n; ++v) {
            labels.push_back(1 + static_cast<std::int64_t>(random() % 3));
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
