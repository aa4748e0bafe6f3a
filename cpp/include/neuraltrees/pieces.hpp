#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace neuraltrees {

/// Connected parts of a typed graph that meet in single rooms; see `Pieces` in Python.
struct Pieces {
    std::vector<std::int64_t> members, ptr, edge_order, edge_ptr;
    std::vector<std::int64_t> ends, joints;  // two numbers each
    std::vector<std::int64_t> component;
};

/// Splits a graph at its rooms. `edges` has two nodes per edge, `is_room` a number per node.
/// Throws InputError for an end that is no node.
Pieces take_apart(std::span<const std::int64_t> edges, std::span<const std::uint8_t> is_room);

}  // namespace neuraltrees
