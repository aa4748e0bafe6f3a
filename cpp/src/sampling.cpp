#include "neuraltrees/sampling.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "neuraltrees/bits.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/match.hpp"

namespace neuraltrees {
namespace {

/// A node waiting to join `bag`.
struct Candidate {
    Vertex node;
    Vertex bag;
};

/// Candidates by their number of neighbours in the bag, then by the first six bits of their tie-break, then the latest
/// first. Outdated entries are not removed: the caller of `pop` checks whether an entry is still valid.
class BucketQueue {
public:
    void push(std::int32_t count, std::uint32_t tie, Candidate candidate) {
        if (count >= static_cast<std::int32_t>(levels_.size())) levels_.resize(count + 1);
        const std::uint32_t bucket = tie >> 26;
        levels_[count].filled |= std::uint64_t{1} << bucket;
        levels_[count].bucket[bucket].push_back(candidate);
        top_ = std::max(top_, count);
    }
    /// Takes the best candidate; `count` is its level, 0 if the queue is empty.
    Candidate pop(std::int32_t& count) {
        for (; top_ > 0; --top_) {
            Level& level = levels_[top_];
            if (level.filled == 0) continue;
            const int best = 63 - std::countl_zero(level.filled);
            const Candidate candidate = level.bucket[best].back();
            level.bucket[best].pop_back();
            if (level.bucket[best].empty()) level.filled &= ~(std::uint64_t{1} << best);
            count = top_;
            return candidate;
        }
        count = 0;
        return {};
    }

private:
    struct Level {
        std::uint64_t filled = 0;
        std::array<std::vector<Candidate>, 64> bucket;
    };
    std::vector<Level> levels_;
    std::int32_t top_ = 0;
};

class Sampler {
public:
    Sampler(GraphView graph, int k, std::uint64_t seed, Watch watch)
        : graph_(graph), size_(k + 1), seed_(seed), watch_(watch), node_(graph.num_nodes()) {
        for (Vertex v = 0; v < graph.num_nodes(); ++v) node_[v].row = graph.neighbours(v);
        const std::int64_t kept = std::min<std::int64_t>(graph.num_edges(), std::int64_t{k} * graph.num_nodes());
        source_.reserve(kept);
        target_.reserve(kept);
    }

    BoundedSample run() {
        for (Vertex v = 0; v < graph_.num_nodes(); ++v)
            if (node_[v].count != joined) grow(v);
        const auto all = [](const auto& ids) { return Strided<Vertex>{ids.data(), std::ssize(ids)}; };
        return {graph_from_edges(all(source_), all(target_), graph_.num_nodes(), watch_), std::move(out_)};
    }

private:
    static constexpr std::int32_t joined = -1;

    /// All that is needed of a waiting node, in one cache line.
    struct Node {
        std::span<const Vertex> row;
        std::int32_t count = 0;  // neighbours in its best bag; `joined` once it has joined
        std::uint32_t tie = 0;
        Vertex bag = -1;
    };

    void grow(Vertex start) {
        const auto first = static_cast<Vertex>(out_.bag_ptr.size()) - 1;
        bag_.clear();
        join(start);
        offer(start, first);
        Vertex v, from;
        while (static_cast<int>(bag_.size()) < size_ && pop(v, from)) {
            join(v);
            offer(v, first);
        }
        out_.add_bag(bag_);
        while (pop(v, from)) {
            const auto old = out_.view().bag(from);
            bag_.assign(old.begin(), old.end());
            const auto fresh = static_cast<Vertex>(out_.bag_ptr.size()) - 1;
            replace(v);
            out_.add_bag(bag_);
            out_.edges.push_back({from, fresh});
            offer(v, fresh);
        }
    }

    /// Adds v to the sorted bag and keeps its edges into it.
    void join(Vertex v) {
        node_[v].count = joined;
        meet(v, members(), [&](std::size_t i) {
            source_.push_back(bag_[i]);
            target_.push_back(v);
        });
        bag_.insert(std::lower_bound(bag_.begin(), bag_.end(), v), v);
    }

    /// Puts v in the place of a member and keeps the edges of v to the others. The member is chosen by a hash, among
    /// those that are not neighbours of v if there are any.
    void replace(Vertex v) {
        near_.assign(bag_.size(), 0);
        meet(v, members(), [&](std::size_t i) { near_[i] = 1; });
        const std::uint64_t salt = mix(seed_, v);
        std::size_t dropped = 0;
        std::uint64_t best = 0;
        for (std::size_t i = 0; i < bag_.size(); ++i) {
            const std::uint64_t key = (mix(salt, bag_[i]) >> 1) | (std::uint64_t{!near_[i]} << 63);
            if (i == 0 || key > best) dropped = i, best = key;
        }
        for (std::size_t i = 0; i < bag_.size(); ++i)
            if (near_[i] && i != dropped) {
                source_.push_back(bag_[i]);
                target_.push_back(v);
            }
        node_[v].count = joined;
        bag_.erase(bag_.begin() + static_cast<std::ptrdiff_t>(dropped));
        bag_.insert(std::lower_bound(bag_.begin(), bag_.end(), v), v);
    }

    Members members() const {
        return Members(bag_.size() <= Members::most ? std::span<const Vertex>(bag_) : std::span<const Vertex>());
    }

    /// Calls f(i) for every member i of the bag that is a neighbour of v. Every entry of a short row is compared with
    /// all members at once, without a branch; in a long row every member is looked up.
    template <typename F>
    void meet(Vertex v, const Members& members, F&& f) const {
        const auto row = node_[v].row;
        if (row.size() <= 16 && bag_.size() <= Members::most) {
            std::uint32_t met = 0;
            for (Vertex u : row) met |= members.match(u);
            for (; met != 0; met &= met - 1) f(static_cast<std::size_t>(std::countr_zero(met)));
            return;
        }
        for (std::size_t i = 0; i < bag_.size(); ++i)
            if (std::binary_search(row.begin(), row.end(), bag_[i])) f(i);
    }

    /// Scores the waiting neighbours of v, the newest member, against the bag that it joined. They lie anywhere in
    /// memory, so all of them are prefetched before the first is used.
    void offer(Vertex v, Vertex bag) {
        const auto row = node_[v].row;
        watch_.check(8 + 8 * static_cast<std::int64_t>(row.size()));
        const Members bag_members = members();
        for (Vertex u : row) __builtin_prefetch(&node_[u]);
        for (Vertex u : row)
            if (node_[u].count != joined) __builtin_prefetch(node_[u].row.data());
        for (Vertex u : row) {
            Node& node = node_[u];
            if (node.count == joined) continue;
            std::int32_t count = 0;
            meet(u, bag_members, [&](std::size_t) { ++count; });
            if (count < node.count) continue;
            const auto tie = static_cast<std::uint32_t>(mix(mix(seed_, u), v) >> 32);
            if (count == node.count && tie <= node.tie) continue;
            node.count = count;
            node.tie = tie;
            node.bag = bag;
            queue_.push(count, tie, {u, bag});
        }
    }

    bool pop(Vertex& v, Vertex& bag) {
        std::int32_t count;
        for (;;) {
            const Candidate best = queue_.pop(count);
            if (count == 0) return false;
            if (node_[best.node].count != count || node_[best.node].bag != best.bag) continue;
            v = best.node;
            bag = best.bag;
            return true;
        }
    }

    GraphView graph_;
    int size_;
    std::uint64_t seed_;
    Watch watch_;
    std::vector<Node> node_;
    BucketQueue queue_;
    std::vector<Vertex> bag_;
    std::vector<char> near_;
    std::vector<Vertex> source_, target_;
    TreeDecomposition out_;
};

}  // namespace

BoundedSample sample_bounded_treewidth(GraphView graph, int k, std::uint64_t seed, Watch watch) {
    if (k < 1) throw InputError("Expected a treewidth bound k of at least 1; got " + std::to_string(k) + ".");
    k = std::min<int>(k, std::max<Vertex>(1, graph.num_nodes()));
    return Sampler(graph, k, seed, watch).run();
}

}  // namespace neuraltrees
