#pragma once

#include <cstdint>

#include "neuraltrees/search.hpp"

namespace neuraltrees {

/// For a connected graph too large for CoreSearch: repeatedly selects a connected region of bags around a widest bag,
/// triangulates the graph of that region again (its own edges, with the borders to the outside made complete), and
/// keeps a narrower result.
SearchResult search_regions(GraphView graph, int lower_bound, std::uint64_t seed, Watch watch);

/// CoreSearch with the smallest bitsets that hold the graph; at most max_core vertices.
SearchResult search_core(GraphView graph, int lower_bound, Goal goal, std::uint64_t seed, Watch watch);
inline constexpr Vertex max_core = 1024;

}  // namespace neuraltrees
