#include "palm_tree.hpp"

#include "sort_keys.hpp"

namespace neuraltrees {

void PalmTree::build(std::span<const Arc> arcs, const BlockSearch& search, Watch& watch) {
    watch.check(static_cast<std::int64_t>(arcs.size()));
    number_in_preorder(arcs, search);
    watch.check(static_cast<std::int64_t>(arcs.size()));
    sort_arcs(watch);
    number_along_paths(watch);
    list_fronds(watch);
}

/// Vertices get the numbers 1 … n in the order of the search.
void PalmTree::number_in_preorder(std::span<const Arc> arcs, const BlockSearch& search) {
    const std::size_t m = arcs.size();
    const Vertex root = arcs[0][0];
    Vertex last = root;
    for (const auto& arc : arcs) last = std::max(last, arc[1]);
    if (local_.size() <= static_cast<std::size_t>(last)) local_.resize(static_cast<std::size_t>(last) + 1);
    pre_source_.resize(m);
    pre_target_.resize(m);
    for (auto* array : {&pre_name_, &pre_father_, &pre_low1_, &pre_low2_}) array->assign(2, 0);
    pre_name_[1] = root;
    pre_low1_[1] = pre_low2_[1] = local_[root] = 1;
    n = 1;
    for (std::size_t i = 0; i < m; ++i) {
        const auto [from, to] = arcs[i];
        pre_source_[i] = local_[from];
        if (to > from) {
            local_[to] = ++n;
            pre_name_.push_back(to);
            pre_father_.push_back(local_[from]);
            pre_low1_.push_back(local_[search.low1(to)]);
            pre_low2_.push_back(local_[search.low2(to)]);
        }
        pre_target_[i] = local_[to];
    }
    pre_size_.assign(n + 1, 1);
    for (Vertex v = n; v > 1; --v) pre_size_[pre_father_[v]] += pre_size_[v];
}

/// The arcs out of every vertex: first by the lowest vertex they lead to; of equal ones, tree arcs whose subtree
/// reaches a second vertex above, then the frond, then the other tree arcs.
void PalmTree::sort_arcs(Watch& watch) {
    const std::size_t m = pre_source_.size();
    pre_ptr_.assign(n + 2, 0);
    for (Vertex v : pre_source_) ++pre_ptr_[v + 1];
    for (Vertex v = 1; v <= n; ++v) pre_ptr_[v + 1] += pre_ptr_[v];
    next_.assign(pre_ptr_.begin(), pre_ptr_.end());
    steps_.resize(m);
    for (std::size_t i = 0; i < m; ++i) {
        const Vertex v = pre_source_[i], w = pre_target_[i];
        const Vertex key = w < v ? 3 * w + 1 : 3 * pre_low1_[w] + (pre_low2_[w] < v ? 0 : 2);
        steps_[next_[v]++] = {key, w};
    }
    for (Vertex v = 1; v <= n; ++v) {
        const auto row = std::span(steps_).subspan(pre_ptr_[v], pre_ptr_[v + 1] - pre_ptr_[v]);
        watch.check(1 + static_cast<std::int64_t>(row.size()));
        if (row.size() > 1) sort_by_key(row, scratch_, [](const Step& step) { return step.key; });
    }
}

/// The vertices below v get the numbers after that of v: those below its first child the largest.
void PalmTree::number_along_paths(Watch& watch) {
    const auto m = steps_.size();
    renumbered_.resize(n + 1);
    renumbered_[1] = 1;
    for (Vertex v = 1; v <= n; ++v) {
        Vertex end = renumbered_[v] + pre_size_[v];
        for (Vertex i = pre_ptr_[v]; i < pre_ptr_[v + 1]; ++i)
            if (const Vertex w = steps_[i].target; w > v) renumbered_[w] = end -= pre_size_[w];
    }
    for (auto* array : {&name, &father, &low1, &low2, &size, &degree, &tree_arc}) array->assign(n + 1, 0);
    arc_ptr.assign(n + 2, 0);
    for (Vertex v = 1; v <= n; ++v) {
        const Vertex u = renumbered_[v];
        name[u] = pre_name_[v];
        father[u] = v == 1 ? 0 : renumbered_[pre_father_[v]];
        low1[u] = renumbered_[pre_low1_[v]];
        low2[u] = renumbered_[pre_low2_[v]];
        size[u] = pre_size_[v];
        arc_ptr[u + 1] = pre_ptr_[v + 1] - pre_ptr_[v];
    }
    for (Vertex v = 1; v <= n; ++v) arc_ptr[v + 1] += arc_ptr[v];
    source.resize(m);
    target.resize(m);
    for (Vertex v = 1; v <= n; ++v) {
        const Vertex u = renumbered_[v];
        Vertex arc = arc_ptr[u];
        watch.check(pre_ptr_[v + 1] - pre_ptr_[v]);
        for (Vertex i = pre_ptr_[v]; i < pre_ptr_[v + 1]; ++i, ++arc) {
            const Vertex w = renumbered_[steps_[i].target];
            source[arc] = u;
            target[arc] = w;
            ++degree[u];
            ++degree[w];
            if (w > u) tree_arc[w] = arc;
        }
    }
}

void PalmTree::list_fronds(Watch& watch) {
    fronds_.clear();
    next_.assign(arc_ptr.begin(), arc_ptr.end());
    for (Vertex v = 1; v != 0;) {
        watch.check();
        if (next_[v] == arc_ptr[v + 1]) {
            v = father[v];
            continue;
        }
        const Vertex arc = next_[v]++;
        if (target[arc] > v)
            v = target[arc];
        else
            fronds_.push_back(arc);
    }
    high_head.assign(n + 1, -1);
    high_next.resize(source.size());
    high_value.resize(source.size());
    for (std::size_t i = fronds_.size(); i-- > 0;) {
        const Vertex arc = fronds_[i];
        high_value[arc] = source[arc];
        high_next[arc] = high_head[target[arc]];
        high_head[target[arc]] = arc;
    }
}

}  // namespace neuraltrees
