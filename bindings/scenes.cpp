// Scenes in the forms of Spark-DSG, and their typed H-trees.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/nearby.hpp"
#include "neuraltrees/pieces.hpp"
#include "neuraltrees/spark.hpp"
#include "neuraltrees/typed_part.hpp"

using namespace bindings;

namespace {

template <typename T>
Out<T> give_rows(std::vector<T>&& values, std::size_t width) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Out<T>(owned->data(), {owned->size() / width, width}, owner);
}

Out<std::int64_t> give_spans(const std::vector<nt::Span>& spans) {
    std::vector<std::int64_t> flat;
    flat.reserve(2 * spans.size());
    for (const nt::Span& each : spans) flat.insert(flat.end(), {each.begin, each.end});
    return give_rows(std::move(flat), 2);
}

/// Appends the texts of spans, None for one that is missing; false for one that is not UTF-8.
bool give_texts(const std::vector<nt::Span>& spans, std::string_view message, nb::list& found) {
    for (const nt::Span& each : spans) {
        if (each.begin < 0) {
            found.append(nb::none());
            continue;
        }
        nb::object text = nb::steal(PyUnicode_DecodeUTF8(message.data() + each.begin, each.end - each.begin, nullptr));
        if (!text.is_valid()) {
            PyErr_Clear();
            return false;
        }
        found.append(text);
    }
    return true;
}

nb::object give_columns(std::optional<nt::SparkColumns>&& given, std::string_view message) {
    if (!given) return nb::none();
    nt::SparkColumns& columns = *given;
    nb::list names, types, layer_names;
    if (!give_texts(columns.name, message, names) || !give_texts(columns.types, message, types) ||
        !give_texts(columns.layer_name, message, layer_names))
        return nb::none();
    nb::dict found;
    found["id"] = give(std::move(columns.id));
    found["layer"] = give(std::move(columns.layer));
    found["partition"] = give(std::move(columns.partition));
    found["agent"] = give(std::move(columns.agent));
    found["prefix"] = give(std::move(columns.prefix));
    std::vector<std::uint8_t> box(columns.box.size());
    for (std::size_t i = 0; i < box.size(); ++i) box[i] = static_cast<std::uint8_t>(columns.box[i]);
    found["box"] = give(std::move(box));
    found["label"] = give(std::move(columns.label));
    found["position"] = give_rows(std::move(columns.position), 3);
    found["size"] = give_rows(std::move(columns.size), 3);
    found["centre"] = give_rows(std::move(columns.centre), 3);
    found["distance"] = give(std::move(columns.distance));
    found["type"] = give(std::move(columns.type));
    found["embedding"] = give(std::move(columns.embedding));
    found["embedding_ptr"] = give(std::move(columns.embedding_ptr));
    found["name"] = names;
    found["attributes"] = give_spans(columns.attributes);
    found["name_value"] = give_spans(columns.name_value);
    found["label_value"] = give_spans(columns.label_value);
    found["probabilities_value"] = give_spans(columns.probabilities_value);
    found["source"] = give(std::move(columns.source));
    found["target"] = give(std::move(columns.target));
    found["arrays"] = give_spans({columns.nodes, columns.edges});
    found["types"] = types;
    found["layer_name"] = layer_names;
    found["layers"] = give(std::move(columns.layers));
    found["layer_of_name"] = give(std::move(columns.layer_of_name));
    found["partition_of_name"] = give(std::move(columns.partition_of_name));
    return found;
}

}  // namespace

void bindings::bind_scenes(nb::module_& m) {
    m.def(
        "read_spark_json",
        [](const nb::bytes& text) { return give_columns(nt::read_spark_json(text_of(text)), text_of(text)); },
        "text"_a);
    m.def(
        "read_spark_binary",
        [](const nb::bytes& message) {
            return give_columns(nt::read_spark_binary(text_of(message)), text_of(message));
        },
        "message"_a);
    m.def(
        "typed_part",
        [](std::int64_t num_types, const Ids& node_type, const Doubles& position, const Id2& ends, const Ids& parent,
           const Ids& kappa, const Ids& bag_ptr, const Ids& bag_nodes, const Ids& root_source, const Ids& root_target) {
            nt::TypedPart part = nt::typed_part({num_types,
                                                 view(node_type),
                                                 {position.data(), position.size()},
                                                 {ends.data(), ends.size()},
                                                 view(parent),
                                                 view(kappa),
                                                 view(bag_ptr),
                                                 view(bag_nodes),
                                                 view(root_source),
                                                 view(root_target)});
            return nb::make_tuple(give(std::move(part.kind)), give(std::move(part.child)),
                                  give(std::move(part.root_relation)), give(std::move(part.up_relation)),
                                  give(std::move(part.down_relation)), give_rows(std::move(part.root_offset), 3),
                                  give_rows(std::move(part.up_offset), 3), give(std::move(part.first_root)),
                                  give_rows(std::move(part.anchor), 3), give(std::move(part.home)));
        },
        "num_types"_a, "node_type"_a.noconvert(), "position"_a.noconvert(), "ends"_a.noconvert(),
        "parent"_a.noconvert(), "kappa"_a.noconvert(), "bag_ptr"_a.noconvert(), "bag_nodes"_a.noconvert(),
        "root_source"_a.noconvert(), "root_target"_a.noconvert());
    m.def(
        "nearby_pairs",
        [](const Doubles& position, const Doubles& size, const Ids& group, double on_gap, double near_factor,
           double near_gap) {
            nt::NearbyPairs pairs = run([&](nt::Watch watch) {
                return nt::nearby_pairs({position.data(), position.size()}, {size.data(), size.size()}, view(group),
                                        {on_gap, near_factor, near_gap}, watch);
            });
            return nb::make_tuple(give(std::move(pairs.source)), give(std::move(pairs.target)),
                                  give(std::move(pairs.relation)));
        },
        "position"_a.noconvert(), "size"_a.noconvert(), "group"_a.noconvert(), "on_gap"_a, "near_factor"_a,
        "near_gap"_a);
    m.def(
        "take_apart",
        [](const Id2& edges, const In<std::uint8_t>& is_room) {
            nt::Pieces found = nt::take_apart({edges.data(), edges.size()}, view(is_room));
            return nb::make_tuple(give(std::move(found.members)), give(std::move(found.ptr)),
                                  give(std::move(found.edge_order)), give(std::move(found.edge_ptr)),
                                  give_rows(std::move(found.ends), 2), give_rows(std::move(found.joints), 2),
                                  give(std::move(found.component)));
        },
        "edges"_a.noconvert(), "is_room"_a.noconvert());
}
