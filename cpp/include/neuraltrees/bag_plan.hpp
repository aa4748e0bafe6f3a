#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "neuraltrees/decompose.hpp"
#include "neuraltrees/interrupt.hpp"
#include "neuraltrees/small.hpp"

namespace neuraltrees {

/// What hangs below a bag, up to the names of its vertices: leaves if G[B] is complete, else the plans of the bags of its
/// decomposition. Bags with equal graphs share one plan, so a plan is built once and stamped as often as it occurs.
struct BagPlan {
    struct Child {
        const BagPlan* plan;
        std::vector<Vertex> members;  // positions in the parent's bag, sorted
    };
    std::vector<Child> children;  // empty: complete, one leaf a vertex
    std::int64_t nodes = 0;       // tree nodes, the bag itself included
    std::int64_t entries = 0;     // sum of their bag sizes
};

/// Makes plans, remembering those of bags of at most 16 vertices by their adjacency. One per thread.
class BagPlanner {
public:
    BagPlanner(const DecomposeOptions& options, std::int64_t max_nodes, Interrupt& interrupt)
        : options_(options), max_nodes_(max_nodes), interrupt_(interrupt) {}

    const BagPlan* plan(const SmallGraph& graph);
    const BagPlan* plan(const Graph& graph);

private:
    struct Key {
        std::uint64_t low = 0, high = 0;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& k) const { return mix(k.low, k.high); }
    };
    static constexpr int remembered = 16;  // 120 pairs and the size fit in 128 bits

    static Key key_of(const SmallGraph& graph);
    const BagPlan* expand(const SmallGraph& graph);
    BagPlan* add(BagPlan plan);
    void count(BagPlan& plan, std::int64_t bag) const;

    DecomposeOptions options_;
    std::int64_t max_nodes_;
    Interrupt& interrupt_;
    std::deque<BagPlan> plans_;
    std::unordered_map<Key, const BagPlan*, KeyHash> known_;
};

}  // namespace neuraltrees
