#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace neuraltrees {

/// Part of a message, as bytes [begin, end); begin is -1 for none.
struct Span {
    std::int64_t begin = -1, end = -1;
};

enum class Box : std::uint8_t { none, invalid, valid };

constexpr std::int64_t label_absent = -1, label_unknown = -2;

/// The nodes and edges of a scene in a form of Spark-DSG, column by column.
struct SparkColumns {
    // Per node. Its flags: whether it is an agent's by its attributes, and whether it has a prefix.
    std::vector<std::uint64_t> id;
    std::vector<std::int64_t> layer, partition;
    std::vector<std::uint8_t> agent, prefix;
    std::vector<Box> box;
    std::vector<std::int64_t> label;             // label_absent without a label, label_unknown for one that is none
    std::vector<double> position, size, centre;  // three numbers each; those of boxes are NaN without a valid box
    std::vector<double> distance;                // of places in binary, else NaN
    std::vector<std::int64_t> type;              // place of the type of its attributes among `types`, in binary
    std::vector<Span> name;                      // the letters of its name
    std::vector<float> embedding;                // of all nodes, one after another
    std::vector<std::int64_t> embedding_ptr{0};
    // The bytes of its attributes, and of the values that labels replace; in binary with the tags and lengths.
    std::vector<Span> attributes, name_value, label_value, probabilities_value;
    // Per edge: the ids of its ends.
    std::vector<std::uint64_t> source, target;
    // Of the whole scene, in JSON: the arrays of nodes and edges.
    Span nodes, edges;
    // Of the whole scene, in binary: types of attributes; layers, and those that have names.
    std::vector<Span> types, layer_name;
    std::vector<std::int64_t> layers, layer_of_name, partition_of_name;

    std::int64_t num_nodes() const { return static_cast<std::int64_t>(id.size()); }
};

/// The columns of Spark-DSG JSON in which every node and edge is well-formed, its position is known, and no text that
/// is read has escapes; nothing for all other texts, which must be read in another way. Text must be valid UTF-8.
std::optional<SparkColumns> read_spark_json(std::string_view text);

/// The columns of a message in the binary form of Spark-DSG 1.1.3, as `read_spark_json`; nothing for a message with a
/// mesh, with a box that is turned or with attributes of types that it does not know.
std::optional<SparkColumns> read_spark_binary(std::string_view message);

}  // namespace neuraltrees
