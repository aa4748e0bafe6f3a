// Exact inference.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "arrays.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/junction_run.hpp"
#include "neuraltrees/pairwise.hpp"
#include "neuraltrees/state_search.hpp"

using namespace bindings;

namespace {

nt::ModelView model_view(const In<std::int64_t>& cardinalities, const In<std::int64_t>& scope_ptr,
                         const In<nt::Vertex>& scope_nodes) {
    return {view(cardinalities), view(scope_ptr), view(scope_nodes)};
}

nb::tuple arrays_of(nt::TreeDecomposition&& td) {
    return nb::make_tuple(give(std::move(td.bag_ptr)), give(std::move(td.bag_nodes)), give(std::move(td.edges)));
}

/// A decomposition of a model's open variables, the number of its states, and the steps on it.
struct JunctionSteps {
    nt::TreeDecomposition bags;
    double states;
    std::shared_ptr<const nt::JunctionPlan> plan;  // null if the tables are too large for any memory

    JunctionSteps(nt::ModelView model, nt::TreeDecomposition&& given, double count)
        : bags(std::move(given)), states(count) {
        if (states < 0x1p60) plan = std::make_shared<const nt::JunctionPlan>(nt::plan_junction(model, bags));
    }
};

/// The runs of a batch, which keep their tables for later calls of `joint`.
struct JunctionRuns {
    std::vector<std::unique_ptr<nt::JunctionRun>> runs;

    JunctionRuns() = default;
    JunctionRuns(JunctionRuns&&) = default;
    JunctionRuns(const JunctionRuns&) = delete;
};

/// Both passes, or only the first, for every entry of a batch of contiguous tables. Returns one row per entry, the log
/// partition function and then the marginals, and the runs.
nb::tuple run_steps(const JunctionSteps& self, const std::vector<std::uintptr_t>& tables, std::int64_t batch,
                    bool is_double, const nb::dict& observed, bool marginals, const nb::object& progress) {
    const nt::JunctionPlan& plan = *self.plan;
    if (tables.size() != plan.potentials.size()) throw nt::InputError("Expected one table per potential.");
    std::vector<std::int64_t> states(plan.cardinalities.size());
    for (std::size_t v = 0; v < states.size(); ++v) states[v] = plan.cardinalities[v] == 1 ? 0 : -1;
    for (const auto& [variable, state] : observed)
        states.at(nb::cast<std::size_t>(variable)) = nb::cast<std::int64_t>(state);
    JunctionRuns kept;
    const std::int64_t width = 1 + plan.marginal_at.back();
    std::vector<double> found(batch * width, 0.0);
    run([&](nt::Watch watch) {
        const nt::JunctionRun::Step step = [&](std::int64_t entries) {
            (void)watch.late();
            if (progress.is_none()) return;
            nb::gil_scoped_acquire lock;
            progress(entries);
        };
        std::vector<const void*> data(tables.size());
        for (std::int64_t b = 0; b < batch; ++b) {
            for (std::size_t k = 0; k < data.size(); ++k)
                data[k] = reinterpret_cast<const void*>(tables[k] + b * plan.potentials[k].given * (is_double ? 8 : 4));
            auto run = std::make_unique<nt::JunctionRun>(self.plan, nt::TablesView{data, is_double}, states);
            const auto row = std::span(found).subspan(b * width, width);
            row[0] = run->collect(step);
            if (!marginals) continue;
            if (std::isfinite(row[0])) run->distribute(row.subspan(1), step);
            kept.runs.push_back(std::move(run));
        }
    });
    return nb::make_tuple(give(std::move(found)), nb::cast(std::move(kept)));
}

/// Contiguous tensors of one precision, by their addresses. The entries of a batch follow each other, except in tables
/// and weights that all of them share.
template <typename Real>
bool run_batch(const nt::PairwisePlan& plan, nt::PairwiseTables<Real> given, std::int64_t batch, bool shared_tables,
               bool shared_weight, Real* totals, Real* marginals) {
    const std::int64_t nodes = std::ssize(plan.labels) * given.width;
    std::vector<double> found(plan.num_graphs);
    for (std::int64_t b = 0; b < batch; ++b) {
        if (!nt::run_pairwise(plan, given, found.data(), marginals)) return false;
        totals = std::copy(found.begin(), found.end(), totals);
        given.unary += nodes;
        if (!shared_tables) given.tables += given.num_tables * given.width * given.width;
        if (!shared_weight && given.weight) given.weight += plan.num_edges * given.terms;
        if (marginals) marginals += nodes;
    }
    return true;
}

template <typename Real>
bool run_addresses(const nt::PairwisePlan& plan, const std::array<std::uintptr_t, 7>& at,
                   const std::array<std::int64_t, 4>& sizes, bool shared_tables, bool shared_weight) {
    const auto reals = [&](int i) { return reinterpret_cast<const Real*>(at[i]); };
    const auto numbers = [&](int i) { return reinterpret_cast<const std::int64_t*>(at[i]); };
    const auto& [batch, width, tables, terms] = sizes;
    const nt::PairwiseTables<Real> given{width, tables, terms, reals(0), reals(1), numbers(2), reals(3), numbers(4)};
    nb::gil_scoped_release free;
    return run_batch(plan, given, batch, shared_tables, shared_weight, reinterpret_cast<Real*>(at[5]),
                     reinterpret_cast<Real*>(at[6]));
}

}  // namespace

void bindings::bind_inference(nb::module_& m) {
    nb::class_<nt::PairwisePlan>(m, "PairwisePlan")
        .def_static(
            "of",
            [](const In<std::uint8_t>& known, const In<std::int64_t>& labels, const In<std::int64_t>& owner,
               const In<std::int64_t>& first, const In<std::int64_t>& last, std::int64_t num_graphs,
               std::int64_t states, std::int64_t most_entries) -> std::optional<nt::PairwisePlan> {
                const nt::PairwiseView model{view(known), view(labels), view(owner),
                                             view(first), view(last),   num_graphs};
                auto plan = run([&](nt::Watch watch) { return plan_pairwise(model, states, most_entries, watch); });
                if (plan.steps.empty()) return std::nullopt;
                return plan;
            },
            "known"_a.noconvert(), "labels"_a.noconvert(), "owner"_a.noconvert(), "first"_a.noconvert(),
            "last"_a.noconvert(), "num_graphs"_a, "states"_a, "most_entries"_a)
        .def_ro("width", &nt::PairwisePlan::width)
        .def_ro("entries", &nt::PairwisePlan::table_entries)
        .def("run32", run_addresses<float>, "addresses"_a, "sizes"_a, "shared_tables"_a, "shared_weight"_a)
        .def("run64", run_addresses<double>, "addresses"_a, "sizes"_a, "shared_tables"_a, "shared_weight"_a);

    m.def(
        "least_states",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const In<double>& log_states, std::uint64_t seed) {
            return arrays_of(run([&](nt::Watch watch) {
                return nt::least_states(graph_view(ptr, adj), view(log_states), seed, watch).decomposition;
            }));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "log_states"_a.noconvert(), "seed"_a);

    nb::class_<JunctionRuns>(m, "JunctionRuns")
        .def(
            "joint",
            [](const JunctionRuns& self, std::int64_t potential) {
                std::vector<double> joint;
                {
                    nb::gil_scoped_release free;
                    for (const auto& run : self.runs) {
                        const auto one = run->joint(potential);
                        joint.insert(joint.end(), one.begin(), one.end());
                    }
                }
                return give(std::move(joint));
            },
            "potential"_a);

    nb::class_<JunctionSteps>(m, "JunctionSteps")
        .def_static(
            "search",
            [](const In<std::int64_t>& cardinalities, const In<std::int64_t>& scope_ptr,
               const In<nt::Vertex>& scope_nodes, const nb::dict& observed, std::uint64_t seed) {
                std::vector<std::int64_t> seen;
                for (const auto& [variable, state] : observed) seen.push_back(nb::cast<std::int64_t>(variable));
                return run([&](nt::Watch watch) {
                    const nt::ModelView model = model_view(cardinalities, scope_ptr, scope_nodes);
                    auto found = nt::least_states(model, seen, seed, watch);
                    return JunctionSteps(model, std::move(found.decomposition), found.states);
                });
            },
            "cardinalities"_a.noconvert(), "scope_ptr"_a.noconvert(), "scope_nodes"_a.noconvert(), "observed"_a,
            "seed"_a)
        .def_static(
            "of",
            [](const In<std::int64_t>& cardinalities, const In<std::int64_t>& scope_ptr,
               const In<nt::Vertex>& scope_nodes, const In<std::int64_t>& bag_ptr, const In<nt::Vertex>& bag_nodes,
               const Pairs& edges) {
                nb::gil_scoped_release free;
                const nt::ModelView model = model_view(cardinalities, scope_ptr, scope_nodes);
                const nt::DecompositionView bags = td_view(bag_ptr, bag_nodes, edges);
                return JunctionSteps(model,
                                     {{bags.bag_ptr.begin(), bags.bag_ptr.end()},
                                      {bags.bag_nodes.begin(), bags.bag_nodes.end()},
                                      {bags.edges.begin(), bags.edges.end()}},
                                     nt::count_states(model, bags));
            },
            "cardinalities"_a.noconvert(), "scope_ptr"_a.noconvert(), "scope_nodes"_a.noconvert(),
            "bag_ptr"_a.noconvert(), "bag_nodes"_a.noconvert(), "edges"_a.noconvert())
        .def_ro("states", &JunctionSteps::states)
        .def_prop_ro("num_tables", [](const JunctionSteps& self) { return self.plan ? self.plan->nodes.size() : 0; })
        .def("bags", [](const JunctionSteps& self) { return arrays_of(nt::TreeDecomposition(self.bags)); })
        .def("run", run_steps, "tables"_a, "batch"_a, "is_double"_a, "observed"_a, "marginals"_a, "progress"_a.none());
}
