#include "neuraltrees/bag_plan.hpp"

#include <algorithm>
#include <bit>
#include <mutex>

#include "neuraltrees/error.hpp"

namespace neuraltrees {
namespace {

bool complete(const SmallGraph& graph) {
    for (int v = 0; v < graph.n; ++v)
        if (std::popcount(graph.row[v]) != graph.n - 1) return false;
    return true;
}

SmallGraph induced(const SmallGraph& graph, std::uint64_t members) {
    SmallGraph out;
    for (std::uint64_t m = members; m != 0; m &= m - 1) {
        const std::uint64_t row = graph.row[std::countr_zero(m)] & members;
        std::uint64_t packed = 0;
        for (std::uint64_t r = row; r != 0; r &= r - 1)
            packed |= std::uint64_t{1} << std::popcount(members & ((r & -r) - 1));
        out.row[out.n++] = packed;
    }
    return out;
}

std::mutex idle_guard;
std::vector<std::unique_ptr<BagPlanner>> idle;

}  // namespace

std::unique_ptr<BagPlanner> BagPlanner::borrow(const DecomposeOptions& options, std::int64_t max_nodes, Watch watch) {
    std::unique_ptr<BagPlanner> planner;
    {
        const std::lock_guard lock(idle_guard);
        const auto it = std::find_if(idle.begin(), idle.end(), [&](const auto& p) { return p->serves(options); });
        if (it != idle.end()) {
            planner = std::move(*it);
            idle.erase(it);
        }
    }
    if (!planner) planner = std::make_unique<BagPlanner>(options, max_nodes);
    planner->max_nodes_ = max_nodes;
    planner->watch_ = watch;
    return planner;
}

void BagPlanner::give_back(std::unique_ptr<BagPlanner> planner) {
    constexpr std::size_t most_idle = 8;
    if (planner->wide_ || planner->plans_.size() > kept) return;
    planner->watch_ = {};
    const std::lock_guard lock(idle_guard);
    if (idle.size() == most_idle) idle.erase(idle.begin());
    idle.push_back(std::move(planner));
}

BagPlanner::Key BagPlanner::key_of(const SmallGraph& graph) {
    Key key;
    int at = 0;
    for (int v = 1; v < graph.n; ++v) {
        const std::uint64_t below = graph.row[v] & ((std::uint64_t{1} << v) - 1);
        if (at < 64) {
            key.low |= below << at;
            if (at + v > 64) key.high |= below >> (64 - at);
        } else {
            key.high |= below << (at - 64);
        }
        at += v;
    }
    key.high |= static_cast<std::uint64_t>(graph.n) << 58;
    return key;
}

BagPlan* BagPlanner::add(BagPlan plan) {
    plans_.push_back(std::move(plan));
    return &plans_.back();
}

void BagPlanner::count(BagPlan& plan, std::int64_t bag) const {
    plan.nodes = 1 + (plan.children.empty() ? bag : 0);
    plan.entries = bag + (plan.children.empty() ? bag : 0);
    for (const auto& child : plan.children) {
        plan.nodes += child.plan->nodes;
        plan.entries += child.plan->entries;
        if (plan.nodes > max_nodes_) throw TreeTooLargeError(max_nodes_, static_cast<int>(bag) - 1, plan.nodes);
    }
}

const BagPlan* BagPlanner::plan(const SmallGraph& graph) {
    if (graph.n > packed) {
        wide_ = true;
        std::vector<std::uint64_t> rows(graph.row.begin(), graph.row.begin() + graph.n);
        if (const auto it = known_wide_.find(rows); it != known_wide_.end()) return it->second;
        return known_wide_[std::move(rows)] = expand(graph);
    }
    const Key key = key_of(graph);
    if (graph.n <= tiny) {
        auto& plans = tiny_[graph.n];
        if (plans.empty()) plans.resize(std::size_t{1} << graph.n * (graph.n - 1) / 2);
        if (plans[key.low] == nullptr) plans[key.low] = expand(graph);
        return plans[key.low];
    }
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
    const BagPlan* made = expand(graph);
    known_.emplace(key, made);
    return made;
}

/// Recurses at most 64 deep: every nested bag is smaller than its parent.
const BagPlan* BagPlanner::expand(const SmallGraph& graph) {
    BagPlan out;
    if (watch_.late(64 + 8 * graph.n * graph.n)) throw OutOfTime{};
    if (!complete(graph)) {
        const SmallDecomposition td = decompose_small(graph, options_);
        for (int b = 0; b < td.count; ++b) {
            BagPlan::Child child;
            for (std::uint64_t m = td.bag[b]; m != 0; m &= m - 1) child.members.push_back(std::countr_zero(m));
            child.plan = plan(induced(graph, td.bag[b]));
            out.children.push_back(std::move(child));
        }
    }
    count(out, graph.n);
    return add(std::move(out));
}

const BagPlan* BagPlanner::plan(const Graph& root) {
    wide_ = true;
    // A wide bag may nest as deep as it is wide, so recursion could overflow the call stack. With an explicit stack,
    // all graphs are decomposed from the top down first; then all counts are summed from the bottom up.
    struct Pending {
        Graph graph;
        BagPlan* plan;
    };
    std::vector<Pending> stack;
    std::vector<std::pair<BagPlan*, std::int64_t>> made;
    std::vector<Vertex> position;
    auto start = [&](Graph graph) -> const BagPlan* {
        const Vertex n = graph.view().num_nodes();
        if (n <= SmallGraph::max_nodes) {
            SmallGraph small;
            small.n = n;
            for (Vertex v = 0; v < n; ++v) {
                small.row[v] = 0;
                for (Vertex u : graph.view().neighbours(v)) small.row[v] |= std::uint64_t{1} << u;
            }
            return plan(small);
        }
        BagPlan* fresh = add({});
        fresh->nodes = 1 + n;  // at least; counted below
        made.emplace_back(fresh, n);
        if (graph.view().num_edges() < static_cast<std::int64_t>(n) * (n - 1) / 2)
            stack.push_back({std::move(graph), fresh});
        return fresh;
    };
    const BagPlan* top = start(root);
    found_ = top->nodes;
    const int width = static_cast<int>(root.view().num_nodes()) - 1;
    while (!stack.empty()) {
        const Pending next = std::move(stack.back());
        stack.pop_back();
        if (watch_.late()) throw OutOfTime{};
        const TreeDecomposition td = decompose(next.graph, options_, watch_);
        const Vertex n = next.graph.view().num_nodes();
        // Too dense to decompose: every further level would take as long and be hardly smaller.
        if (td.shortcut != Shortcut::none && (!watch_.limited() || td.view().num_bags() == 1))
            throw TreeTooLargeError(max_nodes_, width, found_);
        found_ -= n;  // its leaves are those of its children
        position.assign(n, -1);
        for (std::int64_t b = 0; b < td.view().num_bags(); ++b) {
            const auto bag = td.view().bag(b);
            BagPlan::Child child{start(induced_subgraph(next.graph, bag, position)), {bag.begin(), bag.end()}};
            found_ += child.plan->nodes;
            next.plan->children.push_back(std::move(child));
        }
        if (found_ > max_nodes_) throw TreeTooLargeError(max_nodes_, width, found_);
    }
    for (auto it = made.rbegin(); it != made.rend(); ++it) count(*it->first, it->second);
    return top;
}

std::int64_t BagPlanner::count_nodes(const Graph& graph, Watch watch) {
    watch_ = watch;
    found_ = 1 + graph.view().num_nodes();
    try {
        return plan(graph)->nodes;
    } catch (const OutOfTime&) {
        return found_;
    } catch (const TreeTooLargeError& error) {
        return error.nodes;
    }
}

}  // namespace neuraltrees
