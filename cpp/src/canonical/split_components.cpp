#include "split_components.hpp"

namespace neuraltrees {

Vertex SplitComponents::arc(Vertex from, Vertex to) {
    palm_->source.push_back(from);
    palm_->target.push_back(to);
    in_place_.push_back(-1);
    in_highs_.push_back(-1);
    return static_cast<Vertex>(in_place_.size()) - 1;
}

void SplitComponents::leave_highs(Vertex e) {
    if (in_highs_[e] >= 0) palm_->high_value[in_highs_[e]] = 0;
    in_highs_[e] = -1;
}

/// The first vertex from which a frond leads to v, 0 if there is none.
Vertex SplitComponents::high(Vertex v) {
    Vertex& head = palm_->high_head[v];
    while (head >= 0 && palm_->high_value[head] == 0) head = palm_->high_next[head];
    return head < 0 ? 0 : palm_->high_value[head];
}

/// Is w of degree two, and does it lead on to a child?
bool SplitComponents::has_one_child_only(Vertex w) {
    if (palm_->degree[w] != 2) return false;
    Vertex& first = first_[w];
    while (first < palm_->arc_ptr[w + 1] && at_[first] < 0) ++first;
    return first < palm_->arc_ptr[w + 1] && palm_->target[at_[first]] > w;
}

void SplitComponents::run(PalmTree& palm, Watch& watch) {
    palm_ = &palm;
    const auto m = static_cast<Vertex>(palm.source.size());
    kind.clear();
    ptr.assign(1, 0);
    edges.clear();
    stack_.clear();
    candidates_.assign(1, {0, 0, 0});
    at_.resize(m);
    in_place_.resize(m);
    in_highs_.resize(m);
    for (Vertex e = 0; e < m; ++e) {
        at_[e] = in_place_[e] = e;
        in_highs_[e] = palm.target[e] < palm.source[e] ? e : -1;
    }
    place_.assign(palm.arc_ptr.begin(), palm.arc_ptr.end() - 1);
    first_ = place_;
    out_.resize(palm.n + 1);
    for (Vertex v = 1; v <= palm.n; ++v) out_[v] = palm.arc_ptr[v + 1] - palm.arc_ptr[v];

    for (Vertex v = 1;;) {
        watch.check();
        if (place_[v] < palm.arc_ptr[v + 1]) {
            const Vertex e = at_[place_[v]], w = palm.target[e];
            if (w > v) {
                if (starts_path(v)) {
                    begin_path(palm.low1[w], w + palm.size[w] - 1, v);
                    candidates_.push_back({0, 0, 0});
                }
                v = w;
            } else {
                if (starts_path(v)) begin_path(w, v, v);
                stack_.push_back(e);
                ++place_[v];
            }
            continue;
        }
        if (v == 1) break;
        const Vertex w = v;
        v = palm.father[w];
        after_child(v, w, watch);
        ++place_[v];
    }
    for (Vertex e : stack_) put(e);
    close(edges.size() - static_cast<std::size_t>(ptr.back()) >= 4 ? Kind::rigid : Kind::polygon);
}

/// A path begins that ends in `lowest`: candidates whose upper vertex lies below that merge into one.
void SplitComponents::begin_path(Vertex lowest, Vertex h, Vertex b) {
    if (candidates_.back().a <= lowest) {
        candidates_.push_back({h, lowest, b});
        return;
    }
    Vertex most = 0, deepest = 0;
    while (candidates_.back().a > lowest) {
        most = std::max(most, candidates_.back().h);
        deepest = candidates_.back().b;
        candidates_.pop_back();
    }
    candidates_.push_back({most, lowest, deepest});
}

/// The search returns from w to v.
void SplitComponents::after_child(Vertex v, Vertex w, Watch& watch) {
    stack_.push_back(palm_->tree_arc[w]);
    const bool starts = starts_path(v);
    w = split_pairs_below(v, w, watch);
    if (palm_->low2[w] >= v && palm_->low1[w] < v && (palm_->father[v] != 1 || out_[v] >= 2))
        split_pair_above(v, w, watch);
    if (starts) {
        while (candidates_.back().a != 0) candidates_.pop_back();
        candidates_.pop_back();
    }
    while (candidates_.back().a != 0 && candidates_.back().b != v && high(v) > candidates_.back().h)
        candidates_.pop_back();
    --out_[v];
}

/// Pairs of v and a vertex b below it (type 2). Returns the child of v that is left.
Vertex SplitComponents::split_pairs_below(Vertex v, Vertex w, Watch& watch) {
    while (v != 1) {
        const bool triangle = has_one_child_only(w);
        const Triple top = candidates_.back();
        if (top.a != v && !triangle) break;
        if (top.a == v && palm_->father[top.b] == v) {
            candidates_.pop_back();
            continue;
        }
        Vertex twin = -1;  // an edge that joins the pair already
        Vertex joint = triangle ? cut_triangle(v, twin) : cut_candidate(v, twin, watch);
        w = palm_->target[joint];
        if (twin >= 0) {
            const Vertex next = arc(v, w);
            bond(twin, joint, next);
            count_off(next);
            joint = next;
        }
        stack_.push_back(joint);
        at_[place_[v]] = joint;
        in_place_[joint] = place_[v];
        count_in(joint);
        palm_->father[w] = v;
        palm_->tree_arc[w] = joint;
    }
    return w;
}

/// Cuts off the triangle v, w, x where w has degree two. Returns its virtual edge.
Vertex SplitComponents::cut_triangle(Vertex v, Vertex& twin) {
    const Vertex upper = pop(), lower = pop(), x = palm_->target[lower];
    leave_list(lower);
    const Vertex joint = arc(v, x);
    count_off(joint);
    put(upper), put(lower), put(joint);
    close(Kind::polygon);
    if (!stack_.empty() && palm_->source[stack_.back()] == x && palm_->target[stack_.back()] == v) {
        twin = pop();
        leave_list(twin);
        leave_highs(twin);
    }
    return joint;
}

/// Cuts off the component of the last candidate. Returns its virtual edge.
Vertex SplitComponents::cut_candidate(Vertex v, Vertex& twin, Watch& watch) {
    const auto [h, a, b] = candidates_.back();
    candidates_.pop_back();
    while (!stack_.empty()) {
        watch.check();
        const Vertex e = stack_.back(), x = palm_->source[e], y = palm_->target[e];
        if (x < a || x > h || y < a || y > h) break;
        stack_.pop_back();
        if ((x == a && y == b) || (y == a && x == b)) {
            twin = e;
            leave_list(e);
            leave_highs(e);
            continue;
        }
        if (in_place_[e] != place_[v]) {
            leave_list(e);
            leave_highs(e);
        }
        put(e);
        count_off(e);
    }
    const Vertex joint = arc(a, b);
    close_with(joint);
    return joint;
}

/// The pair of v and the only vertex above v that the subtree of w reaches (type 1).
void SplitComponents::split_pair_above(Vertex v, Vertex w, Watch& watch) {
    const Vertex top = palm_->low1[w], end = w + palm_->size[w];
    const auto below = [&](Vertex x) { return w <= x && x < end; };
    while (!stack_.empty()) {
        watch.check();
        const Vertex e = stack_.back();
        if (!below(palm_->source[e]) && !below(palm_->target[e])) break;
        put(pop());
        leave_highs(e);
        count_off(e);
    }
    Vertex joint = arc(v, top);
    close_with(joint);
    const auto joins_pair = [&](Vertex x, Vertex y) { return (x == v && y == top) || (x == top && y == v); };
    if (!stack_.empty() && joins_pair(palm_->source[stack_.back()], palm_->target[stack_.back()])) {
        const Vertex twin = pop(), next = arc(v, top);
        if (in_place_[twin] != place_[v]) leave_list(twin);
        bond(twin, joint, next);
        in_highs_[next] = in_highs_[twin];
        count_off(next);
        joint = next;
    }
    if (top != palm_->father[v]) {
        stack_.push_back(joint);
        at_[place_[v]] = joint;
        in_place_[joint] = place_[v];
        if (in_highs_[joint] < 0 && high(top) < v) {
            in_highs_[joint] = static_cast<Vertex>(palm_->high_value.size());
            palm_->high_value.push_back(v);
            palm_->high_next.push_back(palm_->high_head[top]);
            palm_->high_head[top] = in_highs_[joint];
        }
        count_in(joint);
        return;
    }
    at_[place_[v]] = -1;
    const Vertex old = palm_->tree_arc[v], next = arc(top, v);
    bond(joint, next, old);
    palm_->tree_arc[v] = next;
    in_place_[next] = in_place_[old];
    at_[in_place_[old]] = next;
}

}  // namespace neuraltrees
