// Conversions between NumPy arrays and views of the core, and work that Ctrl-C stops; shared by all bindings.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <limits>
#include <string_view>

#include "neuraltrees/buffer.hpp"
#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace nt = neuraltrees;

namespace bindings {

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

/// A column that need not be contiguous.
template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>;

template <typename T>
nt::Strided<T> column(const Column<T>& a) {
    return {a.data(), static_cast<std::int64_t>(a.shape(0)), a.stride(0)};
}

inline nt::GraphView graph_view(const In<std::int64_t>& ptr, const In<nt::Vertex>& adj) {
    return {view(ptr), view(adj)};
}

inline nt::DecompositionView td_view(const In<std::int64_t>& ptr, const In<nt::Vertex>& nodes, const Pairs& edges) {
    return {view(ptr), view(nodes), {reinterpret_cast<const std::array<nt::Vertex, 2>*>(edges.data()), edges.shape(0)}};
}

/// Moves a vector into a NumPy array without a copy.
template <typename T>
Out<T> give(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Out<T>(owned->data(), {owned->size()}, owner);
}

inline Out<nt::Vertex> give(std::vector<std::array<nt::Vertex, 2>>&& pairs) {
    auto* owned = new std::vector<std::array<nt::Vertex, 2>>(std::move(pairs));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<std::array<nt::Vertex, 2>>*>(p); });
    return Out<nt::Vertex>(reinterpret_cast<nt::Vertex*>(owned->data()), {owned->size(), std::size_t{2}}, owner);
}

template <typename T>
Out<T> give(nt::BufferOf<T>&& buffer, std::size_t rows = 1) {
    auto size = static_cast<std::size_t>(buffer.size);
    T* data = buffer.data.release();
    nb::capsule owner(data, [](void* p) noexcept { nt::give_block_back(p); });
    if (rows == 1) return Out<T>(data, {size}, owner);
    return Out<T>(data, {rows, size / rows}, owner);
}

inline nb::tuple give(nt::Graph&& graph) {
    return nb::make_tuple(give(std::move(graph.ptr)), give(std::move(graph.adj)));
}

/// Runs work(watch) without the interpreter lock; signals (Ctrl-C), and errors of `report`, end it with their
/// exception.
template <typename Work>
auto run(Work&& work, double seconds = std::numeric_limits<double>::infinity(), nt::Report report = {}) {
    nt::Caller caller([&report](int lower_bound, int width) {
        nb::gil_scoped_acquire lock;
        return PyErr_CheckSignals() == 0 && (!report || report(lower_bound, width));
    });
    try {
        nb::gil_scoped_release free;
        return work(nt::Watch(caller, seconds));
    } catch (const nt::Interrupted&) {
        throw nb::python_error();
    }
}

template <typename T>
using Rows = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using RowsOut = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Id2 = Rows<std::int64_t>;
using Doubles = Rows<double>;

inline std::string_view text_of(const nb::bytes& given) { return {given.c_str(), given.size()}; }

void bind_inference(nb::module_& m);
void bind_label_texts(nb::module_& m);
void bind_layers(nb::module_& m);
void bind_random_walks(nb::module_& m);
void bind_row_sums(nb::module_& m);
void bind_scenes(nb::module_& m);
void bind_sweeps(nb::module_& m);

}  // namespace bindings
