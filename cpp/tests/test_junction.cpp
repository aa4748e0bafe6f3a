#include <cmath>
#include <limits>

#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/junction_run.hpp"
#include "neuraltrees/state_search.hpp"

using namespace neuraltrees;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Model {
    std::vector<std::int64_t> cardinalities, scope_ptr{0};
    std::vector<Vertex> scope_nodes;
    std::vector<std::vector<double>> tables;
    std::vector<std::int64_t> observed, states;

    ModelView view() const { return {cardinalities, scope_ptr, scope_nodes}; }
    std::vector<const void*> data() const {
        std::vector<const void*> out;
        for (const auto& table : tables) out.push_back(table.data());
        return out;
    }
};

Model random_model(int n, int cliques, int widest, double scale, double zeros, Rng& rng) {
    Model model;
    for (int v = 0; v < n; ++v) {
        model.cardinalities.push_back(rng.chance(0.1) ? 1 : 2 + rng.below(2));
        model.states.push_back(model.cardinalities[v] == 1 ? 0 : -1);
        if (rng.chance(0.15)) {
            model.observed.push_back(v);
            model.states[v] = rng.below(static_cast<int>(model.cardinalities[v]));
        }
    }
    std::vector<Vertex> all(n);
    for (int v = 0; v < n; ++v) all[v] = v;
    for (int k = 0; k < cliques; ++k) {
        rng.shuffle(all);
        const int size = rng.below(std::min(n, widest) + 1);
        std::size_t entries = 1;
        for (int i = 0; i < size; ++i) {
            model.scope_nodes.push_back(all[i]);
            entries *= model.cardinalities[all[i]];
        }
        model.scope_ptr.push_back(static_cast<std::int64_t>(model.scope_nodes.size()));
        std::vector<double> table(entries);
        for (double& x : table)
            x = rng.chance(zeros) ? -infinity : scale * (static_cast<double>(rng.next() >> 11) * 0x1p-53 - 0.5);
        model.tables.push_back(table);
    }
    return model;
}

/// All assignments one by one: the log partition function and all marginals.
double list_all(const Model& model, std::vector<double>& marginals) {
    const std::size_t n = model.cardinalities.size();
    std::vector<std::int64_t> at(n, 0);
    std::vector<std::pair<std::vector<std::int64_t>, double>> scored;
    double most = -infinity;
    for (bool more = true; more;) {
        bool agrees = true;
        for (std::size_t v = 0; v < n; ++v) agrees &= model.states[v] < 0 || model.states[v] == at[v];
        if (agrees) {
            double score = 0;
            for (std::int64_t k = 0; k < model.view().num_potentials(); ++k) {
                std::int64_t place = 0;
                for (Vertex v : model.view().scope(k)) place = place * model.cardinalities[v] + at[v];
                score += model.tables[k][place];
            }
            scored.emplace_back(at, score);
            most = std::max(most, score);
        }
        std::size_t v = 0;
        for (; v < n && ++at[v] == model.cardinalities[v]; ++v) at[v] = 0;
        more = v < n;
    }
    if (most == -infinity) return most;
    double total = 0;
    for (const auto& each : scored) total += std::exp(each.second - most);
    marginals.clear();
    std::vector<std::size_t> begin;
    for (std::size_t v = 0; v < n; ++v) {
        begin.push_back(marginals.size());
        marginals.resize(marginals.size() + model.cardinalities[v], 0.0);
    }
    for (const auto& [states, score] : scored)
        for (std::size_t v = 0; v < n; ++v) marginals[begin[v] + states[v]] += std::exp(score - most) / total;
    return most + std::log(total);
}

bool near(double a, double b) { return a == b || std::abs(a - b) <= 1e-9 * (1 + std::abs(b)); }

std::shared_ptr<const JunctionPlan> plan_of(const Model& model) {
    Watch watch;
    const auto td = least_states(model.view(), model.observed, 0, watch).decomposition;
    return std::make_shared<const JunctionPlan>(plan_junction(model.view(), td));
}

}  // namespace

TEST(junction_runs_agree_with_listing_all_assignments) {
    Rng rng(3);
    const auto step = [](std::int64_t) {};
    int impossible = 0;
    for (int turn = 0; turn < 600; ++turn) {
        const double scale = turn % 4 == 0 ? 4000 : turn % 4 == 1 ? 700 : 3;
        const Model model = random_model(rng.below(9), rng.below(10), 4, scale, turn % 3 == 0 ? 0.3 : 0.0, rng);
        const auto plan = plan_of(model);
        const auto data = model.data();
        JunctionRun run(plan, {data, true}, model.states);
        const double found = run.collect(step);
        std::vector<double> expected;
        const double listed = list_all(model, expected);
        CHECK(near(found, listed));
        if (listed == -infinity) {
            ++impossible;
            continue;
        }
        std::vector<double> marginals(plan->marginal_at.back(), 0.0);
        run.distribute(marginals, step);
        CHECK_EQ(marginals.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) CHECK(near(marginals[i], expected[i]));
    }
    CHECK(impossible > 0);
}

TEST(large_tables_have_parts_and_views) {
    // A clique of 13 variables of two states with all pairs: parts, and all marginals from one view or from parts.
    Rng rng(4);
    for (const double scale : {1.0, 500.0}) {
        Model model;
        model.cardinalities.assign(13, 2);
        model.states.assign(13, -1);
        for (Vertex a = 0; a < 13; ++a)
            for (Vertex b = 0; b < a; ++b) {
                model.scope_nodes.insert(model.scope_nodes.end(), {a, b});
                model.scope_ptr.push_back(static_cast<std::int64_t>(model.scope_nodes.size()));
                std::vector<double> table(4);
                for (double& x : table) x = scale * (static_cast<double>(rng.next() >> 11) * 0x1p-53 - 0.5);
                model.tables.push_back(table);
            }
        const auto plan = plan_of(model);
        CHECK(plan->nodes.size() > 1);
        const auto data = model.data();
        JunctionRun run(plan, {data, true}, model.states);
        std::vector<double> expected, marginals(26, 0.0);
        std::int64_t done = 0;
        const auto step = [&](std::int64_t entries) { done += entries; };
        CHECK(near(run.collect(step), list_all(model, expected)));
        run.distribute(marginals, step);
        CHECK_EQ(done, 2 * 8192);
        for (std::size_t i = 0; i < expected.size(); ++i) CHECK(near(marginals[i], expected[i]));
        for (std::int64_t k = 0; k < 78; ++k) {
            const auto joint = run.joint(k);
            const auto scope = model.view().scope(k);
            CHECK(near(joint[0] + joint[1], expected[2 * scope[0]]));
            CHECK(near(joint[0] + joint[2], expected[2 * scope[1]]));
        }
    }
}

TEST(a_long_chain_neither_underflows_nor_overflows) {
    // Every step multiplies by e^200 or e^-200 in turns of 50; log Z is the sum of them and the entropy of free
    // choices.
    for (const double size : {200.0, -200.0}) {
        Model model;
        const int n = 2000;
        model.cardinalities.assign(n, 2);
        model.states.assign(n, -1);
        for (Vertex v = 0; v + 1 < n; ++v) {
            model.scope_nodes.insert(model.scope_nodes.end(), {v, v + 1});
            model.scope_ptr.push_back(static_cast<std::int64_t>(model.scope_nodes.size()));
            model.tables.push_back({size, size - 300, size - 300, size});
        }
        const auto data = model.data();
        JunctionRun run(plan_of(model), {data, true}, model.states);
        CHECK(near(run.collect([](std::int64_t) {}), std::log(2.0) + (n - 1) * (size + std::log1p(std::exp(-300.0)))));
        std::vector<double> marginals(2 * n, 0.0);
        run.distribute(marginals, [](std::int64_t) {});
        for (double p : marginals) CHECK(near(p, 0.5));
    }
}

TEST(numbers_that_are_none_are_reported) {
    Model model;
    model.cardinalities = {2};
    model.states = {-1};
    model.scope_nodes = {0};
    model.scope_ptr = {0, 1};
    for (const double bad : {infinity, std::numeric_limits<double>::quiet_NaN()}) {
        model.tables = {{0.0, bad}};
        const auto data = model.data();
        JunctionRun run(plan_of(model), {data, true}, model.states);
        CHECK(std::isnan(run.collect([](std::int64_t) {})));
    }
}
