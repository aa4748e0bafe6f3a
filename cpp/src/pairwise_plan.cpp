#include <algorithm>

#include "neuraltrees/decompose.hpp"
#include "neuraltrees/pairwise.hpp"

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
    plan.first.assign(model.first.begin(), model.first.end());
    plan.last.assign(model.last.begin(), model.last.end());
    plan.num_graphs = model.num_graphs;
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
    for (std::size_t e = 0; e < plan.first.size(); ++e) {
        const Vertex u = place[plan.first[e]], v = place[plan.last[e]];
        if (u >= 0 && v >= 0) {
            source.push_back(u);
            target.push_back(v);
            inner.push_back(static_cast<std::int64_t>(e));
        } else if (u < 0 && v < 0) {
            plan.settled.push_back(static_cast<std::int64_t>(e));
        }
    }
    const auto count = static_cast<std::int32_t>(variables.size());
    const std::vector<Vertex> order =
        elimination_order(graph_from_edges(std::span<const std::int64_t>(source), target, count, watch), watch);
    std::vector<std::int32_t> step_of(count);
    for (std::int32_t i = 0; i < count; ++i) step_of[order[i]] = i;
    for (std::size_t e = 0; e < plan.first.size(); ++e) {
        const Vertex u = place[plan.first[e]], v = place[plan.last[e]];
        if ((u < 0) == (v < 0)) continue;
        const bool from_first = u < 0;
        const auto known = static_cast<Vertex>(from_first ? plan.first[e] : plan.last[e]);
        plan.halves.push_back({static_cast<std::int64_t>(e), known, step_of[from_first ? v : u], from_first});
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
        plan.most_states = std::max<std::int64_t>(plan.most_states, sizes[i]);
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

    plan.steps.reserve(count + 1);
    for (std::int32_t i = 0; i <= count; ++i) {
        PairwisePlan::Step step{};
        step.separator = std::ssize(plan.separator);
        step.pairs = std::ssize(plan.pairs);
        step.children = std::ssize(plan.children);
        step.axes = std::ssize(plan.strides);
        step.table = plan.table_entries;
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
        for (const auto& [other, k] : pairs[i]) {
            const auto axis = static_cast<std::int32_t>(std::ranges::find(mine, other) - mine.begin());
            plan.pairs.push_back({inner[k], axis, step_of[source[k]] == i, plan.pair_entries});
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
        plan.table_entries += step.rows * step.states;
        plan.message_entries += step.rows;
        plan.num_states += step.states;
        plan.steps.push_back(step);
        if (plan.table_entries > most_entries) return declined();
    }
    return plan;
}

}  // namespace neuraltrees
