// Converts between NumPy arrays and the core; every function that computes releases the interpreter lock.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <map>

#include "neuraltrees/decompose.hpp"
#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/htree.hpp"
#include "neuraltrees/junction_run.hpp"
#include "neuraltrees/pace.hpp"
#include "neuraltrees/sampling.hpp"
#include "neuraltrees/state_search.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace nt = neuraltrees;

namespace {

template <typename T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ids = In<std::int64_t>;
using Pairs = nb::ndarray<const nt::Vertex, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Out = nb::ndarray<nb::numpy, T>;

template <typename T>
std::span<const T> view(const In<T>& a) {
    return {a.data(), a.size()};
}

nt::GraphView graph_view(const In<std::int64_t>& ptr, const In<nt::Vertex>& adj) { return {view(ptr), view(adj)}; }

nt::DecompositionView td_view(const In<std::int64_t>& ptr, const In<nt::Vertex>& nodes, const Pairs& edges) {
    return {view(ptr), view(nodes), {reinterpret_cast<const std::array<nt::Vertex, 2>*>(edges.data()), edges.shape(0)}};
}

/// Hands a vector's memory to NumPy.
template <typename T>
Out<T> give(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Out<T>(owned->data(), {owned->size()}, owner);
}

Out<nt::Vertex> give(std::vector<std::array<nt::Vertex, 2>>&& pairs) {
    auto* owned = new std::vector<std::array<nt::Vertex, 2>>(std::move(pairs));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<std::array<nt::Vertex, 2>>*>(p); });
    return Out<nt::Vertex>(reinterpret_cast<nt::Vertex*>(owned->data()), {owned->size(), std::size_t{2}}, owner);
}

Out<std::int64_t> give(nt::Buffer&& buffer, std::size_t rows = 1) {
    auto size = static_cast<std::size_t>(buffer.size);
    std::int64_t* data = buffer.data.release();
    nb::capsule owner(data, [](void* p) noexcept { nt::Buffer::Free{}(static_cast<std::int64_t*>(p)); });
    if (rows == 1) return Out<std::int64_t>(data, {size}, owner);
    return Out<std::int64_t>(data, {rows, size / rows}, owner);
}

nb::tuple give(nt::Graph&& graph) { return nb::make_tuple(give(std::move(graph.ptr)), give(std::move(graph.adj))); }

nt::Method method_of(const std::string& name) {
    static const std::map<std::string, nt::Method> methods{{"min_fill", nt::Method::min_fill},
                                                           {"min_degree", nt::Method::min_degree},
                                                           {"junction_tree", nt::Method::junction_tree},
                                                           {"exact", nt::Method::exact},
                                                           {"best", nt::Method::best}};
    return methods.at(name);
}

/// Asks Python, from the thread that called us, whether a signal (Ctrl-C) wants the work to stop.
bool signalled() {
    nb::gil_scoped_acquire lock;
    return PyErr_CheckSignals() != 0;
}

void raise(const char* name, const std::string& message) {
    const nb::object type = nb::module_::import_("neuraltrees.errors").attr(name);
    PyErr_SetString(type.ptr(), message.c_str());
}

void translate_errors() {
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const nt::ParseError& e) {
            raise("ParseError", e.what());
        } catch (const nt::InputError& e) {
            raise("InputError", e.what());
        } catch (const nt::TreeTooLargeError& e) {
            const nb::object type = nb::module_::import_("neuraltrees.errors").attr("TreeTooLargeError");
            PyErr_SetObject(type.ptr(), nb::make_tuple(e.limit, e.width).ptr());
        }
    });
}

void bind_graphs(nb::module_& m) {
    m.attr("MAX_GRAPH_NODES") = nt::max_graph_nodes;

    m.def(
        "graph_from_edges",
        [](const In<std::int64_t>& source, const In<std::int64_t>& target, std::int64_t num_nodes) {
            nt::Graph graph;
            {
                nb::gil_scoped_release free;
                graph = nt::graph_from_edges(view(source), view(target), num_nodes);
            }
            return give(std::move(graph));
        },
        "source"_a.noconvert(), "target"_a.noconvert(), "num_nodes"_a);

    m.def(
        "moral_graph",
        [](const In<std::int64_t>& source, const In<std::int64_t>& target, std::int64_t num_nodes) {
            nt::Graph graph;
            {
                nb::gil_scoped_release free;
                graph = nt::moral_graph(view(source), view(target), num_nodes);
            }
            return give(std::move(graph));
        },
        "source"_a.noconvert(), "target"_a.noconvert(), "num_nodes"_a);

    m.def(
        "connected_components",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj) {
            nt::Components components;
            {
                nb::gil_scoped_release free;
                components = nt::connected_components(graph_view(ptr, adj));
            }
            return give(std::move(components.label));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert());

    m.def(
        "induced_subgraph",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const In<nt::Vertex>& nodes) {
            nt::Graph graph;
            {
                nb::gil_scoped_release free;
                std::vector<nt::Vertex> position(ptr.size() - 1, -1);
                graph = nt::induced_subgraph(graph_view(ptr, adj), view(nodes), position);
            }
            return give(std::move(graph));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "nodes"_a.noconvert());
}

void bind_files(nb::module_& m) {
    m.def("parse_gr", [](const nb::bytes& text) {
        nt::Graph graph;
        {
            nb::gil_scoped_release free;
            graph = nt::parse_gr({text.c_str(), text.size()});
        }
        return give(std::move(graph));
    });

    m.def("parse_td", [](const nb::bytes& text) {
        nt::ParsedDecomposition parsed;
        {
            nb::gil_scoped_release free;
            parsed = nt::parse_td({text.c_str(), text.size()});
        }
        auto& td = parsed.decomposition;
        return nb::make_tuple(give(std::move(td.bag_ptr)), give(std::move(td.bag_nodes)), give(std::move(td.edges)),
                              parsed.num_nodes);
    });
}

void bind_decompositions(nb::module_& m) {
    m.def(
        "decompose",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const std::string& method, std::uint64_t seed,
           int restarts, double time_limit, int threads, const nb::object& report) {
            nt::DecomposeOptions options{method_of(method), seed, restarts, time_limit, threads, {}};
            options.report = [&](int lower_bound, int width) {
                nb::gil_scoped_acquire lock;
                if (PyErr_CheckSignals() != 0) return false;
                if (!report.is_none()) report(lower_bound, width);
                return true;
            };
            nt::TreeDecomposition td;
            {
                nb::gil_scoped_release free;
                td = nt::decompose(graph_view(ptr, adj), options);
            }
            if (PyErr_Occurred()) throw nb::python_error();
            return nb::make_tuple(give(std::move(td.bag_ptr)), give(std::move(td.bag_nodes)), give(std::move(td.edges)),
                                  td.lower_bound);
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "method"_a, "seed"_a, "restarts"_a, "time_limit"_a, "threads"_a,
        "report"_a.none());

    m.def(
        "decomposition_from_order",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const In<nt::Vertex>& order) {
            nt::TreeDecomposition td;
            {
                nb::gil_scoped_release free;
                td = nt::decomposition_from_order(graph_view(ptr, adj), view(order));
            }
            return nb::make_tuple(give(std::move(td.bag_ptr)), give(std::move(td.bag_nodes)),
                                  give(std::move(td.edges)));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "order"_a.noconvert());

    m.def(
        "decomposition_violation",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const In<std::int64_t>& bag_ptr,
           const In<nt::Vertex>& bag_nodes, const Pairs& edges) {
            nb::gil_scoped_release free;
            return nt::first_violation(graph_view(ptr, adj), td_view(bag_ptr, bag_nodes, edges));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "bag_ptr"_a.noconvert(), "bag_nodes"_a.noconvert(),
        "edges"_a.noconvert());

    m.def(
        "sample_bounded_treewidth",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, int k, std::uint64_t seed) {
            nt::BoundedSample sample;
            {
                nb::gil_scoped_release free;
                sample = nt::sample_bounded_treewidth(graph_view(ptr, adj), k, seed);
            }
            auto& td = sample.decomposition;
            return nb::make_tuple(give(std::move(sample.subgraph.ptr)), give(std::move(sample.subgraph.adj)),
                                  give(std::move(td.bag_ptr)), give(std::move(td.bag_nodes)),
                                  give(std::move(td.edges)));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "k"_a, "seed"_a);
}

void bind_htrees(nb::module_& m) {
    m.def(
        "build_htree",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const In<std::int64_t>& bag_ptr,
           const In<nt::Vertex>& bag_nodes, const Pairs& edges, const std::string& method, std::uint64_t seed,
           int restarts, std::int64_t max_nodes, int threads, bool trusted) {
            nt::HTreeOptions options{{method_of(method), seed, restarts, 0, threads, {}}, max_nodes};
            nt::Interrupt interrupt(signalled, std::chrono::milliseconds(100));
            nt::HTree tree;
            try {
                nb::gil_scoped_release free;
                const auto graph = graph_view(ptr, adj);
                const auto given = td_view(bag_ptr, bag_nodes, edges);
                if (trusted || nt::is_normalised(graph, given))
                    tree = nt::build_htree(graph, given, options, interrupt);
                else
                    tree = nt::build_htree(graph, nt::normalised(graph, given), options, interrupt);
            } catch (const nt::Interrupted&) {
                throw nb::python_error();
            }
            return nb::make_tuple(give(std::move(tree.parent)), give(std::move(tree.level)),
                                  give(std::move(tree.kappa)), give(std::move(tree.edge_index), 2),
                                  give(std::move(tree.edge_type)), give(std::move(tree.bag_ptr)),
                                  give(std::move(tree.bag_nodes)), give(std::move(tree.component)));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "bag_ptr"_a.noconvert(), "bag_nodes"_a.noconvert(),
        "edges"_a.noconvert(), "method"_a, "seed"_a, "restarts"_a, "max_nodes"_a, "threads"_a, "trusted"_a);

    m.def(
        "htree_violation",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const Ids& parent, const Ids& level,
           const Ids& kappa, const Ids& edge_index, const Ids& edge_type, const Ids& bag_ptr, const Ids& bag_nodes,
           const Ids& component) {
            nb::gil_scoped_release free;
            const nt::HTreeView tree{view(parent),  view(level),     view(kappa),      view(component),
                                     view(bag_ptr), view(bag_nodes), view(edge_index), view(edge_type)};
            return nt::first_violation(graph_view(ptr, adj), tree);
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "parent"_a.noconvert(), "level"_a.noconvert(), "kappa"_a.noconvert(),
        "edge_index"_a.noconvert(), "edge_type"_a.noconvert(), "bag_ptr"_a.noconvert(), "bag_nodes"_a.noconvert(),
        "component"_a.noconvert());

    m.def(
        "htree_diameters",
        [](const Ids& parent, const Ids& edge_index, const Ids& edge_type, const Ids& component) {
            std::vector<std::int64_t> longest;
            {
                nb::gil_scoped_release free;
                longest =
                    nt::diameters({view(parent), {}, {}, view(component), {}, {}, view(edge_index), view(edge_type)});
            }
            return give(std::move(longest));
        },
        "parent"_a.noconvert(), "edge_index"_a.noconvert(), "edge_type"_a.noconvert(), "component"_a.noconvert());
}

nt::ModelView model_view(const In<std::int64_t>& cardinalities, const In<std::int64_t>& scope_ptr,
                         const In<nt::Vertex>& scope_nodes) {
    return {view(cardinalities), view(scope_ptr), view(scope_nodes)};
}

nb::tuple give(nt::LeastStates&& found) {
    auto& td = found.decomposition;
    return nb::make_tuple(give(std::move(td.bag_ptr)), give(std::move(td.bag_nodes)), give(std::move(td.edges)),
                          found.states);
}

/// Runs work without the interpreter lock; Ctrl-C stops it.
template <typename Work>
auto stoppable(Work&& work) {
    nt::Interrupt interrupt(signalled, std::chrono::milliseconds(100));
    try {
        nb::gil_scoped_release free;
        return work(interrupt);
    } catch (const nt::Interrupted&) {
        throw nb::python_error();
    }
}

/// A decomposition of a model's open variables, the number of its states, and the steps on it.
struct JunctionSteps {
    nt::TreeDecomposition bags;
    double states;
    std::shared_ptr<const nt::JunctionPlan> plan;  // none if no memory could hold the tables

    JunctionSteps(nt::ModelView model, nt::TreeDecomposition&& given, double count)
        : bags(std::move(given)), states(count) {
        if (states < 0x1p60) plan = std::make_shared<const nt::JunctionPlan>(nt::plan_junction(model, bags));
    }
};

/// Both passes, or the first alone: the log partition function, then the marginals, and the run for later questions.
nb::tuple run_steps(const JunctionSteps& self, const std::vector<std::uintptr_t>& tables, bool is_double,
                    const nb::dict& observed, bool marginals, const nb::object& progress) {
    const nt::JunctionPlan& plan = *self.plan;
    if (tables.size() != plan.potentials.size()) throw nt::InputError("Expected one table per potential.");
    std::vector<const void*> data;
    data.reserve(tables.size());
    for (std::uintptr_t each : tables) data.push_back(reinterpret_cast<const void*>(each));
    std::vector<std::int64_t> states(plan.cardinalities.size());
    for (std::size_t v = 0; v < states.size(); ++v) states[v] = plan.cardinalities[v] == 1 ? 0 : -1;
    for (const auto& [variable, state] : observed)
        states.at(nb::cast<std::size_t>(variable)) = nb::cast<std::int64_t>(state);
    std::unique_ptr<nt::JunctionRun> run;
    std::vector<double> found(1 + plan.marginal_at.back(), 0.0);
    stoppable([&](nt::Interrupt& interrupt) {
        const nt::JunctionRun::Step step = [&](std::int64_t entries) {
            interrupt.check();
            if (progress.is_none()) return;
            nb::gil_scoped_acquire lock;
            progress(entries);
        };
        run = std::make_unique<nt::JunctionRun>(self.plan, nt::TablesView{data, is_double}, states);
        found[0] = run->collect(step);
        if (marginals && std::isfinite(found[0])) run->distribute(std::span(found).subspan(1), step);
    });
    const double total = found[0];
    return nb::make_tuple(total, give(std::move(found)), nb::cast(std::move(run)));
}

void bind_inference(nb::module_& m) {
    m.def(
        "least_states",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const In<double>& log_states, std::uint64_t seed) {
            return give(stoppable([&](nt::Interrupt& interrupt) {
                return nt::least_states(graph_view(ptr, adj), view(log_states), seed, interrupt);
            }));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "log_states"_a.noconvert(), "seed"_a);

    // The passes that `run` was made of; its tables live as long as it does.
    nb::class_<nt::JunctionRun>(m, "JunctionRun")
        .def("joint", [](const nt::JunctionRun& run, std::int64_t potential) {
            std::vector<double> joint;
            {
                nb::gil_scoped_release free;
                joint = run.joint(potential);
            }
            return give(std::move(joint));
        });

    nb::class_<JunctionSteps>(m, "JunctionSteps")
        .def_static(
            "search",
            [](const In<std::int64_t>& cardinalities, const In<std::int64_t>& scope_ptr,
               const In<nt::Vertex>& scope_nodes, const nb::dict& observed, std::uint64_t seed) {
                std::vector<std::int64_t> seen;
                for (const auto& [variable, state] : observed) seen.push_back(nb::cast<std::int64_t>(variable));
                return stoppable([&](nt::Interrupt& interrupt) {
                    const nt::ModelView model = model_view(cardinalities, scope_ptr, scope_nodes);
                    auto found = nt::least_states(model, seen, seed, interrupt);
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
        .def("bags",
             [](const JunctionSteps& self) {
                 nt::TreeDecomposition td = self.bags;
                 return nb::make_tuple(give(std::move(td.bag_ptr)), give(std::move(td.bag_nodes)),
                                       give(std::move(td.edges)));
             })
        .def("run", run_steps, "tables"_a, "is_double"_a, "observed"_a, "marginals"_a, "progress"_a.none());
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "The compute core of neuraltrees: graphs, tree decompositions, sampling and H-trees on flat arrays.";
    translate_errors();
    bind_graphs(m);
    bind_files(m);
    bind_decompositions(m);
    bind_htrees(m);
    bind_inference(m);
}
