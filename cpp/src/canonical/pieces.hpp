#pragma once

#include <array>
#include <span>
#include <vector>

#include "neuraltrees/decompose.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// The bags of a decomposition of a skeleton, parents before children.
struct Pieces {
    TreeDecomposition td;
    std::vector<Vertex> parent;  // -1 for the first
    std::vector<Vertex> host;    // per edge of the skeleton: a bag with both of its ends

    /// The skeleton must be connected and without parallel edges; `members` are its vertices, sorted. The first bag
    /// holds the ends of edge `first`.
    Pieces(std::span<const std::array<Vertex, 2>> edges, std::span<const Vertex> members, std::int64_t first,
           const DecomposeOptions& options, Watch watch);
};

}  // namespace neuraltrees
