#include "neuraltrees/decomposition.hpp"

#include <numeric>
#include <utility>

namespace neuraltrees {
namespace {

/// N⁺(v) of every eliminated vertex: its neighbours at that moment, found by merging the sets of the vertices whose
/// first later neighbour it is, so that no fill edge is ever listed twice. All after the first `eliminated` vertices
/// count as complete; that number falls if the rest is complete already, so that no clique is listed again and again.
struct FilledGraph {
    Vertex eliminated;
    std::vector<Vertex> position;   // in the order
    std::vector<std::int64_t> ptr;  // by position
    std::vector<Vertex> later;
    std::vector<Vertex> parent;  // first later neighbour, -1 if none

    FilledGraph(GraphView graph, std::span<const Vertex> order, Vertex eliminated, Watch& watch)
        : eliminated(eliminated), position(graph.num_nodes()), ptr(graph.num_nodes() + 1, 0),
          parent(graph.num_nodes(), -1) {
        const Vertex n = graph.num_nodes();
        std::vector<Vertex> first_child(n, -1), next_child(n, -1), stamp(n, -1);
        for (Vertex i = 0; i < n; ++i) position[order[i]] = i;
        for (Vertex i = 0; i < this->eliminated; ++i) {
            const Vertex v = order[i];
            stamp[v] = i;
            Vertex first = -1;
            auto take = [&](Vertex u) {
                if (position[u] <= i || stamp[u] == i) return;
                stamp[u] = i;
                later.push_back(u);
                if (first < 0 || position[u] < position[first]) first = u;
            };
            watch.check(1 + graph.degree(v));
            for (Vertex u : graph.neighbours(v)) take(u);
            for (Vertex c = first_child[v]; c >= 0; c = next_child[c]) {
                watch.check(higher(c));
                for (std::int64_t e = ptr[position[c]]; e < ptr[position[c] + 1]; ++e) take(later[e]);
            }
            ptr[i + 1] = static_cast<std::int64_t>(later.size());
            parent[v] = first;
            if (first >= 0) {
                next_child[v] = first_child[first];
                first_child[first] = v;
            }
            if (higher(v) == n - i - 1) this->eliminated = i;  // v and the rest are complete
        }
    }
    std::int64_t higher(Vertex v) const { return ptr[position[v] + 1] - ptr[position[v]]; }
};

struct Forest {
    std::vector<Vertex> parent;    // -1 for the root of a tree
    std::vector<Vertex> top_down;  // parents before children
};

/// Roots every tree at its first bag.
Forest rooted(DecompositionView td) {
    const auto bags = static_cast<Vertex>(td.num_bags());
    std::vector<std::int64_t> ptr(bags + 1, 0);
    for (auto [a, b] : td.edges) {
        ++ptr[a + 1];
        ++ptr[b + 1];
    }
    std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
    std::vector<Vertex> adj(ptr.back());
    std::vector<std::int64_t> next(ptr.begin(), ptr.end() - 1);
    for (auto [a, b] : td.edges) {
        adj[next[a]++] = b;
        adj[next[b]++] = a;
    }
    Forest forest;
    forest.parent.assign(bags, -2);
    for (Vertex root = 0; root < bags; ++root) {
        if (forest.parent[root] != -2) continue;
        forest.parent[root] = -1;
        std::size_t head = forest.top_down.size();
        forest.top_down.push_back(root);
        for (; head < forest.top_down.size(); ++head) {
            const Vertex b = forest.top_down[head];
            for (auto e = ptr[b]; e < ptr[b + 1]; ++e)
                if (forest.parent[adj[e]] == -2) {
                    forest.parent[adj[e]] = b;
                    forest.top_down.push_back(adj[e]);
                }
        }
    }
    return forest;
}

std::string text(std::int64_t x) { return std::to_string(x); }

std::optional<std::string> bag_violation(GraphView graph, DecompositionView td, Watch& watch) {
    for (std::int64_t b = 0; b < td.num_bags(); ++b) {
        const auto bag = td.bag(b);
        watch.check(1 + static_cast<std::int64_t>(bag.size()));
        for (std::size_t i = 0; i < bag.size(); ++i) {
            if (bag[i] < 0 || bag[i] >= graph.num_nodes())
                return "bag " + text(b) + " holds node " + text(bag[i]) + ", but the graph's nodes are 0 to " +
                       text(graph.num_nodes() - 1);
            if (i > 0 && bag[i] <= bag[i - 1])
                return "bag " + text(b) + " is not sorted or holds node " + text(bag[i]) + " twice";
        }
    }
    return std::nullopt;
}

std::optional<std::string> forest_violation(DecompositionView td, Watch& watch) {
    std::vector<Vertex> leader(td.num_bags());
    std::iota(leader.begin(), leader.end(), 0);
    auto find = [&](Vertex x) {
        while (leader[x] != x) x = leader[x] = leader[leader[x]];
        return x;
    };
    for (auto [a, b] : td.edges) {
        watch.check();
        if (a < 0 || b < 0 || a >= td.num_bags() || b >= td.num_bags())
            return "edge " + text(a) + "-" + text(b) + " names a bag outside 0 to " + text(td.num_bags() - 1);
        const Vertex x = find(a), y = find(b);
        if (x == y) return "the edge between bags " + text(a) + " and " + text(b) + " closes a cycle";
        leader[x] = y;
    }
    return std::nullopt;
}

}  // namespace

int width_of_order(GraphView graph, std::span<const Vertex> order, Watch watch) {
    const Vertex n = graph.num_nodes();
    const FilledGraph filled(graph, order, n, watch);
    std::int64_t width = n - filled.eliminated - 1;
    for (Vertex i = 0; i < filled.eliminated; ++i) width = std::max(width, filled.higher(order[i]));
    return static_cast<int>(width);
}

TreeDecomposition decomposition_from_order(GraphView graph, std::span<const Vertex> order, Watch watch) {
    return decomposition_from(graph, {{order.begin(), order.end()}, graph.num_nodes(), -1, Shortcut::none}, watch);
}

TreeDecomposition decomposition_from(GraphView graph, const Elimination& elimination, Watch watch) {
    const auto& order = elimination.order;
    const Vertex n = graph.num_nodes();
    const FilledGraph filled(graph, order, elimination.eliminated, watch);
    // A clique is {w} ∪ N⁺(w) of its last member w; the first one is the rest, if there is one.
    const std::int64_t rest = n - filled.eliminated;
    std::vector<Vertex> clique_of(n, -1), last_member;
    std::vector<std::int64_t> size;
    for (Vertex i = filled.eliminated; i < n; ++i) clique_of[order[i]] = 0;
    if (rest > 0) {
        last_member.push_back(-1);
        size.push_back(rest);
    }
    TreeDecomposition td;
    td.shortcut = elimination.shortcut;
    std::int64_t members = rest;
    for (Vertex i = filled.eliminated; i-- > 0;) {
        const Vertex v = order[i], p = filled.parent[v];
        const Vertex host = p < 0 ? -1 : clique_of[p];
        // N⁺(v) lies in the clique of its first member; equal sizes mean that v extends that clique.
        if (host >= 0 && filled.higher(v) == size[host]) {
            last_member[host] = v;
            clique_of[v] = host;
            ++size[host];
            continue;
        }
        clique_of[v] = static_cast<Vertex>(last_member.size());
        if (host >= 0) td.edges.push_back({host, clique_of[v]});
        last_member.push_back(v);
        size.push_back(filled.higher(v) + 1);
        members += size.back();
    }
    td.bag_ptr.reserve(size.size() + 1);
    td.bag_nodes.reserve(static_cast<std::size_t>(members) + size.size());
    std::vector<Vertex> bag;
    for (Vertex w : last_member) {
        if (w < 0) {
            bag.assign(order.begin() + filled.eliminated, order.end());
        } else {
            const auto first = filled.later.begin() + filled.ptr[filled.position[w]];
            bag.assign(first, first + filled.higher(w));
            bag.push_back(w);
        }
        std::sort(bag.begin(), bag.end());
        watch.check(4 * static_cast<std::int64_t>(bag.size()));
        td.add_bag(bag);
    }
    return td;
}

std::optional<std::string> first_violation(GraphView graph, DecompositionView td, Watch watch) {
    if (auto why = bag_violation(graph, td, watch)) return why;
    if (auto why = forest_violation(td, watch)) return why;

    const Vertex n = graph.num_nodes();
    const Forest forest = rooted(td);
    // Walking parents before children, a vertex whose bag has no parent bag with it starts a new subtree: it may do so
    // once.
    std::vector<Vertex> top(n, -1), depth(td.num_bags(), 0);
    for (Vertex b : forest.top_down) {
        const Vertex p = forest.parent[b];
        depth[b] = p < 0 ? 0 : depth[p] + 1;
        watch.check(1 + static_cast<std::int64_t>(td.bag(b).size()) +
                    (p < 0 ? 0 : static_cast<std::int64_t>(td.bag(p).size())));
        const auto above = p < 0 ? std::span<const Vertex>{} : td.bag(p);
        auto it = above.begin();
        for (Vertex v : td.bag(b)) {
            while (it != above.end() && *it < v) ++it;
            if (it != above.end() && *it == v) continue;
            if (top[v] >= 0)
                return "the bags that hold node " + text(v) + " are not connected: bags " + text(top[v]) + " and " +
                       text(b) + " are apart";
            top[v] = b;
        }
    }
    for (Vertex v = 0; v < n; ++v)
        if (top[v] < 0) return "node " + text(v) + " is in no bag";
    for (Vertex u = 0; u < n; ++u) {
        watch.check(1 + 8 * graph.degree(u));
        for (Vertex v : graph.neighbours(u)) {
            if (v < u) continue;
            // With connected subtrees, two vertices meet exactly if the one with the deeper top meets the other there.
            const Vertex low = depth[top[u]] >= depth[top[v]] ? u : v;
            const auto bag = td.bag(top[low]);
            if (!std::binary_search(bag.begin(), bag.end(), low == u ? v : u))
                return "edge " + text(u) + "-" + text(v) + " is in no bag";
        }
    }
    return std::nullopt;
}

bool is_normalised(GraphView graph, DecompositionView td, Nested nested, Watch watch) {
    const Components components = connected_components(graph, watch);
    const std::int64_t bags = td.num_bags();
    std::vector<Vertex> above(bags, -1);
    for (auto [a, b] : td.edges) {
        const Vertex low = std::min(a, b), high = std::max(a, b);
        if (std::exchange(above[high], low) >= 0) return false;
        if (nested == Nested::keep) continue;
        const auto x = td.bag(a), y = td.bag(b);
        watch.check(static_cast<std::int64_t>(x.size() + y.size()));
        if (std::includes(x.begin(), x.end(), y.begin(), y.end())) return false;
        if (std::includes(y.begin(), y.end(), x.begin(), x.end())) return false;
    }
    std::int64_t label = -1;
    for (std::int64_t b = 0; b < bags; ++b) {
        if (td.bag(b).empty()) return false;
        watch.check(static_cast<std::int64_t>(td.bag(b).size()));
        if (above[b] < 0) ++label;
        for (Vertex v : td.bag(b))
            if (components.label[v] != label) return false;
    }
    return label + 1 == components.count();
}

TreeDecomposition normalised(GraphView graph, DecompositionView td, Nested nested, Watch watch) {
    const Components components = connected_components(graph, watch);
    const Forest forest = rooted(td);

    // Cut every bag by component. Of one component, the pieces form a subtree, so a piece's parent piece is in the
    // parent bag.
    struct Piece {
        Vertex component, parent, bag;
        std::vector<Vertex> nodes;
    };
    std::vector<Piece> pieces;
    std::vector<std::int64_t> piece_ptr(td.num_bags(), 0), piece_end(td.num_bags(), 0);
    for (Vertex b : forest.top_down) {
        watch.check(1 + 8 * static_cast<std::int64_t>(td.bag(b).size()));
        std::vector<Vertex> nodes(td.order(b).begin(), td.order(b).end());
        std::stable_sort(nodes.begin(), nodes.end(),
                         [&](Vertex x, Vertex y) { return components.label[x] < components.label[y]; });
        piece_ptr[b] = static_cast<std::int64_t>(pieces.size());
        for (std::size_t i = 0; i < nodes.size();) {
            const Vertex label = components.label[nodes[i]];
            std::size_t j = i;
            while (j < nodes.size() && components.label[nodes[j]] == label) ++j;
            Vertex parent = -1;
            if (const Vertex p = forest.parent[b]; p >= 0)
                for (auto q = piece_ptr[p]; q < piece_end[p]; ++q)
                    if (pieces[q].component == label) parent = static_cast<Vertex>(q);
            pieces.push_back({label, parent, b, {nodes.begin() + i, nodes.begin() + j}});
            i = j;
        }
        piece_end[b] = static_cast<std::int64_t>(pieces.size());
    }

    // A piece inside its parent, or its parent inside it, merges with it; the merged piece keeps the parent's parent.
    std::vector<Vertex> merged(pieces.size());
    std::iota(merged.begin(), merged.end(), 0);
    auto find = [&](Vertex x) {
        while (merged[x] != x) x = merged[x] = merged[merged[x]];
        return x;
    };
    auto contains = [](const std::vector<Vertex>& outer, const std::vector<Vertex>& inner) {
        return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
    };
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (pieces[i].parent < 0 || nested == Nested::keep) continue;
        const Vertex p = find(pieces[i].parent);
        watch.check(static_cast<std::int64_t>(pieces[p].nodes.size() + pieces[i].nodes.size()));
        if (contains(pieces[p].nodes, pieces[i].nodes)) {
            merged[i] = p;
        } else if (contains(pieces[i].nodes, pieces[p].nodes)) {
            pieces[p].nodes = std::move(pieces[i].nodes);
            merged[i] = p;
        }
    }
    std::vector<Vertex> kept;
    for (std::size_t i = 0; i < pieces.size(); ++i)
        if (merged[i] == static_cast<Vertex>(i)) kept.push_back(static_cast<Vertex>(i));
    std::stable_sort(kept.begin(), kept.end(),
                     [&](Vertex a, Vertex b) { return pieces[a].component < pieces[b].component; });
    std::vector<Vertex> number(pieces.size(), -1);
    TreeDecomposition out;
    for (Vertex i : kept) {
        number[i] = static_cast<Vertex>(out.bag_ptr.size()) - 1;
        auto& nodes = pieces[i].nodes;
        if (!td.kinds.empty()) {
            out.kinds.push_back(nodes.size() == td.bag(pieces[i].bag).size() ? td.kinds[pieces[i].bag] : 0);
            out.bag_order.insert(out.bag_order.end(), nodes.begin(), nodes.end());
            std::sort(nodes.begin(), nodes.end());
        }
        out.add_bag(nodes);
    }
    for (Vertex i : kept)
        if (pieces[i].parent >= 0) out.edges.push_back({number[find(pieces[i].parent)], number[i]});
    return out;
}

}  // namespace neuraltrees
