// Converts between NumPy arrays and the core; every function that computes releases the interpreter lock.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <map>
#include <variant>

#include "arrays.hpp"
#include "neuraltrees/bounded_subgraph.hpp"
#include "neuraltrees/canonical.hpp"
#include "neuraltrees/decompose.hpp"
#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/htree.hpp"
#include "neuraltrees/pace.hpp"
#include "neuraltrees/sampling.hpp"

using namespace bindings;

namespace {

nt::Method method_of(const std::string& name) {
    static const std::map<std::string, nt::Method> methods{{"min_fill", nt::Method::min_fill},
                                                           {"min_degree", nt::Method::min_degree},
                                                           {"junction_tree", nt::Method::junction_tree},
                                                           {"exact", nt::Method::exact},
                                                           {"best", nt::Method::best},
                                                           {"canonical", nt::Method::canonical}};
    return methods.at(name);
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
            PyErr_SetObject(type.ptr(), nb::make_tuple(e.limit, e.width, e.nodes, e.exact).ptr());
        }
    });
}

template <typename Id>
void bind_edges(nb::module_& m) {
    m.def(
        "graph_from_edges",
        [](const Column<Id>& source, const Column<Id>& target, std::int64_t num_nodes) {
            return give(run([&](nt::Watch watch) {
                return nt::graph_from_edges(column(source), column(target), num_nodes, watch);
            }));
        },
        "source"_a.noconvert(), "target"_a.noconvert(), "num_nodes"_a);
}

void bind_graphs(nb::module_& m) {
    m.attr("MAX_GRAPH_NODES") = nt::max_graph_nodes;

    bind_edges<std::int64_t>(m);
    bind_edges<std::int32_t>(m);

    m.def(
        "moral_graph",
        [](const In<std::int64_t>& source, const In<std::int64_t>& target, std::int64_t num_nodes) {
            return give(
                run([&](nt::Watch watch) { return nt::moral_graph(view(source), view(target), num_nodes, watch); }));
        },
        "source"_a.noconvert(), "target"_a.noconvert(), "num_nodes"_a);

    m.def(
        "connected_components",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj) {
            return give(
                run([&](nt::Watch watch) { return nt::connected_components(graph_view(ptr, adj), watch).label; }));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert());

    m.def(
        "induced_subgraph",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const In<nt::Vertex>& nodes) {
            return give(run([&](nt::Watch watch) {
                std::vector<nt::Vertex> position(ptr.size() - 1, -1);
                return nt::induced_subgraph(graph_view(ptr, adj), view(nodes), position, watch);
            }));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "nodes"_a.noconvert());
}

void bind_files(nb::module_& m) {
    m.def("parse_gr", [](const nb::bytes& text) {
        const std::string_view content(text.c_str(), text.size());
        return give(run([&](nt::Watch watch) { return nt::parse_gr(content, watch); }));
    });

    m.def("parse_td", [](const nb::bytes& text) {
        const std::string_view content(text.c_str(), text.size());
        auto parsed = run([&](nt::Watch watch) { return nt::parse_td(content, watch); });
        auto& td = parsed.decomposition;
        return nb::make_tuple(give(std::move(td.bag_ptr)), give(std::move(td.bag_nodes)), give(std::move(td.edges)),
                              parsed.num_nodes);
    });
}

void bind_decompositions(nb::module_& m) {
    m.def(
        "decompose",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const std::string& method, std::uint64_t seed,
           int restarts, double time_limit, int threads, bool refine, const nb::object& progress) {
            const nt::DecomposeOptions options{method_of(method), seed, restarts, threads, refine};
            nt::Report report;
            if (!progress.is_none())
                report = [&](int lower_bound, int width) {
                    if (width < 0) return true;
                    try {
                        progress(lower_bound, width);
                    } catch (nb::python_error& error) {
                        error.restore();
                        return false;
                    }
                    return true;
                };
            auto td = run([&](nt::Watch watch) { return nt::decompose(graph_view(ptr, adj), options, watch); },
                          time_limit, report);
            nb::object kinds = nb::none(), order = nb::none();
            if (options.method == nt::Method::canonical) {
                kinds = nb::cast(give(std::move(td.kinds)));
                order = nb::cast(give(std::move(td.bag_order)));
            }
            return nb::make_tuple(give(std::move(td.bag_ptr)), give(std::move(td.bag_nodes)), give(std::move(td.edges)),
                                  td.lower_bound, static_cast<int>(td.shortcut), kinds, order);
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "method"_a, "seed"_a, "restarts"_a, "time_limit"_a, "threads"_a,
        "refine"_a, "progress"_a.none());

    m.def(
        "decomposition_from_order",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const In<nt::Vertex>& order) {
            auto td = run([&](nt::Watch watch) {
                return nt::decomposition_from_order(graph_view(ptr, adj), view(order), watch);
            });
            return nb::make_tuple(give(std::move(td.bag_ptr)), give(std::move(td.bag_nodes)),
                                  give(std::move(td.edges)));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "order"_a.noconvert());

    m.def(
        "decomposition_violation",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const In<std::int64_t>& bag_ptr,
           const In<nt::Vertex>& bag_nodes, const Pairs& edges) {
            return run([&](nt::Watch watch) {
                return nt::first_violation(graph_view(ptr, adj), td_view(bag_ptr, bag_nodes, edges), watch);
            });
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
            return give_sample(run(
                [&](nt::Watch watch) { return nt::sample_bounded_treewidth(graph_view(ptr, adj), k, seed, watch); }));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "k"_a, "seed"_a);

    m.def(
        "bounded_subgraph",
        [give_sample](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, int k, std::uint64_t seed, int restarts) {
            return give_sample(run([&](nt::Watch watch) {
                return nt::bounded_subgraph(graph_view(ptr, adj), {k, seed, restarts}, watch);
            }));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "k"_a, "seed"_a, "restarts"_a);
}

void bind_structure(nb::module_& m) {
    m.def(
        "block_cut_tree",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj) {
            auto tree = run([&](nt::Watch watch) { return nt::block_cut_tree(graph_view(ptr, adj), watch); });
            return nb::make_tuple(give(std::move(tree.node_ptr)), give(std::move(tree.nodes)),
                                  give(std::move(tree.edge_ptr)), give(std::move(tree.edges)),
                                  give(std::move(tree.cut_vertices)));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert());

    m.def(
        "spqr_trees",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj) {
            auto trees = run([&](nt::Watch watch) { return nt::spqr_trees(graph_view(ptr, adj), watch); });
            return nb::make_tuple(give(std::move(trees.kind)), give(std::move(trees.block)), give(std::move(trees.ptr)),
                                  give(std::move(trees.edges)), give(std::move(trees.partner)));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert());
}

using AnyHTree = std::variant<nt::NarrowHTree, nt::HTree>;

/// The tree with indices of 32 or 64 bits; 0 for the fewest that suffice.
AnyHTree built(int bits, nt::GraphView graph, nt::DecompositionView td, const nt::HTreeOptions& options,
               nt::Watch watch) {
    if (bits == 0) return nt::build_fitting_htree(graph, td, options, watch);
    if (bits == 32) return nt::build_htree<std::int32_t>(graph, td, options, watch);
    return nt::build_htree<std::int64_t>(graph, td, options, watch);
}

template <typename Index>
nb::tuple give_tree(nt::HTreeOf<Index>&& tree) {
    const nb::object kind = tree.kind.data ? nb::cast(give(std::move(tree.kind))) : nb::none();
    return nb::make_tuple(give(std::move(tree.parent)), give(std::move(tree.level)), give(std::move(tree.kappa)),
                          give(std::move(tree.edge_index), 2), give(std::move(tree.edge_type)),
                          give(std::move(tree.bag_ptr)), give(std::move(tree.bag_nodes)),
                          give(std::move(tree.component)), kind);
}

template <typename Index>
void bind_tree_checks(nb::module_& m) {
    using Array = In<Index>;
    m.def(
        "htree_violation",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const Array& parent, const Array& level,
           const Array& kappa, const Array& edge_index, const Array& edge_type, const Array& bag_ptr,
           const Array& bag_nodes, const Array& component, const Array& kind) {
            const nt::HTreeViewOf<Index> tree{view(parent),     view(level),     view(kappa),
                                              view(component),  view(bag_ptr),   view(bag_nodes),
                                              view(edge_index), view(edge_type), view(kind)};
            return run([&](nt::Watch watch) { return nt::first_violation(graph_view(ptr, adj), tree, watch); });
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "parent"_a.noconvert(), "level"_a.noconvert(), "kappa"_a.noconvert(),
        "edge_index"_a.noconvert(), "edge_type"_a.noconvert(), "bag_ptr"_a.noconvert(), "bag_nodes"_a.noconvert(),
        "component"_a.noconvert(), "kind"_a.noconvert());

    m.def(
        "htree_diameters",
        [](const Array& parent, const Array& edge_index, const Array& edge_type, const Array& component) {
            const nt::HTreeViewOf<Index> tree{view(parent),   {}, {}, view(component), {}, {}, view(edge_index),
                                              view(edge_type)};
            return give(run([&](nt::Watch watch) { return nt::diameters(tree, watch); }));
        },
        "parent"_a.noconvert(), "edge_index"_a.noconvert(), "edge_type"_a.noconvert(), "component"_a.noconvert());
}

void bind_htrees(nb::module_& m) {
    bind_tree_checks<std::int64_t>(m);
    bind_tree_checks<std::int32_t>(m);
    m.def(
        "build_htree",
        [](const In<std::int64_t>& ptr, const In<nt::Vertex>& adj, const In<std::int64_t>& bag_ptr,
           const In<nt::Vertex>& bag_nodes, const Pairs& edges, const std::optional<In<std::int8_t>>& kinds,
           const std::optional<In<nt::Vertex>>& bag_order, const std::string& method, std::uint64_t seed, int restarts,
           std::int64_t max_nodes, int threads, bool terminal_bags, bool trusted, int bits,
           const nb::callable& announce) {
            nt::HTreeOptions options{{method_of(method), seed, restarts, threads}, max_nodes};
            if (terminal_bags) options.terminal = nt::Terminal::bag;
            options.announce = [&](std::int64_t nodes, int width) {
                nb::gil_scoped_acquire lock;
                announce(nodes, width);
            };
            auto tree = run([&](nt::Watch watch) {
                const auto graph = graph_view(ptr, adj);
                auto given = td_view(bag_ptr, bag_nodes, edges);
                if (kinds && bag_order) given.kinds = view(*kinds), given.bag_order = view(*bag_order);
                const auto nested = terminal_bags || kinds ? nt::Nested::keep : nt::Nested::merge;
                if (trusted || nt::is_normalised(graph, given, nested, watch))
                    return built(bits, graph, given, options, watch);
                return built(bits, graph, nt::normalised(graph, given, nested, watch), options, watch);
            });
            return std::visit([](auto& each) { return give_tree(std::move(each)); }, tree);
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert(), "bag_ptr"_a.noconvert(), "bag_nodes"_a.noconvert(),
        "edges"_a.noconvert(), "kinds"_a.noconvert().none(), "bag_order"_a.noconvert().none(), "method"_a, "seed"_a,
        "restarts"_a, "max_nodes"_a, "threads"_a, "terminal_bags"_a, "trusted"_a, "bits"_a, "announce"_a);
}

}  // namespace

NB_MODULE(_native, m) {
    // What global variables of a script still hold when Python ends is no error of the script.
    nb::set_leak_warnings(false);
    m.doc() =
        "The compute core of neuraltrees: graphs, tree decompositions, sampling, H-trees, inference and sweeps on flat "
        "arrays.";
    translate_errors();
    bind_graphs(m);
    bind_files(m);
    bind_decompositions(m);
    bind_structure(m);
    bind_htrees(m);
    bind_inference(m);
    bind_label_texts(m);
    bind_layers(m);
    bind_random_walks(m);
    bind_row_sums(m);
    bind_scenes(m);
    bind_sweeps(m);
}
