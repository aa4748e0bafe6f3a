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
    bool refine = false;  // with canonical: decompose rigid bags by min_fill
};

/// Decomposes every connected component by the method. The greedy methods run up to `restarts` times, the first time by
/// their plain rule, and stop early at the lower bound; `exact` and `best` improve on min_fill until the proof is
/// complete or time is up. `canonical` is `canonical_decomposition`, which takes linear time, unless it refines, and
/// ignores the time limit.
///
/// All other methods keep the time limit of the watch, including the time to write the bags, by the shortcuts of
/// `eliminate_greedily`; the greedy methods also take shortcuts if fill explodes. `best` is never wider than min_fill
/// in the same time.
TreeDecomposition decompose(GraphView graph, const DecomposeOptions& options, Watch watch = {});

/// A decomposition of a connected graph of width at most `width`, by the same greedy runs, or nothing if all of them
/// are wider; a run stops as soon as it is.
std::optional<TreeDecomposition> decompose_within(GraphView graph, int width, const DecomposeOptions& options,
                                                  Watch watch = {});

/// `decompose` for a graph of at most 64 vertices, which may be disconnected; `exact`, `best` and `canonical` mean
/// min_fill here.
SmallDecomposition decompose_small(const SmallGraph& graph, const DecomposeOptions& options);

}  // namespace neuraltrees
