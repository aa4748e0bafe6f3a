#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// Reads the PACE graph format: `p tw n m`, one 1-based edge per line, `c` comments. Throws ParseError with the line.
Graph parse_gr(std::string_view text, Watch watch = {});

/// Reads the PACE decomposition format: `s td bags maxbag n`, `b i v…` for every bag, then the tree's edges.
struct ParsedDecomposition {
    TreeDecomposition decomposition;
    std::int64_t num_nodes;
};
ParsedDecomposition parse_td(std::string_view text, Watch watch = {});

}  // namespace neuraltrees
