#include <algorithm>

#include "neuraltrees/decompose.hpp"
#include "neuraltrees/pairwise.hpp"
#include "pairwise_leaf.hpp"

namespace neuraltrees {
namespace {

/// The unknown nodes in an order of elimination: from the leaves of a min-fill decomposition up.
std::vector<Vertex> elimination_order(GraphView graph, Watch watch) {
    const TreeDecomposition td = decompose(graph, {}, watch);  // parents before children
    std::vector<Vertex> order;
    order.reserve(graph.num_nodes());
    std::vector<bool> seen(graph.num_nodes(), false);
    for (const Vertex v : td.bag_nodes) {
        if (seen[v]) continue;
        seen[v] = true;
        order.push_back(v);
    }
    std::ranges::reverse(order);
    return order;
}

}  // namespace

PairwisePlan plan_pairwise(const PairwiseView& model, std::int64_t states, std::int64_t most_entries, Watch watch) {
    PairwisePlan plan;
    plan.labels.assign(model.labels.begin(), model.labels.end());
    plan.owner.assign(model.owner.begin(), model.owner.end());
    plan.num_graphs = model.num_graphs;
    plan.num_edges = std::ssize(model.first);
    for (const std::int64_t count : model.labels) plan.most_labels = std::max(plan.most_labels, count);
    std::vector<Vertex> place(model.num_nodes(), -1);
    std::vector<Vertex> variables;
    for (Vertex v = 0; v < model.num_nodes(); ++v) {
        if (model.known[v]) {
            plan.fixed.push_back(v);
        } else {
            place[v] = static_cast<Vertex>(variables.size());
            variables.push_back(v);
        }
    }
    std::vector<std::int64_t> source, target, inner;
    const auto ends = [&](std::int64_t e) {
        return std::pair(static_cast<Vertex>(model.first[e]), static_cast<Vertex>(model.last[e]));
    };
    for (std::int64_t e = 0; e < plan.num_edges; ++e) {
        const auto [u, v] = ends(e);
        if (place[u] >= 0 && place[v] >= 0) {
            source.push_back(place[u]);
            target.push_back(place[v]);
            inner.push_back(e);
        } else if (place[u] < 0 && place[v] < 0) {
            plan.settled.push_back({e, u, v});
        }
    }
    const auto count = static_cast<std::int32_t>(variables.size());
    const std::vector<Vertex> order =
        elimination_order(graph_from_edges(std::span<const std::int64_t>(source), target, count, watch), watch);
    std::vector<std::int32_t> step_of(count);
    for (std::int32_t i = 0; i < count; ++i) step_of[order[i]] = i;
    std::vector<std::vector<PairwisePlan::Half>> halves(count);
    for (std::int64_t e = 0; e < plan.num_edges; ++e) {
        const auto [u, v] = ends(e);
        if ((place[u] < 0) == (place[v] < 0)) continue;
        const bool from_first = place[u] < 0;
        halves[step_of[place[from_first ? v : u]]].push_back({e, from_first ? u : v, from_first});
    }

    // The pairs of every step, and its separator: later neighbours, and those of the steps that send to it.
    std::vector<std::vector<std::int32_t>> separators(count), children(count);
    std::vector<std::vector<std::pair<std::int32_t, std::size_t>>> pairs(count);
    for (std::size_t k = 0; k < inner.size(); ++k) {
        const auto [low, high] = std::minmax(step_of[source[k]], step_of[target[k]]);
        separators[low].push_back(high);
        pairs[low].emplace_back(high, k);
    }
    std::vector<std::int32_t> sizes(count);
    for (std::int32_t i = 0; i < count; ++i) {
        const std::int64_t own = plan.labels[variables[order[i]]];
        sizes[i] = static_cast<std::int32_t>(states > 0 ? std::min(own, states) : own);
    }
    for (std::int32_t i = 0; i < count; ++i) {
        auto& mine = separators[i];
        std::ranges::sort(mine, std::greater<>());
        mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
        plan.width = std::max(plan.width, static_cast<int>(mine.size()));
        if (mine.empty()) continue;
        auto& above = separators[mine.back()];
        above.insert(above.end(), mine.begin(), mine.end() - 1);
        children[mine.back()].push_back(i);
    }
    for (auto& each : pairs)
        std::ranges::stable_sort(each, std::greater<>(), [](const auto& pair) { return pair.first; });

    plan.steps.reserve(count + 1);
    for (std::int32_t i = 0; i <= count; ++i) {
        PairwisePlan::Step step{};
        step.separator = std::ssize(plan.separator);
        step.pairs = std::ssize(plan.pairs);
        step.children = std::ssize(plan.children);
        step.axes = std::ssize(plan.strides);
        step.halves = std::ssize(plan.halves);
        step.table = plan.kept_entries;
        step.message = plan.message_entries;
        step.states_at = plan.num_states;
        if (i == count) {
            plan.steps.push_back(step);
            break;
        }
        const auto& mine = separators[i];
        step.node = variables[order[i]];
        step.states = sizes[i];
        step.depth = static_cast<std::int32_t>(mine.size());
        step.rows = 1;
        const auto declined = [&plan] {
            plan.steps.clear();
            return plan;
        };
        if (step.depth > most_pairwise_axes || step.states > most_pairwise_states) return declined();
        for (const std::int32_t other : mine) {
            step.rows *= sizes[other];
            if (step.rows > most_entries) return declined();
        }
        plan.separator.insert(plan.separator.end(), mine.begin(), mine.end());
        step.leaf = children[i].empty() && !mine.empty() && pairs[i].size() == mine.size();
        for (const auto& [other, k] : pairs[i]) {
            const auto axis = static_cast<std::int32_t>(std::ranges::find(mine, other) - mine.begin());
            const bool by_own = step.leaf && other == mine.back();
            plan.pairs.push_back({inner[k], axis, step_of[source[k]] == i, by_own, plan.pair_entries});
            plan.pair_entries += std::int64_t{sizes[other]} * step.states;
            for (std::int32_t a = 0; a < step.depth; ++a) plan.strides.push_back(a == axis ? step.states : 0);
        }
        for (const std::int32_t child : children[i]) {
            plan.children.push_back(child);
            const auto& theirs = separators[child];  // some of this separator, then this step
            std::vector<std::int64_t> stride(step.depth, 0);
            std::int64_t size = step.states;
            std::ptrdiff_t a = step.depth;
            for (std::ptrdiff_t t = std::ssize(theirs) - 2; t >= 0; --t) {
                while (mine[--a] != theirs[t]) {
                }
                stride[a] = size;
                size *= sizes[theirs[t]];
            }
            plan.strides.insert(plan.strides.end(), stride.begin(), stride.end());
        }
        plan.halves.insert(plan.halves.end(), halves[i].begin(), halves[i].end());
        plan.table_entries += step.rows * step.states;
        if (!step.leaf) {
            plan.kept_entries += step.rows * step.states;
        } else {
            const std::int64_t needed = Leaf::scratch_entries(step.states, step.depth, sizes[mine.back()]);
            plan.leaf_scratch = std::max(plan.leaf_scratch, needed);
        }
        plan.message_entries += step.rows;
        plan.num_states += step.states;
        plan.steps.push_back(step);
        if (plan.table_entries > most_entries) return declined();
    }
    return plan;
}

}  // namespace neuraltrees
