#include "neuraltrees/canonical.hpp"

#include <algorithm>

#include "pieces.hpp"
#include "sort_keys.hpp"

namespace neuraltrees {
namespace {

/// The bags of every block, parents before children, and then those of single vertices; bags may still stand anywhere
/// in their component.
class BagMaker {
public:
    BagMaker(const SpqrTrees& trees, Vertex n, const DecomposeOptions* refine, Watch& watch)
        : trees_(trees), refine_(refine), watch_(watch) {
        blocks_.assign(n, 0);
        last_block_.assign(n, -1);
        first_bag_.assign(n, -1);
        bag_of_.assign(trees.num_nodes(), -1);
        if (refine) hosts_.resize(trees.edges.size());
        const auto most = static_cast<std::size_t>(trees.num_nodes() + n) + trees.edges.size() / 4;
        ptr_.reserve(most + 1);
        for (auto* array : {&block_, &parent_}) array->reserve(most);
        kind_.reserve(most);
        edges_.reserve(most);
        order_.reserve(2 * most);
        node_at_.resize(trees.edges.size());
        for (Vertex x = 0; x < trees.num_nodes(); ++x)
            std::fill(node_at_.begin() + trees.ptr[x], node_at_.begin() + trees.ptr[x + 1], x);
        for (Vertex x = 0; x < trees.num_nodes(); ++x)
            if (bag_of_[x] < 0) add_block(x);
        join_blocks();
        for (Vertex v = 0; v < n; ++v) {
            if (blocks_[v] > 0) continue;
            members_.assign(1, v);
            add(BagKind::vertex, -1, -1);
        }
    }

    TreeDecomposition arranged() const;

private:
    BagKind kind(Vertex x) const { return static_cast<BagKind>(trees_.kind[x]); }

    /// Adds a bag of `members_`.
    Vertex add(BagKind kind, Vertex block, Vertex parent) {
        const auto bag = static_cast<Vertex>(kind_.size());
        for (Vertex v : members_) {
            if (first_bag_[v] < 0) first_bag_[v] = bag;
            if (block < 0 || last_block_[v] == block) continue;
            last_block_[v] = block;
            ++blocks_[v];
        }
        order_.insert(order_.end(), members_.begin(), members_.end());
        ptr_.push_back(static_cast<std::int64_t>(order_.size()));
        kind_.push_back(kind);
        block_.push_back(block);
        parent_.push_back(parent);
        if (parent >= 0) edges_.push_back({parent, bag});
        watch_.check(4 * static_cast<std::int64_t>(members_.size()));
        return bag;
    }

    /// The bags of the SPQR tree that holds node x.
    void add_block(Vertex x) {
        queue_.assign(1, x);
        add_node(x, -1, trees_.ptr[x]);
        for (std::size_t i = 0; i < queue_.size(); ++i) {
            const Vertex at = queue_[i];
            for (std::int64_t e = trees_.ptr[at]; e < trees_.ptr[at + 1]; ++e) {
                watch_.check();
                if (trees_.partner[e] < 0) continue;
                const Vertex next = node_at_[trees_.partner[e]];
                if (bag_of_[next] >= 0) continue;
                Vertex above = hosts_.empty() ? bag_of_[at] : hosts_[e];
                if (kind(at) != BagKind::pair && kind(next) != BagKind::pair) {
                    take_pair(trees_.edges[e]);
                    above = add(BagKind::pair, trees_.block[at], above);
                }
                add_node(next, above, trees_.partner[e]);
                queue_.push_back(next);
            }
        }
    }

    /// The bag of node x below the bag `parent`, where `via` is the edge of its skeleton between them.
    void add_node(Vertex x, Vertex parent, std::int64_t via) {
        switch (kind(x)) {
            case BagKind::cycle: take_cycle(x); break;
            case BagKind::rigid: take_rigid(x); break;
            default: take_pair(trees_.edges[trees_.ptr[x]]); break;
        }
        const bool ring = kind(x) == BagKind::cycle, edge = kind(x) == BagKind::bridge;
        lower_bound_ = std::max(lower_bound_, ring ? 2 : edge ? 1 : 0);
        if (refine_ && kind(x) == BagKind::rigid && add_pieces(x, parent, via)) return;
        bag_of_[x] = add(kind(x), trees_.block[x], parent);
        if (refine_) std::fill(hosts_.begin() + trees_.ptr[x], hosts_.begin() + trees_.ptr[x + 1], bag_of_[x]);
    }

    /// The bags of a decomposition of a rigid skeleton, if there are two or more.
    bool add_pieces(Vertex x, Vertex parent, std::int64_t via) {
        const std::int64_t first = trees_.ptr[x];
        const auto edges = std::span(trees_.edges).subspan(first, trees_.ptr[x + 1] - first);
        const Pieces pieces(edges, members_, via - first, *refine_, watch_);
        lower_bound_ = std::max(lower_bound_, pieces.td.lower_bound);
        const std::int64_t count = pieces.td.view().num_bags();
        if (count == 1) return false;
        shortcut_ = std::max(shortcut_, pieces.td.shortcut);
        bag_of_[x] = static_cast<Vertex>(kind_.size());
        for (std::int64_t b = 0; b < count; ++b) {
            members_.assign(pieces.td.view().bag(b).begin(), pieces.td.view().bag(b).end());
            add(BagKind::other, trees_.block[x], b == 0 ? parent : bag_of_[x] + pieces.parent[b]);
        }
        for (std::size_t e = 0; e < edges.size(); ++e) hosts_[first + e] = bag_of_[x] + pieces.host[e];
        return true;
    }

    void take_pair(std::array<Vertex, 2> ends) {
        members_.assign({std::min(ends[0], ends[1]), std::max(ends[0], ends[1])});
    }

    /// In cyclic order, from the smallest vertex towards its smaller neighbour.
    void take_cycle(Vertex x) {
        members_.clear();
        for (std::int64_t e = trees_.ptr[x]; e < trees_.ptr[x + 1]; ++e) members_.push_back(trees_.edges[e][0]);
        std::rotate(members_.begin(), std::min_element(members_.begin(), members_.end()), members_.end());
        if (members_.back() < members_[1]) std::reverse(members_.begin() + 1, members_.end());
    }

    /// Sorted. The skeleton is a minor of the graph, so its least degree bounds the treewidth.
    void take_rigid(Vertex x) {
        members_.clear();
        meetings_.resize(blocks_.size(), {-1, 0});
        constexpr std::int64_t ahead = 8;
        for (std::int64_t e = trees_.ptr[x]; e < trees_.ptr[x + 1]; ++e) {
            if (e + ahead < trees_.ptr[x + 1])
                for (Vertex v : trees_.edges[e + ahead]) __builtin_prefetch(&meetings_[v]);
            for (Vertex v : trees_.edges[e]) {
                if (meetings_[v].node != x) {
                    meetings_[v] = {x, 0};
                    members_.push_back(v);
                }
                ++meetings_[v].edges;
            }
        }
        sort_by_key(std::span(members_), scratch_, [](Vertex v) { return v; });
        int least = static_cast<int>(members_.size());
        for (Vertex v : members_) least = std::min(least, static_cast<int>(meetings_[v].edges));
        lower_bound_ = std::max(lower_bound_, least);
    }

    /// A bag for every cut vertex, joined to one bag of each of its blocks.
    void join_blocks() {
        const auto n = static_cast<Vertex>(blocks_.size());
        // While the lists are filled, ptr[v + 1] is where the next bag of v goes.
        std::vector<std::int64_t> ptr(n + 2, 0);
        for (Vertex v : order_) ptr[v + 2] += blocks_[v] > 1;
        for (Vertex v = 0; v < n; ++v) ptr[v + 2] += ptr[v + 1];
        std::vector<Vertex> bags(ptr[n + 1]);
        const auto made = static_cast<Vertex>(kind_.size());
        for (Vertex b = 0; b < made; ++b)
            for (std::int64_t i = ptr_[b]; i < ptr_[b + 1]; ++i)
                if (blocks_[order_[i]] > 1) bags[ptr[order_[i] + 1]++] = b;
        position_.resize(made);
        for (Vertex v = 0; v < n; ++v) {
            if (blocks_[v] < 2) continue;
            members_.assign(1, v);
            const Vertex own = add(BagKind::vertex, -1, -1);
            for (std::int64_t i = ptr[v], j; i < ptr[v + 1]; i = j) {
                for (j = i + 1; j < ptr[v + 1] && block_[bags[j]] == block_[bags[i]];) ++j;
                edges_.push_back({own, centre(std::span(bags).subspan(i, j - i))});
            }
        }
    }

    /// The centre of a subtree of bags, listed parents before children. All its leaves are cycles or rigid, since a
    /// pair has two neighbours or more, all of which hold its vertices; and pairs lie between all others. So its
    /// longest paths have an even number of edges, and there is one centre.
    Vertex centre(std::span<const Vertex> bags) {
        if (bags.size() == 1) return bags[0];
        watch_.check(4 * static_cast<std::int64_t>(bags.size()));
        branches_.assign(bags.size(), {});
        for (std::size_t i = 0; i < bags.size(); ++i) position_[bags[i]] = static_cast<Vertex>(i);
        for (std::size_t i = bags.size(); i-- > 1;) {
            Branches& above = branches_[position_[parent_[bags[i]]]];
            const Vertex height = branches_[i].height + 1;
            above.second = std::max(above.second, std::min(height, above.height));
            if (height > above.height) above.height = height, above.deepest = static_cast<Vertex>(i);
        }
        Vertex at = 0;
        for (Vertex rest = branches_[0].second; branches_[at].height > rest;) {
            at = branches_[at].deepest;
            rest = std::max(rest + 1, branches_[at].second);
        }
        return bags[at];
    }

    /// The heights of a bag's two deepest branches, and the child in the deepest.
    struct Branches {
        Vertex height = 0, second = 0, deepest = -1;
    };

    const SpqrTrees& trees_;
    const DecomposeOptions* refine_;
    Watch& watch_;
    // Bags.
    std::vector<std::int64_t> ptr_{0};
    std::vector<Vertex> order_, block_, parent_;
    std::vector<BagKind> kind_;
    std::vector<std::array<Vertex, 2>> edges_;
    int lower_bound_ = 0;
    Shortcut shortcut_ = Shortcut::none;
    // Per vertex: in how many blocks it is, the last of them, a bag with it.
    std::vector<Vertex> blocks_, last_block_, first_bag_;
    // Per vertex: the rigid node it was last met in, and how many edges it has there.
    struct Meeting {
        Vertex node, edges;
    };
    std::vector<Meeting> meetings_;
    std::vector<Vertex> bag_of_;    // per node of an SPQR tree
    std::vector<Vertex> node_at_;   // per edge of a skeleton
    std::vector<Vertex> hosts_;     // per edge of a skeleton, a bag with its ends; empty if bags are not refined
    std::vector<Vertex> position_;  // per bag, in the list whose centre is wanted
    std::vector<Branches> branches_;
    std::vector<Vertex> members_, scratch_, queue_;
};

/// Component by component, each from a bag of its smallest vertex.
TreeDecomposition BagMaker::arranged() const {
    const std::size_t bags = kind_.size();
    std::vector<std::int64_t> ptr(bags + 2, 0);
    for (auto [a, b] : edges_) ++ptr[a + 2], ++ptr[b + 2];
    for (std::size_t b = 0; b < bags; ++b) ptr[b + 2] += ptr[b + 1];
    std::vector<Vertex> neighbours(2 * edges_.size());
    for (auto [a, b] : edges_) {
        watch_.check();
        neighbours[ptr[a + 1]++] = b;
        neighbours[ptr[b + 1]++] = a;
    }
    TreeDecomposition td;
    td.bag_ptr.reserve(bags + 1);
    td.kinds.reserve(bags);
    td.edges.reserve(edges_.size());
    td.bag_order.reserve(order_.size());
    std::vector<Vertex> number(bags, -1), queue;
    queue.reserve(bags);
    const auto visit = [&](Vertex b) {
        number[b] = static_cast<Vertex>(queue.size());
        queue.push_back(b);
    };
    for (Vertex start : first_bag_) {
        if (number[start] >= 0) continue;
        std::size_t i = queue.size();
        visit(start);
        for (; i < queue.size(); ++i) {
            const Vertex b = queue[i];
            watch_.check(4 + ptr_[b + 1] - ptr_[b] + ptr[b + 1] - ptr[b]);
            td.bag_order.insert(td.bag_order.end(), order_.begin() + ptr_[b], order_.begin() + ptr_[b + 1]);
            td.bag_ptr.push_back(static_cast<std::int64_t>(td.bag_order.size()));
            td.kinds.push_back(static_cast<std::int8_t>(kind_[b]));
            for (std::int64_t e = ptr[b]; e < ptr[b + 1]; ++e) {
                if (number[neighbours[e]] >= 0) continue;
                visit(neighbours[e]);
                td.edges.push_back({number[b], number[neighbours[e]]});
            }
        }
    }
    td.bag_nodes = td.bag_order;
    for (std::size_t b = 0; b < bags; ++b)
        if (td.kinds[b] == static_cast<std::int8_t>(BagKind::cycle))
            std::sort(td.bag_nodes.begin() + td.bag_ptr[b], td.bag_nodes.begin() + td.bag_ptr[b + 1]);
    td.lower_bound = first_bag_.empty() ? -1 : lower_bound_;
    td.shortcut = shortcut_;
    return td;
}

}  // namespace

TreeDecomposition canonical_decomposition(GraphView graph, const DecomposeOptions* refine, Watch watch) {
    const SpqrTrees trees = spqr_trees(graph, watch);
    TreeDecomposition td = BagMaker(trees, graph.num_nodes(), refine, watch).arranged();
    watch.at_least(td.lower_bound);
    watch.at_most(td.width());
    return td;
}

}  // namespace neuraltrees
