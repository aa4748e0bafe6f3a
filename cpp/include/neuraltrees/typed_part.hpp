#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace neuraltrees {

/// The H-trees of pieces of a typed graph. Members are its nodes; unknown positions are NaN.
struct TypedPieces {
    std::int64_t num_types;
    std::span<const std::int64_t> node_type;                 // per member
    std::span<const double> position;                        // per member, three numbers
    std::span<const std::int64_t> ends;                      // per edge of the graph: two members
    std::span<const std::int64_t> parent, kappa;             // per tree node
    std::span<const std::int64_t> bag_ptr, bag_nodes;        // the members in the bag of every tree node
    std::span<const std::int64_t> root_source, root_target;  // per directed edge between roots

    std::int64_t num_members() const { return static_cast<std::int64_t>(node_type.size()); }
    std::int64_t num_tree_nodes() const { return static_cast<std::int64_t>(parent.size()); }
    std::int64_t num_edges() const { return static_cast<std::int64_t>(ends.size()) / 2; }
};

/// What a network reads of them; see `TreePart` in Python.
struct TypedPart {
    std::vector<std::int64_t> kind;                               // per tree node
    std::vector<std::int64_t> child, up_relation, down_relation;  // per tree node that has a parent
    std::vector<std::int64_t> root_relation;                      // per edge between roots
    std::vector<float> root_offset, up_offset;                    // three numbers each
    std::vector<std::int64_t> first_root;                         // per member
    std::vector<double> anchor;                                   // per member, three numbers
    std::vector<std::int64_t> home;                               // per edge of the graph
};

/// Throws InputError if the arrays do not fit together.
TypedPart typed_part(const TypedPieces& pieces);

}  // namespace neuraltrees
