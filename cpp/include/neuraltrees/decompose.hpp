#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/small.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

enum class Method { min_fill, min_degree, junction_tree, exact, best, canonical };

struct DecomposeOptions {
    Method method = Method::min_fill;
    std::uint64_t seed = 0;
    int restarts = 4;
    int threads = 1;
    bool refine = false;  // of canonical: rigid bags are decomposed by min_fill
};

/// Decomposes every connected component by the method. The greedy methods run up to `restarts` times, the first time by
/// their plain rule, and stop early at the lower bound; `exact` and `best` improve on min_fill until the proof is
/// complete or time is up. `canonical` is `canonical_decomposition`, which needs linear time, unless it refines,
/// and does not end early.
///
/// Every other method keeps the time of the watch, writing the bags included, by the shortcuts of `eliminate_greedily`;
/// the greedy methods take them also where fill explodes. `best` is never wider than min_fill in the same time.
TreeDecomposition decompose(GraphView graph, const DecomposeOptions& options, Watch watch = {});

/// A decomposition of a connected graph of width at most `width`, by the same greedy runs, or nothing if they are all
/// wider; each ends as soon as it is.
std::optional<TreeDecomposition> decompose_within(GraphView graph, int width, const DecomposeOptions& options,
                                                  Watch watch = {});

/// `decompose` for a graph of at most 64 vertices, which may be disconnected; `exact`, `best` and `canonical`
/// count as min_fill here.
SmallDecomposition decompose_small(const SmallGraph& graph, const DecomposeOptions& options);

}  // namespace neuraltrees
