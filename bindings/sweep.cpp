// Rooted forests, sweeps over them and their parts.
#include "neuraltrees/sweep.hpp"

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/forest_parts.hpp"
#include "neuraltrees/rooted_forest.hpp"

using namespace bindings;

namespace {

nb::tuple arrays_of(nt::RootedForest&& forest) {
    return nb::make_tuple(give(std::move(forest.order)), give(std::move(forest.parent)),
                          give(std::move(forest.tree_ptr)), forest.depth, forest.largest);
}

nt::SweepForest forest_view(const Ids& parent, const std::optional<Ids>& order, const Ids& tree_ptr) {
    return {view(parent), order ? view(*order) : std::span<const std::int64_t>{}, view(tree_ptr)};
}

template <typename Given>
void expect_rows(const Given& given, std::size_t rows, std::size_t channels, const char* what) {
    if (given.shape(0) != rows || given.shape(1) != channels)
        throw nt::InputError("Expected " + std::string(what) + " of shape (" + std::to_string(rows) + ", " +
                             std::to_string(channels) + "); got (" + std::to_string(given.shape(0)) + ", " +
                             std::to_string(given.shape(1)) + ").");
}

template <typename T>
nt::SweepFactors<T> factors_of(const Rows<T>& factors, std::size_t rows, std::size_t channels, bool per_node) {
    expect_rows(factors, per_node ? rows : 1, channels, "factors");
    return {factors.data(), per_node};
}

template <typename T>
void bind_passes(nb::module_& m) {
    m.def(
        "sweep",
        [](const Ids& parent, const std::optional<Ids>& order, const Ids& tree_ptr, const Rows<T>& values,
           const Rows<T>& factors, bool per_node, const RowsOut<T>& sums, const RowsOut<T>& out, int threads) {
            const std::size_t rows = parent.size(), channels = values.shape(1);
            expect_rows(values, rows, channels, "values");
            expect_rows(sums, rows, channels, "sums");
            expect_rows(out, rows, channels, "out");
            const auto factors_view = factors_of<T>(factors, rows, channels, per_node);
            const nt::SweepForest forest = forest_view(parent, order, tree_ptr);
            run([&](nt::Watch watch) {
                nt::check_forest(forest);
                nt::sweep<T>(forest, values.data(), factors_view, sums.data(), out.data(),
                             static_cast<std::int64_t>(channels), threads, watch);
            });
        },
        "parent"_a.noconvert(), "order"_a.noconvert().none(), "tree_ptr"_a.noconvert(), "values"_a.noconvert(),
        "factors"_a.noconvert(), "per_node"_a, "sums"_a.noconvert(), "out"_a.noconvert(), "threads"_a);

    m.def(
        "sweep_gradients",
        [](const Ids& parent, const std::optional<Ids>& order, const Ids& tree_ptr, const Rows<T>& grad,
           const Rows<T>& factors, bool per_node, const Rows<T>& sums, const Rows<T>& out,
           const RowsOut<T>& grad_values, const RowsOut<T>& grad_factors, int threads) {
            const std::size_t rows = parent.size(), channels = grad.shape(1);
            expect_rows(grad, rows, channels, "grad");
            expect_rows(sums, rows, channels, "sums");
            expect_rows(out, rows, channels, "out");
            expect_rows(grad_values, rows, channels, "grad_values");
            expect_rows(grad_factors, factors.shape(0), channels, "grad_factors");
            const auto factors_view = factors_of<T>(factors, rows, channels, per_node);
            const nt::SweepForest forest = forest_view(parent, order, tree_ptr);
            run([&](nt::Watch watch) {
                nt::check_forest(forest);
                nt::sweep_gradients<T>(forest, grad.data(), factors_view, sums.data(), out.data(), grad_values.data(),
                                       grad_factors.data(), static_cast<std::int64_t>(channels), threads, watch);
            });
        },
        "parent"_a.noconvert(), "order"_a.noconvert().none(), "tree_ptr"_a.noconvert(), "grad"_a.noconvert(),
        "factors"_a.noconvert(), "per_node"_a, "sums"_a.noconvert(), "out"_a.noconvert(), "grad_values"_a.noconvert(),
        "grad_factors"_a.noconvert(), "threads"_a);
}

}  // namespace

void bindings::bind_sweeps(nb::module_& m) {
    m.def(
        "root_at_centres",
        [](const Ids& ptr, const In<nt::Vertex>& adj) {
            return arrays_of(run([&](nt::Watch watch) { return nt::root_at_centres(graph_view(ptr, adj), watch); }));
        },
        "ptr"_a.noconvert(), "adj"_a.noconvert());
    m.def(
        "root_as_given",
        [](const Ids& parent) {
            return arrays_of(run([&](nt::Watch watch) { return nt::root_as_given(view(parent), watch); }));
        },
        "parent"_a.noconvert());
    m.def(
        "cut_forest",
        [](const Ids& parent, const In<double>& weight, std::int64_t parts) {
            return give(run([&](nt::Watch watch) {
                return nt::cut_forest(view(parent), view(weight), parts, nt::CUT_SLACK, watch);
            }));
        },
        "parent"_a.noconvert(), "weight"_a.noconvert(), "parts"_a);
    bind_passes<float>(m);
    bind_passes<double>(m);
}
