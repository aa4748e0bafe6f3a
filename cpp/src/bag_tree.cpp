#include "bag_tree.hpp"

#include <algorithm>
#include <numeric>

namespace neuraltrees {
namespace {

constexpr int longest_way = 16;  // largest number of bags that one edge may pass; longer paths rarely have room

}  // namespace

BagTree::BagTree(GraphView graph, const CappedElimination& elimination, int k)
    : graph_(graph), k_(k), parent_(graph.num_nodes(), -1), top_(graph.num_nodes()), when_(graph.num_nodes(), -1),
      stamp_(graph.num_nodes(), -1), weight_(graph.num_nodes(), 0) {
    std::iota(top_.begin(), top_.end(), 0);
    bags_.reserve(graph.num_nodes(), elimination.later.size() + graph.num_nodes());
    // Bag v is empty until v is inserted.
    for (Vertex v = 0; v < graph.num_nodes(); ++v) bags_.add(0);
    nodes_.reserve(elimination.order.size());
    for (std::size_t i = elimination.order.size(); i-- > 0;) {
        const std::int64_t begin = elimination.ptr[i];
        insert(elimination.order[i], std::span(elimination.later).subspan(begin, elimination.ptr[i + 1] - begin));
    }
    prune(elimination.order);
}

bool BagTree::holds(Bag b, Vertex v) const {
    for (Vertex u : bags_[b])
        if (u == v) return true;
    return false;
}

void BagTree::insert(Vertex v, std::span<const Tie> later) {
    wanted_.clear();
    const auto want = [&](Vertex u, std::uint32_t weight) {
        if (when_[u] < 0) return;
        if (stamp_[u] != v) {
            stamp_[u] = v;
            weight_[u] = 0;
            wanted_.push_back(u);
        }
        weight_[u] = std::max(weight_[u], weight);
    };
    for (auto [u, weight] : later) want(u, weight);
    for (Vertex u : graph_.neighbours(v)) want(u, one_edge);
    choose_members(v);
    when_[v] = static_cast<Vertex>(nodes_.size());
    nodes_.push_back(v);
    bags_.push(v, v);
    for (Vertex u : members_) bags_.push(v, u);
}

/// The heaviest wanted vertices of one bag, at most k. A set of vertices that share a bag is in the bag of the one
/// inserted last, so only these bags are looked at; of equally heavy ones the newest, which has fewest bags below it.
void BagTree::choose_members(Vertex v) {
    std::uint64_t most = 0;
    Bag best = -1;
    for (Vertex c : wanted_) {
        std::uint64_t sum = 0;
        for (Vertex u : bags_[c])
            if (stamp_[u] == v) sum += weight_[u];
        if (sum > most || (sum == most && best >= 0 && when_[c] > when_[best])) most = sum, best = c;
    }
    members_.clear();
    if (best < 0) return;
    for (Vertex u : bags_[best])
        if (stamp_[u] == v) members_.push_back(u);
    if (static_cast<int>(members_.size()) <= k_) return;
    std::nth_element(members_.begin(), members_.begin() + k_, members_.end(),
                     [&](Vertex a, Vertex b) { return weight_[a] != weight_[b] ? weight_[a] > weight_[b] : a < b; });
    members_.resize(k_);
}

/// A member of bag v stays if it is a neighbour of v or if a bag below needs it; the bag then hangs below the bag of
/// the member inserted last, the highest one that holds them all.
void BagTree::prune(std::span<const Vertex> order) {
    Rows<Vertex> needed;
    needed.reserve(graph_.num_nodes(), graph_.num_nodes());
    for (Vertex v = 0; v < graph_.num_nodes(); ++v) needed.add(0);
    for (Vertex v : order) {
        auto bag = bags_[v];
        const auto below = needed[v];
        std::size_t size = 1;
        Vertex last = -1;
        for (std::size_t i = 1; i < bag.size(); ++i) {
            const Vertex u = bag[i];
            if (std::find(below.begin(), below.end(), u) == below.end() && !graph_.has_edge(v, u)) continue;
            bag[size++] = u;
            if (last < 0 || when_[u] > when_[last]) last = u;
        }
        bags_.cut(v, size);
        parent_[v] = last;
        for (Vertex u : bag.subspan(1, size - 1)) {
            const auto there = needed[last];
            if (u != last && std::find(there.begin(), there.end(), u) == there.end()) needed.push(last, u);
        }
    }
}

std::vector<BagTree::Edge> BagTree::dropped() const {
    std::vector<Edge> out;
    for (Vertex v : nodes_)
        for (Vertex u : graph_.neighbours(v))
            if (u < v && !together(u, v)) out.push_back({u, v});
    return out;
}

/// Adds v to a bag beside one that holds it.
void BagTree::put(Vertex v, Bag b) {
    bags_.push(b, v);
    if (parent_[top_[v]] == b) top_[v] = b;
}

/// A new bag between a bag and its parent, of the vertices that both hold.
BagTree::Bag BagTree::split(Bag child) {
    const auto fresh = static_cast<Bag>(bags_.count());
    const Bag above = parent_[child];
    bags_.add(k_ + 1);
    for (std::size_t i = 0; i < bags_[child].size(); ++i)
        if (const Vertex u = bags_[child][i]; holds(above, u)) bags_.push(fresh, u);
    parent_.push_back(above);
    parent_[child] = fresh;
    return fresh;
}

void BagTree::make_root(Bag b) {
    way_.clear();
    for (Bag at = b; at >= 0; at = parent_[at]) way_.push_back(at);
    for (std::size_t i = way_.size(); i-- > 1;) parent_[way_[i]] = way_[i - 1];
    parent_[b] = -1;
    for (std::size_t i = way_.size(); i-- > 0;)
        for (Vertex u : bags_[way_[i]]) top_[u] = way_[i];
}

void BagTree::connect(std::span<const Edge> dropped) {
    std::vector<Vertex> leader(graph_.num_nodes());
    std::iota(leader.begin(), leader.end(), 0);
    const auto find = [&](Vertex x) {
        while (leader[x] != x) x = leader[x] = leader[leader[x]];
        return x;
    };
    for (Vertex v : nodes_)
        if (parent_[v] >= 0) leader[find(v)] = find(parent_[v]);
    for (auto [u, v] : dropped) {
        const Vertex a = find(u), b = find(v);
        if (a == b) continue;
        leader[b] = a;
        make_root(top_[v]);
        const auto fresh = static_cast<Bag>(bags_.count());
        bags_.add(k_ + 1);
        bags_.push(fresh, u);
        bags_.push(fresh, v);
        parent_.push_back(top_[u]);
        parent_[top_[v]] = fresh;
        top_[v] = fresh;
    }
}

std::vector<BagTree::Edge> BagTree::augment(Watch& watch) {
    std::vector<Edge> left = dropped(), open = left, later;
    connect(left);
    for (int limit = 1; limit <= longest_way; limit *= 2) {
        later.clear();
        for (std::size_t i = 0; i < open.size(); ++i) {
            if ((i & 0x3ff) == 0) watch.check(1024);
            const auto [u, v] = open[i];
            if (!together(u, v) && join(u, v, limit)) later.push_back(open[i]);
        }
        std::swap(open, later);
    }
    std::erase_if(left, [&](Edge edge) { return together(edge.u, edge.v); });
    return left;
}

/// Climbs from the highest bag of `from` until a bag holds `to`, through at most `limit` bags with room; `way` holds
/// all bags from the first to the last.
BagTree::End BagTree::climb(Vertex from, Vertex to, int limit, std::vector<Bag>& way) const {
    way.assign(1, top_[from]);
    for (int steps = 0; steps <= limit; ++steps) {
        const Bag next = parent_[way.back()];
        if (next < 0) return End::closed;
        const bool reached = holds(next, to);
        if (!reached && !has_room(next)) return End::closed;
        way.push_back(next);
        if (reached) return End::reached;
    }
    return End::far;
}

/// Makes u and v meet if a way of at most `limit` bags allows it. Returns whether a longer way may.
bool BagTree::join(Vertex u, Vertex v, int limit) {
    const End first = climb(u, v, limit, up_);
    if (first == End::reached) {
        join_over(up_, u, v);
        return false;
    }
    const End second = climb(v, u, limit, other_up_);
    if (second == End::reached) {
        join_over(other_up_, v, u);
        return false;
    }
    // Neither is above the other: the ways up may meet.
    for (std::size_t i = 1; i < up_.size(); ++i) {
        const auto it = std::find(other_up_.begin() + 1, other_up_.end(), up_[i]);
        if (it == other_up_.end()) continue;
        up_.resize(i + 1);
        up_.insert(up_.end(), std::make_reverse_iterator(it), other_up_.rend());
        if (static_cast<int>(up_.size()) - 2 > limit) return true;
        join_over(up_, u, v);
        return false;
    }
    return first == End::far || second == End::far;
}

/// Makes u and v meet, if possible, on a way from a bag of u to one of v whose other bags have neither, and have room.
void BagTree::join_over(std::span<const Bag> way, Vertex u, Vertex v) {
    const std::size_t last = way.size() - 1;
    if (has_room(way[0])) {
        for (std::size_t i = last; i-- > 0;) put(v, way[i]);
        return;
    }
    if (has_room(way[last])) {
        for (std::size_t i = 1; i <= last; ++i) put(u, way[i]);
        return;
    }
    // Both ends are full: they meet in a new bag between two bags of the way.
    for (std::size_t i = 0; i < last; ++i) {
        const bool upwards = parent_[way[i]] == way[i + 1];
        const Bag child = upwards ? way[i] : way[i + 1], above = upwards ? way[i + 1] : way[i];
        int shared = 0;
        for (Vertex w : bags_[child]) shared += holds(above, w);
        if (shared >= k_) continue;
        const Bag fresh = split(child);
        for (std::size_t j = 1; j <= i; ++j) put(u, way[j]);
        for (std::size_t j = last; j-- > i + 1;) put(v, way[j]);
        put(u, fresh);
        put(v, fresh);
        return;
    }
}

std::vector<Vertex> BagTree::depths() const {
    std::vector<Vertex> depth(bags_.count(), -1), out(graph_.num_nodes(), -1);
    std::vector<Bag> way;
    for (Vertex v : nodes_) {
        Bag at = top_[v];
        for (way.clear(); at >= 0 && depth[at] < 0; at = parent_[at]) way.push_back(at);
        Vertex above = at < 0 ? -1 : depth[at];
        while (!way.empty()) {
            depth[way.back()] = ++above;
            way.pop_back();
        }
        out[v] = depth[top_[v]];
    }
    return out;
}

}  // namespace neuraltrees
