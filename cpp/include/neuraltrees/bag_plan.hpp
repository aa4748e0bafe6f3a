#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "neuraltrees/decompose.hpp"
#include "neuraltrees/small.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// The subtree below a bag, with vertices given by their positions in the bag: leaves if G[B] is complete, else the
/// plans of the bags of its decomposition. Bags with equal graphs share one plan, so a plan is built once and copied
/// into the tree as often as it occurs.
struct BagPlan {
    struct Child {
        const BagPlan* plan;
        std::vector<Vertex> members;  // positions in the parent's bag, sorted
    };
    std::vector<Child> children;  // empty: complete, one leaf per vertex
    std::int64_t nodes = 0;       // tree nodes, including the bag itself
    std::int64_t entries = 0;     // sum of their bag sizes
};

/// Makes plans, and caches those of bags of at most 64 vertices by their adjacency. There is one planner per thread,
/// kept for the next tree that is built with the same options: the graphs of a dataset share most of their small bags.
class BagPlanner {
public:
    /// An idle planner for these options, with the plans of earlier builds if there is one; else a new planner.
    static std::unique_ptr<BagPlanner> borrow(const DecomposeOptions& options, std::int64_t max_nodes, Watch watch);
    static void give_back(std::unique_ptr<BagPlanner> planner);

    /// A separate planner, for estimates.
    BagPlanner(const DecomposeOptions& options, std::int64_t max_nodes) : options_(options), max_nodes_(max_nodes) {}

    const BagPlan* plan(const SmallGraph& graph);
    const BagPlan* plan(const Graph& graph);

    /// The number of nodes of the subtree below a bag; a lower bound if the watch is late before all are counted.
    std::int64_t count_nodes(const Graph& graph, Watch watch);

private:
    struct Key {
        std::uint64_t low = 0, high = 0;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& k) const { return mix(k.low, k.high); }
    };
    static constexpr int tiny = 5;                // all graphs of up to 5 vertices fit in a table
    static constexpr int packed = 16;             // 120 pairs and the size fit in 128 bits
    static constexpr std::size_t kept = 100'000;  // plans that an idle planner may hold

    struct OutOfTime {};

    bool serves(const DecomposeOptions& options) const {
        return options_.method == options.method && options_.seed == options.seed &&
               options_.restarts == options.restarts;
    }

    static Key key_of(const SmallGraph& graph);
    const BagPlan* expand(const SmallGraph& graph);
    BagPlan* add(BagPlan plan);
    void count(BagPlan& plan, std::int64_t bag) const;

    DecomposeOptions options_;
    std::int64_t max_nodes_ = 0;
    std::int64_t found_ = 0;  // nodes of the wide bag that is being planned, so far
    Watch watch_;
    bool wide_ = false;  // whether it holds plans of wide bags, which are not worth keeping
    std::deque<BagPlan> plans_;
    std::array<std::vector<const BagPlan*>, tiny + 1> tiny_;
    std::unordered_map<Key, const BagPlan*, KeyHash> known_;
    std::map<std::vector<std::uint64_t>, const BagPlan*> known_wide_;  // by all rows, for more than 16 vertices
};

}  // namespace neuraltrees
