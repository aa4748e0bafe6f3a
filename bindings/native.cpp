// Converts between NumPy arrays and the core; every function that computes releases the interpreter lock.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "neuraltrees/bounded_subgraph.hpp"
#include "neuraltrees/decompose.hpp"
#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/htree.hpp"
#include "neuraltrees/pace.hpp"
#include "neuraltrees/sampling.hpp"
#include "neuraltrees/weighted.hpp"

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
        "weighted_order",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const In<double>& log_states, double size_power,
           double fill_power, double noise, std::uint64_t seed, double give_up) {
            std::vector<nt::Vertex> order;
            {
                nb::gil_scoped_release free;
                order = nt::weighted_order(graph_view(ptr, adj), view(log_states), {size_power, fill_power, noise},
                                           seed, give_up);
            }
            return give(std::move(order));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "log_states"_a.noconvert(), "size_power"_a, "fill_power"_a, "noise"_a,
        "seed"_a, "give_up"_a);

    m.def(
        "decomposition_violation",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const In<std::int64_t>& bag_ptr,
           const In<nt::Vertex>& bag_nodes, const Pairs& edges) {
            nb::gil_scoped_release free;
            return nt::first_violation(graph_view(ptr, adj), td_view(bag_ptr, bag_nodes, edges));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "bag_ptr"_a.noconvert(), "bag_nodes"_a.noconvert(),
        "edges"_a.noconvert());

    const auto give_sample = [](nt::BoundedSample&& sample) {
        auto& td = sample.decomposition;
        return nb::make_tuple(give(std::move(sample.subgraph.ptr)), give(std::move(sample.subgraph.adj)),
                              give(std::move(td.bag_ptr)), give(std::move(td.bag_nodes)), give(std::move(td.edges)));
    };

    m.def(
        "sample_bounded_treewidth",
        [give_sample](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, int k, std::uint64_t seed) {
            nt::BoundedSample sample;
            {
                nb::gil_scoped_release free;
                sample = nt::sample_bounded_treewidth(graph_view(ptr, adj), k, seed);
            }
            return give_sample(std::move(sample));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "k"_a, "seed"_a);

    m.def(
        "bounded_subgraph",
        [give_sample](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, int k, std::uint64_t seed, int restarts) {
            nt::Interrupt interrupt(signalled, std::chrono::milliseconds(100));
            nt::BoundedSample sample;
            try {
                nb::gil_scoped_release free;
                sample = nt::bounded_subgraph(graph_view(ptr, adj), {k, seed, restarts}, interrupt);
            } catch (const nt::Interrupted&) {
                throw nb::python_error();
            }
            return give_sample(std::move(sample));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "k"_a, "seed"_a, "restarts"_a);
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

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "The compute core of neuraltrees: graphs, tree decompositions, sampling and H-trees on flat arrays.";
    translate_errors();
    bind_graphs(m);
    bind_files(m);
    bind_decompositions(m);
    bind_htrees(m);
}
