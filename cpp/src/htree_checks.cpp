#include <algorithm>
#include <numeric>

#include "neuraltrees/htree.hpp"

namespace neuraltrees {
namespace {

std::string text(std::int64_t x) { return std::to_string(x); }

template <typename Index>
class Checker {
public:
    Checker(GraphView graph, const HTreeViewOf<Index>& tree, Watch watch)
        : g_(graph), t_(tree), n_(tree.num_nodes()), watch_(watch) {}

    std::optional<std::string> run() {
        for (auto check : {&Checker::shapes, &Checker::hierarchy, &Checker::bags, &Checker::kinds, &Checker::edges,
                           &Checker::roots, &Checker::leaves, &Checker::nesting, &Checker::sizes})
            if (auto why = (this->*check)()) return why;
        return std::nullopt;
    }

private:
    using Why = std::optional<std::string>;

    Why shapes() {
        const auto n = static_cast<std::size_t>(n_);
        if (t_.level.size() != n || t_.kappa.size() != n || t_.component.size() != n || t_.bag_ptr.size() != n + 1)
            return "the arrays parent, level, kappa, component and bag_ptr disagree about the number of nodes";
        if (t_.edge_index.size() != 2 * t_.edge_type.size())
            return "edge_index and edge_type disagree about the number of edges";
        if (t_.bag_ptr[0] != 0 || t_.bag_ptr[n_] != static_cast<std::int64_t>(t_.bag_nodes.size()))
            return "bag_ptr does not span bag_nodes";
        for (std::int64_t i = 0; i < n_; ++i)
            if (t_.bag_ptr[i + 1] < t_.bag_ptr[i]) return "bag_ptr decreases at node " + text(i);
        if (!t_.kind.empty() && t_.kind.size() != n)
            return "the arrays parent and kind disagree about the number of nodes";
        return std::nullopt;
    }

    Why hierarchy() {
        children_.assign(n_, 0);
        for (std::int64_t i = 0; i < n_; ++i) {
            watch_.check();
            const std::int64_t p = t_.parent[i];
            if (p < -1 || p >= i)
                return "the parent of node " + text(i) + " is " + text(p) + ", not an earlier node or -1";
            if (t_.level[i] != (p < 0 ? 0 : t_.level[p] + 1))
                return "the level of node " + text(i) + " is not its parent's plus one";
            if (p >= 0 && t_.component[i] != t_.component[p])
                return "node " + text(i) + " is in another component than its parent";
            if (p >= 0) ++children_[p];
            roots_ += p < 0;
            terminal_ = terminal_ && t_.level[i] < 2;
        }
        return std::nullopt;
    }

    /// Kinds are those of roots; a canonical decomposition has bags inside others.
    Why kinds() {
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(t_.kind.size()); ++i) {
            if (t_.kind[i] == 0) continue;
            const auto size = static_cast<std::int64_t>(t_.bag(i).size());
            if (t_.parent[i] >= 0) return "node " + text(i) + " has a kind but is no root";
            bool fits = false;
            switch (static_cast<BagKind>(t_.kind[i])) {
                case BagKind::vertex: fits = size == 1; break;
                case BagKind::bridge:
                case BagKind::pair: fits = size == 2; break;
                case BagKind::cycle: fits = size >= 3; break;
                case BagKind::rigid: fits = size >= 4; break;
                default: break;
            }
            if (t_.kind[i] != static_cast<std::int8_t>(t_.kind[i]) || !fits)
                return "root node " + text(i) + " of " + text(size) + " graph nodes has kind " + text(t_.kind[i]);
            canonical_ = true;
        }
        return std::nullopt;
    }

    Why bags() {
        for (std::int64_t i = 0; i < n_; ++i) {
            const auto bag = t_.bag(i);
            watch_.check(2 * static_cast<std::int64_t>(bag.size()));
            if (bag.empty()) return "the bag of node " + text(i) + " is empty";
            for (std::size_t j = 0; j < bag.size(); ++j) {
                if (bag[j] < 0 || bag[j] >= g_.num_nodes())
                    return "the bag of node " + text(i) + " holds " + text(bag[j]) +
                           ", but the graph's nodes are 0 to " + text(g_.num_nodes() - 1);
                if (j > 0 && bag[j] <= bag[j - 1]) return "the bag of node " + text(i) + " is not sorted";
            }
            const std::int64_t p = t_.parent[i];
            if (p < 0) continue;
            const auto above = t_.bag(p);
            if (!std::includes(above.begin(), above.end(), bag.begin(), bag.end()))
                return "the bag of node " + text(i) + " is not inside its parent's";
            if (bag.size() == above.size() && (bag.size() != 1 || t_.kappa[i] < 0))
                return "the bag of node " + text(i) + " is not smaller than its parent's";
        }
        return std::nullopt;
    }

    Why edges() {
        std::vector<char> up(n_, 0), down(n_, 0);
        const std::int64_t m = t_.num_edges();
        std::vector<std::array<std::int64_t, 2>> forward, backward;
        for (std::int64_t e = 0; e < m; ++e) {
            watch_.check();
            const std::int64_t a = t_.edge_index[e], b = t_.edge_index[m + e];
            if (a < 0 || b < 0 || a >= n_ || b >= n_) return "edge " + text(e) + " names a node that is not there";
            switch (t_.edge_type[e]) {
                case 0:
                    if (t_.parent[a] >= 0 || t_.parent[b] >= 0)
                        return "edge " + text(e) + " of type 0 does not join two roots";
                    (a < b ? forward : backward).push_back({std::min(a, b), std::max(a, b)});
                    break;
                case 1:
                    if (t_.parent[a] != b || up[a]++)
                        return "edge " + text(e) + " of type 1 is not the one from a child to its parent";
                    break;
                case 2:
                    if (t_.parent[b] != a || down[b]++)
                        return "edge " + text(e) + " of type 2 is not the one from a parent to its child";
                    break;
                default: return "edge " + text(e) + " has type " + text(t_.edge_type[e]) + ", not 0, 1 or 2";
            }
        }
        for (std::int64_t i = 0; i < n_; ++i)
            if (t_.parent[i] >= 0 && !(up[i] && down[i]))
                return "node " + text(i) + " is not joined to its parent both ways";
        std::sort(forward.begin(), forward.end());
        std::sort(backward.begin(), backward.end());
        if (forward != backward) return "a root-root edge is stored one way only";
        root_edges_ = std::move(forward);
        return std::nullopt;
    }

    /// The roots are a normalised decomposition of the graph, and `component` numbers its trees. Only canonical ones
    /// and trees with leaves under every root may have a bag inside another.
    Why roots() {
        std::vector<Vertex> number(n_, -1);
        TreeDecomposition td;
        std::vector<Vertex> bag;
        std::vector<std::int64_t> node;
        for (std::int64_t i = 0; i < n_; ++i)
            if (t_.parent[i] < 0) {
                number[i] = static_cast<Vertex>(node.size());
                node.push_back(i);
                bag.assign(t_.bag(i).begin(), t_.bag(i).end());
                td.add_bag(bag);
            }
        for (auto [a, b] : root_edges_) td.edges.push_back({number[a], number[b]});
        if (auto why = first_violation(g_, td, watch_)) return "the root bags are no tree decomposition: " + *why;
        for (auto [a, b] : td.edges) {
            const auto x = td.view().bag(a), y = td.view().bag(b);
            if (!canonical_ && !terminal_ &&
                (std::includes(x.begin(), x.end(), y.begin(), y.end()) ||
                 std::includes(y.begin(), y.end(), x.begin(), x.end())))
                return "of root nodes " + text(node[a]) + " and " + text(node[b]) + ", one bag contains the other";
            if (t_.component[node[a]] != t_.component[node[b]])
                return "root nodes " + text(node[a]) + " and " + text(node[b]) +
                       " are joined but in different components";
        }
        const Components components = connected_components(g_, watch_);
        if (roots_ - static_cast<std::int64_t>(root_edges_.size()) != components.count())
            return "the root bags form " + text(roots_ - static_cast<std::int64_t>(root_edges_.size())) +
                   " trees, but the graph has " + text(components.count()) + " connected components";
        for (std::int64_t i = 0; i < n_; ++i)
            if (t_.component[i] != components.label[t_.bag(i)[0]])
                return "node " + text(i) + " is in component " + text(t_.component[i]) +
                       ", but its bag is in component " + text(components.label[t_.bag(i)[0]]);
        return std::nullopt;
    }

    Why leaves() {
        std::vector<char> seen(g_.num_nodes(), 0);
        for (std::int64_t i = 0; i < n_; ++i) {
            watch_.check();
            const bool leaf = t_.kappa[i] >= 0;
            if (t_.kappa[i] < -1)
                return "the kappa of node " + text(i) + " is " + text(t_.kappa[i]) + ", neither a graph node nor -1";
            if (leaf != (children_[i] == 0))
                return "node " + text(i) + (leaf ? " is a leaf with children" : " has neither children nor a kappa");
            if (!leaf) continue;
            if (t_.parent[i] < 0) return "leaf " + text(i) + " has no parent";
            if (t_.bag(i).size() != 1 || t_.bag(i)[0] != t_.kappa[i])
                return "the bag of leaf " + text(i) + " is not its kappa alone";
            seen[t_.kappa[i]] = 1;
        }
        for (Vertex v = 0; v < g_.num_nodes(); ++v)
            if (!seen[v]) return "graph node " + text(v) + " has no leaf";
        return std::nullopt;
    }

    /// The children of every inner node are the bags of a tree decomposition of its graph: they cover its vertices and
    /// edges, and a maximum spanning forest of their intersections weighs Σ|Bᵢ| − |∪Bᵢ|. They are leaves exactly if the
    /// graph is complete, unless all nodes below the roots are.
    Why nesting() {
        std::vector<std::int64_t> ptr(n_ + 1, 0);
        for (std::int64_t i = 0; i < n_; ++i) ptr[i + 1] = ptr[i] + children_[i];
        std::vector<std::int64_t> child(ptr[n_]), next(ptr.begin(), ptr.end() - 1);
        for (std::int64_t i = 0; i < n_; ++i)
            if (t_.parent[i] >= 0) child[next[t_.parent[i]]++] = i;
        for (std::int64_t i = 0; i < n_; ++i)
            if (t_.kappa[i] < 0)
                if (auto why = nested(i, std::span(child).subspan(ptr[i], children_[i]))) return why;
        return std::nullopt;
    }

    Why nested(std::int64_t i, std::span<const std::int64_t> children) {
        const auto bag = t_.bag(i);
        if (terminal_) return distinct(i, children);
        std::vector<std::array<std::int64_t, 2>> pairs;
        for (std::size_t a = 0; a < bag.size(); ++a) {
            watch_.check(4 * static_cast<std::int64_t>(bag.size()));
            for (std::size_t b = a + 1; b < bag.size(); ++b)
                if (g_.has_edge(static_cast<Vertex>(bag[a]), static_cast<Vertex>(bag[b])))
                    pairs.push_back({bag[a], bag[b]});
        }
        const bool complete = pairs.size() == bag.size() * (bag.size() - 1) / 2;
        const auto leaves =
            std::count_if(children.begin(), children.end(), [&](std::int64_t c) { return t_.kappa[c] >= 0; });
        if (complete != (leaves == static_cast<std::int64_t>(children.size())))
            return "the graph of node " + text(i) +
                   (complete ? " is complete, but not all of its children are leaves"
                             : " is not complete, but its children are leaves");
        if (complete) return distinct(i, children);
        std::vector<std::int64_t> covered;
        std::int64_t weight = 0;
        for (std::int64_t c : children) {
            covered.insert(covered.end(), t_.bag(c).begin(), t_.bag(c).end());
            weight += static_cast<std::int64_t>(t_.bag(c).size());
        }
        std::sort(covered.begin(), covered.end());
        covered.erase(std::unique(covered.begin(), covered.end()), covered.end());
        if (covered.size() != bag.size()) return "the children of node " + text(i) + " do not cover its bag";
        for (auto [u, v] : pairs) {
            watch_.check(8 * static_cast<std::int64_t>(children.size()));
            if (std::none_of(children.begin(), children.end(), [&, u = u, v = v](std::int64_t c) {
                    const auto b = t_.bag(c);
                    return std::binary_search(b.begin(), b.end(), u) && std::binary_search(b.begin(), b.end(), v);
                }))
                return "edge " + text(u) + "-" + text(v) + " is in no child of node " + text(i);
        }
        for (std::int64_t a : children)
            for (std::int64_t b : children) {
                watch_.check(static_cast<std::int64_t>(t_.bag(a).size() + t_.bag(b).size()));
                if (a != b && std::includes(t_.bag(a).begin(), t_.bag(a).end(), t_.bag(b).begin(), t_.bag(b).end()))
                    return "of the children of node " + text(i) + ", the bag of " + text(a) + " contains that of " +
                           text(b);
            }
        weight -= static_cast<std::int64_t>(bag.size());
        if (const std::int64_t most = spanning_weight(children); most != weight)
            return "the children of node " + text(i) + " are no tree decomposition: their intersections span " +
                   text(most) + ", not " + text(weight);
        return std::nullopt;
    }

    /// One leaf per member.
    Why distinct(std::int64_t i, std::span<const std::int64_t> leaves) {
        std::vector<std::int64_t> covered;
        for (std::int64_t c : leaves) covered.push_back(t_.kappa[c]);
        std::sort(covered.begin(), covered.end());
        watch_.check(4 * static_cast<std::int64_t>(covered.size()));
        if (std::adjacent_find(covered.begin(), covered.end()) != covered.end())
            return "node " + text(i) + " has two leaves of one graph node";
        if (covered.size() != t_.bag(i).size()) return "the children of node " + text(i) + " do not cover its bag";
        return std::nullopt;
    }

    /// Prim's algorithm on the pairwise intersections.
    std::int64_t spanning_weight(std::span<const std::int64_t> children) {
        std::vector<std::int64_t> reach(children.size(), -1);
        std::vector<char> done(children.size(), 0);
        std::int64_t total = 0;
        for (std::size_t step = 0; step < children.size(); ++step) {
            std::size_t at = children.size();
            for (std::size_t i = 0; i < children.size(); ++i)
                if (!done[i] && (at == children.size() || reach[i] > reach[at])) at = i;
            done[at] = 1;
            total += std::max<std::int64_t>(0, reach[at]);
            const auto a = t_.bag(children[at]);
            for (std::size_t i = 0; i < children.size(); ++i) {
                if (done[i]) continue;
                const auto b = t_.bag(children[i]);
                watch_.check(static_cast<std::int64_t>(a.size() + b.size()));
                std::int64_t common = 0;
                for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
                    common += *x == *y;
                    const auto vx = *x, vy = *y;
                    x += vx <= vy;
                    y += vy <= vx;
                }
                reach[i] = std::max(reach[i], common);
            }
        }
        return total;
    }

    /// The bounds of the paper's appendix: the degree of nodes below the roots, and the size of the whole tree, which
    /// hold if no root bag is inside another.
    Why sizes() {
        if (canonical_ || terminal_) return std::nullopt;
        std::int64_t width = 0;
        for (std::int64_t i = 0; i < n_; ++i)
            if (t_.parent[i] < 0) width = std::max(width, static_cast<std::int64_t>(t_.bag(i).size()));
        for (std::int64_t i = 0; i < n_; ++i)
            if (t_.parent[i] >= 0 && children_[i] > width)
                return "node " + text(i) + " has more children than the treewidth plus one";
        double bound = 1;
        for (std::int64_t i = 0; i < width; ++i) bound *= static_cast<double>(width);
        if (static_cast<double>(n_) > static_cast<double>(g_.num_nodes()) * (1 + bound))
            return "the tree is larger than the paper's bound";
        return std::nullopt;
    }

    GraphView g_;
    const HTreeViewOf<Index>& t_;
    std::int64_t n_, roots_ = 0;
    bool terminal_ = true, canonical_ = false;  // are all nodes below the roots leaves; have roots a kind
    Watch watch_;
    std::vector<std::int64_t> children_;
    std::vector<std::array<std::int64_t, 2>> root_edges_;
};

}  // namespace

template <typename Index>
std::optional<std::string> first_violation(GraphView graph, const HTreeViewOf<Index>& tree, Watch watch) {
    return Checker<Index>(graph, tree, watch).run();
}

template std::optional<std::string> first_violation(GraphView, const HTreeViewOf<std::int32_t>&, Watch);
template std::optional<std::string> first_violation(GraphView, const HTreeViewOf<std::int64_t>&, Watch);

}  // namespace neuraltrees
