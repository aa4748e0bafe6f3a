// Sums of rows, for networks on scenes.
#include "neuraltrees/row_sums.hpp"

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "neuraltrees/error.hpp"

using namespace bindings;

namespace {

using Floats = Rows<float>;
using FloatsOut = RowsOut<float>;

}  // namespace

void bindings::bind_row_sums(nb::module_& m) {
    m.def(
        "gated_means",
        [](const Ids& source, const std::optional<Ids>& relation, const Ids& start, const Floats& h,
           const std::optional<Floats>& gates, const FloatsOut& out) {
            const nt::SortedMessages messages{
                view(source), relation ? view(*relation) : std::span<const std::int64_t>{}, view(start)};
            nt::check_messages(messages, static_cast<std::int64_t>(h.shape(0)),
                               gates ? static_cast<std::int64_t>(gates->shape(0)) : -1);
            if (out.shape(0) + 1 != start.size() || out.shape(1) != h.shape(1) ||
                (gates && gates->shape(1) != h.shape(1)))
                throw nt::InputError("Expected states, gates and sums of the same width; got other shapes.");
            nt::gated_means(messages, h.data(), gates ? gates->data() : nullptr, out.data(),
                            static_cast<std::int64_t>(h.shape(1)));
        },
        "source"_a.noconvert(), "relation"_a.noconvert().none(), "start"_a.noconvert(), "h"_a.noconvert(),
        "gates"_a.noconvert().none(), "out"_a.noconvert());
    m.def(
        "add_rows",
        [](const Ids& target, const In<float>& weight, const Floats& h, const FloatsOut& out) {
            if (target.size() != h.shape(0) || weight.size() != target.size() || out.shape(1) != h.shape(1))
                throw nt::InputError(
                    "Expected a target and a weight per row, and sums of its width; got other shapes.");
            for (std::size_t e = 0; e < target.size(); ++e)
                if (target(e) < 0 || static_cast<std::size_t>(target(e)) >= out.shape(0))
                    throw nt::InputError("Expected targets as rows of the sums; got other numbers.");
            nt::add_rows(view(target), view(weight), h.data(), out.data(), static_cast<std::int64_t>(h.shape(1)));
        },
        "target"_a.noconvert(), "weight"_a.noconvert(), "h"_a.noconvert(), "out"_a.noconvert());
    m.def(
        "edge_states",
        [](const Ids& relation, const Floats& geometry, const Floats& weight, const FloatsOut& out) {
            const auto relations = static_cast<std::int64_t>(weight.shape(0)) / nt::edge_numbers;
            if (geometry.shape(0) != relation.size() || geometry.shape(1) != nt::geometry_numbers ||
                out.shape(0) != relation.size() || out.shape(1) != weight.shape(1))
                throw nt::InputError("Expected a relation, a geometry and a state per edge; got other shapes.");
            for (const std::int64_t each : view(relation))
                if (each < 0 || each >= relations)
                    throw nt::InputError("Expected relations with weights of their own; got other numbers.");
            nt::edge_states(view(relation), geometry.data(), weight.data(), out.data(),
                            static_cast<std::int64_t>(out.shape(1)));
        },
        "relation"_a.noconvert(), "geometry"_a.noconvert(), "weight"_a.noconvert(), "out"_a.noconvert());
}
