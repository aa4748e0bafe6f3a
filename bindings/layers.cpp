// Parts of layers: matrix products, sums of messages, and batch norm with what follows it.
#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/norm_relu.hpp"
#include "neuraltrees/products.hpp"
#include "neuraltrees/relu_sum.hpp"

using namespace bindings;

namespace {

template <typename T>
using Channels = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Entries = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void expect(bool good, const char* what) {
    if (!good) throw nt::InputError(what);
}

nt::ReluEdges edges_of(const Ids& source, const Ids& target, const std::optional<Ids>& kind) {
    return {view(source), view(target), kind ? view(*kind) : std::span<const std::int64_t>{}};
}

template <typename Given>
auto pointer(const std::optional<Given>& given) -> decltype(given->data()) {
    return given ? given->data() : nullptr;
}

template <typename T>
void bind_relu_sums(nb::module_& m) {
    constexpr const char* widths = "Expected states, table and sums of the same width; got other shapes.";
    m.def(
        "relu_sum",
        [](const Ids& source, const Ids& target, const std::optional<Ids>& kind, const Rows<T>& x,
           const std::optional<Rows<T>>& table, const RowsOut<T>& out, int threads) {
            const std::size_t channels = x.shape(1);
            expect(out.shape(1) == channels && (!table || table->shape(1) == channels), widths);
            const nt::ReluEdges edges = edges_of(source, target, kind);
            const auto targets = static_cast<std::int64_t>(out.shape(0));
            run([&](nt::Watch watch) {
                nt::check_edges(edges, static_cast<std::int64_t>(x.shape(0)), targets,
                                table ? static_cast<std::int64_t>(table->shape(0)) : 1);
                nt::relu_sum<T>(edges, x.data(), pointer(table), out.data(), targets,
                                static_cast<std::int64_t>(channels), threads, watch);
            });
        },
        "source"_a.noconvert(), "target"_a.noconvert(), "kind"_a.noconvert().none(), "x"_a.noconvert(),
        "table"_a.noconvert().none(), "out"_a.noconvert(), "threads"_a);
    m.def(
        "edge_sum",
        [](const Ids& source, const Ids& target, const Rows<T>& x, const RowsOut<T>& out, int threads) {
            expect(out.shape(1) == x.shape(1), widths);
            const nt::ReluEdges edges = edges_of(source, target, std::nullopt);
            const auto targets = static_cast<std::int64_t>(out.shape(0));
            run([&](nt::Watch watch) {
                nt::check_edges(edges, static_cast<std::int64_t>(x.shape(0)), targets, 1);
                nt::edge_sum<T>(edges, x.data(), out.data(), targets, static_cast<std::int64_t>(x.shape(1)), threads,
                                watch);
            });
        },
        "source"_a.noconvert(), "target"_a.noconvert(), "x"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
    m.def(
        "relu_sum_gradients",
        [](const Ids& source, const Ids& target, const std::optional<Ids>& kind, const Rows<T>& grad, const Rows<T>& x,
           const std::optional<Rows<T>>& table, const RowsOut<T>& of_x, const std::optional<RowsOut<T>>& of_table,
           int threads) {
            const std::size_t channels = x.shape(1), kinds = table ? table->shape(0) : 1;
            expect(grad.shape(1) == channels && of_x.shape(1) == channels && of_x.shape(0) == x.shape(0) &&
                       (!table || table->shape(1) == channels) &&
                       (!of_table || (table && of_table->shape(0) == kinds && of_table->shape(1) == channels)),
                   widths);
            const nt::ReluEdges edges = edges_of(source, target, kind);
            const auto sources = static_cast<std::int64_t>(x.shape(0));
            run([&](nt::Watch watch) {
                nt::check_edges(edges, sources, static_cast<std::int64_t>(grad.shape(0)),
                                static_cast<std::int64_t>(kinds));
                nt::relu_sum_gradients<T>(edges, grad.data(), x.data(), pointer(table), of_x.data(), pointer(of_table),
                                          sources, static_cast<std::int64_t>(kinds),
                                          static_cast<std::int64_t>(channels), threads, watch);
            });
        },
        "source"_a.noconvert(), "target"_a.noconvert(), "kind"_a.noconvert().none(), "grad"_a.noconvert(),
        "x"_a.noconvert(), "table"_a.noconvert().none(), "of_x"_a.noconvert(), "of_table"_a.noconvert().none(),
        "threads"_a);
}

/// Dropout as it comes from Python: no entries where nothing is dropped.
struct Drop {
    std::optional<nt::DropHashes> hashes;

    Drop(const std::optional<Entries>& entries, const std::optional<In<std::int32_t>>& keys, float low, float factor,
         const nt::NormShape& shape) {
        if (!entries) return;
        expect(keys && static_cast<std::int64_t>(keys->size()) * shape.size == shape.channels &&
                   static_cast<std::int64_t>(entries->shape(0)) == shape.rows &&
                   static_cast<std::int64_t>(entries->shape(1)) == shape.size,
               "Expected entries of a run's shape and a key per run; got other shapes.");
        hashes = {entries->data(), keys->data(), low, factor};
    }
    const nt::DropHashes* get() const { return hashes ? &*hashes : nullptr; }
};

template <typename T>
nt::NormShape norm_shape(const Rows<T>& h, std::int64_t size, std::int64_t least) {
    const nt::NormShape shape{static_cast<std::int64_t>(h.shape(0)), static_cast<std::int64_t>(h.shape(1)), size};
    expect(size > 0 && shape.channels % size == 0, "Expected the channels of whole runs; got another number.");
    expect(shape.rows >= least, "Expected two rows or more; got fewer.");
    return shape;
}

template <typename Given>
bool alike(const Given& given, const nt::NormShape& shape) {
    return static_cast<std::int64_t>(given.shape(0)) == shape.rows &&
           static_cast<std::int64_t>(given.shape(1)) == shape.channels;
}

template <typename... Given>
bool per_channel(const nt::NormShape& shape, const Given&... given) {
    return ((static_cast<std::int64_t>(given.size()) == shape.channels) && ...);
}

template <typename T>
nt::NormCopies<T> copies_of(const std::optional<In<T>>& copies, const nt::NormShape& shape) {
    expect(!copies || static_cast<std::int64_t>(copies->size()) == shape.rows,
           "Expected the number of copies of every row; got another number of them.");
    const nt::NormCopies<T> found = nt::norm_copies<T>(copies ? copies->data() : nullptr, shape.rows);
    expect(found.all >= 2, "Expected two nodes or more; got fewer.");
    return found;
}

template <typename T>
void bind_norms(nb::module_& m) {
    constexpr const char* shapes = "Expected rows of one shape and a number per channel; got other shapes.";
    m.def(
        "drop_entries",
        [](const Rows<T>& h, std::int64_t size, const Entries& entries, const In<std::int32_t>& keys, float low,
           float factor, const RowsOut<T>& out, int threads) {
            const nt::NormShape shape = norm_shape<T>(h, size, 0);
            expect(alike(out, shape), shapes);
            const Drop drop(entries, keys, low, factor, shape);
            run([&](nt::Watch watch) {
                nt::drop_entries<T>(shape, h.data(), *drop.get(), out.data(), threads, watch);
            });
        },
        "h"_a.noconvert(), "size"_a, "entries"_a.noconvert(), "keys"_a.noconvert(), "low"_a, "factor"_a,
        "out"_a.noconvert(), "threads"_a);
    m.def(
        "norm_relu",
        [](const Rows<T>& h, std::int64_t size, const std::optional<In<T>>& copies, const Channels<const T>& scale,
           const Channels<const T>& shift, const Channels<T>& running_mean, const Channels<T>& running_var,
           double momentum, bool relu, const std::optional<Entries>& entries,
           const std::optional<In<std::int32_t>>& keys, float low, float factor, const std::optional<Rows<T>>& residual,
           const RowsOut<T>& out, const Channels<T>& mean, const Channels<T>& inverse, int threads) {
            const nt::NormShape shape = norm_shape<T>(h, size, 2);
            expect(alike(out, shape) && (!residual || alike(*residual, shape)) &&
                       per_channel(shape, scale, shift, running_mean, running_var, mean, inverse),
                   shapes);
            const nt::NormCopies<T> nodes = copies_of<T>(copies, shape);
            const Drop drop(entries, keys, low, factor, shape);
            const nt::NormParameters<T> norm{scale.data(), shift.data(), running_mean.data(), running_var.data(),
                                             momentum};
            run([&](nt::Watch watch) {
                nt::norm_relu<T>(shape, h.data(), nodes, norm, relu, drop.get(), pointer(residual), out.data(),
                                 mean.data(), inverse.data(), threads, watch);
            });
        },
        "h"_a.noconvert(), "size"_a, "copies"_a.noconvert().none(), "scale"_a.noconvert(), "shift"_a.noconvert(),
        "running_mean"_a.noconvert(), "running_var"_a.noconvert(), "momentum"_a, "relu"_a,
        "entries"_a.noconvert().none(), "keys"_a.noconvert().none(), "low"_a, "factor"_a,
        "residual"_a.noconvert().none(), "out"_a.noconvert(), "mean"_a.noconvert(), "inverse"_a.noconvert(),
        "threads"_a);
    m.def(
        "norm_relu_gradients",
        [](const Rows<T>& grad, const Rows<T>& h, std::int64_t size, const std::optional<In<T>>& copies,
           const Channels<const T>& scale, const Channels<const T>& shift, const Channels<const T>& mean,
           const Channels<const T>& inverse, bool relu, const std::optional<Entries>& entries,
           const std::optional<In<std::int32_t>>& keys, float low, float factor, const RowsOut<T>& of_h,
           const Channels<T>& of_scale, const Channels<T>& of_shift, int threads) {
            const nt::NormShape shape = norm_shape<T>(h, size, 2);
            expect(alike(grad, shape) && alike(of_h, shape) &&
                       per_channel(shape, scale, shift, mean, inverse, of_scale, of_shift),
                   shapes);
            const nt::NormCopies<T> nodes = copies_of<T>(copies, shape);
            const Drop drop(entries, keys, low, factor, shape);
            run([&](nt::Watch watch) {
                nt::norm_relu_gradients<T>(shape, grad.data(), h.data(), nodes, scale.data(), shift.data(), mean.data(),
                                           inverse.data(), relu, drop.get(), of_h.data(), of_scale.data(),
                                           of_shift.data(), threads, watch);
            });
        },
        "grad"_a.noconvert(), "h"_a.noconvert(), "size"_a, "copies"_a.noconvert().none(), "scale"_a.noconvert(),
        "shift"_a.noconvert(), "mean"_a.noconvert(), "inverse"_a.noconvert(), "relu"_a, "entries"_a.noconvert().none(),
        "keys"_a.noconvert().none(), "low"_a, "factor"_a, "of_h"_a.noconvert(), "of_scale"_a.noconvert(),
        "of_shift"_a.noconvert(), "threads"_a);
}

template <typename T>
using Stack = nb::ndarray<T, nb::ndim<3>, nb::device::cpu>;

template <typename T>
nt::Matrices<T> matrices(const Stack<T>& given) {
    return {given.data(), given.stride(0), given.stride(1), given.stride(2)};
}

void bind_products(nb::module_& m) {
    m.def("multiplies_faster", &nt::multiplies_faster);
    m.def(
        "multiply",
        [](const Stack<const float>& a, const Stack<const float>& b, const Stack<float>& out, int threads) {
            const auto size = [](const auto& of, std::size_t i) { return static_cast<std::int64_t>(of.shape(i)); };
            const nt::ProductShape shape{size(a, 0), size(a, 1), size(a, 2), size(b, 2)};
            expect(size(b, 0) == shape.runs && size(out, 0) == shape.runs && size(b, 1) == shape.depth &&
                       size(out, 1) == shape.rows && size(out, 2) == shape.columns,
                   "Expected factors and results of matching shapes; got other shapes.");
            run([&](nt::Watch watch) { nt::multiply(shape, matrices(a), matrices(b), matrices(out), threads, watch); });
        },
        "a"_a.noconvert(), "b"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
}

}  // namespace

void bindings::bind_layers(nb::module_& m) {
    bind_products(m);
    bind_relu_sums<float>(m);
    bind_relu_sums<double>(m);
    bind_norms<float>(m);
    bind_norms<double>(m);
}
