#include "neuraltrees/sampling.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "neuraltrees/bits.hpp"
#include "neuraltrees/error.hpp"

namespace neuraltrees {
namespace {

/// A node waiting to join `bag`, where it has as many neighbours as the level of the queue it waits in.
struct Candidate {
    std::uint32_t tie;
    Vertex node;
    Vertex bag;

    bool operator<(const Candidate& o) const { return tie != o.tie ? tie < o.tie : node < o.node; }
};

class Sampler {
public:
    Sampler(GraphView graph, int k, std::uint64_t seed)
        : graph_(graph), size_(k + 1), seed_(seed), best_(graph.num_nodes(), {0, 0, -1}),
          joined_(graph.num_nodes(), 0), queue_(2) {
        const std::int64_t kept = std::min<std::int64_t>(graph.num_edges(), std::int64_t{k} * graph.num_nodes());
        source_.reserve(kept);
        target_.reserve(kept);
    }

    BoundedSample run() {
        for (Vertex v = 0; v < graph_.num_nodes(); ++v)
            if (!joined_[v]) grow(v);
        return {graph_from_edges(source_, target_, graph_.num_nodes()), std::move(out_)};
    }

private:
    struct Best {
        std::int32_t count;
        std::uint32_t tie;
        Vertex bag;
    };

    void grow(Vertex start) {
        bag_.assign(1, start);
        joined_[start] = 1;
        const auto first = static_cast<Vertex>(out_.bag_ptr.size()) - 1;
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
            bag_.erase(bag_.begin() + dispensable(v));
            const auto fresh = static_cast<Vertex>(out_.bag_ptr.size()) - 1;
            join(v);
            out_.add_bag(bag_);
            out_.edges.push_back({from, fresh});
            offer(v, fresh);
        }
    }

    /// Adds v to the sorted bag and keeps its edges into it.
    void join(Vertex v) {
        joined_[v] = 1;
        for (Vertex u : bag_)
            if (graph_.has_edge(u, v)) {
                source_.push_back(u);
                target_.push_back(v);
            }
        bag_.insert(std::lower_bound(bag_.begin(), bag_.end(), v), v);
    }

    /// The member that v replaces: one that is not its neighbour if there is any, by hash.
    std::ptrdiff_t dispensable(Vertex v) const {
        std::ptrdiff_t chosen = -1;
        std::uint64_t best = 0;
        for (std::size_t i = 0; i < bag_.size(); ++i) {
            const std::uint64_t key = (mix(mix(seed_, v), bag_[i]) >> 1) | (std::uint64_t{!graph_.has_edge(bag_[i], v)} << 63);
            if (chosen < 0 || key > best) chosen = static_cast<std::ptrdiff_t>(i), best = key;
        }
        return chosen;
    }

    /// Scores the waiting neighbours of v, the newest member, against the bag that it joined.
    void offer(Vertex v, Vertex bag) {
        for (Vertex u : graph_.neighbours(v)) {
            if (joined_[u]) continue;
            const std::int32_t count = neighbours_in_bag(u);
            Best& best = best_[u];
            if (count < best.count) continue;
            const auto tie = static_cast<std::uint32_t>(mix(mix(seed_, u), v) >> 32);
            if (count == best.count && tie <= best.tie) continue;
            best = {count, tie, bag};
            if (count >= static_cast<std::int32_t>(queue_.size())) queue_.resize(count + 1);
            queue_[count].push_back({tie, u, bag});
            std::push_heap(queue_[count].begin(), queue_[count].end());
            top_ = std::max(top_, count);
        }
    }

    std::int32_t neighbours_in_bag(Vertex u) const {
        const auto row = graph_.neighbours(u);
        std::int32_t count = 0;
        if (row.size() > 8 * bag_.size()) {
            for (Vertex w : bag_) count += std::binary_search(row.begin(), row.end(), w);
            return count;
        }
        auto it = row.begin();
        for (Vertex w : bag_) {
            while (it != row.end() && *it < w) ++it;
            if (it == row.end()) break;
            count += *it == w;
        }
        return count;
    }

    bool pop(Vertex& v, Vertex& bag) {
        for (; top_ > 0; --top_) {
            auto& heap = queue_[top_];
            while (!heap.empty()) {
                const Candidate c = heap.front();
                std::pop_heap(heap.begin(), heap.end());
                heap.pop_back();
                if (joined_[c.node] || best_[c.node].count != top_ || best_[c.node].bag != c.bag) continue;
                v = c.node;
                bag = c.bag;
                return true;
            }
        }
        return false;
    }

    GraphView graph_;
    int size_;
    std::uint64_t seed_;
    std::vector<Best> best_;
    std::vector<char> joined_;
    std::vector<std::vector<Candidate>> queue_;  // by the number of neighbours in the bag
    std::int32_t top_ = 0;
    std::vector<Vertex> bag_;
    std::vector<std::int64_t> source_, target_;
    TreeDecomposition out_;
};

}  // namespace

BoundedSample sample_bounded_treewidth(GraphView graph, int k, std::uint64_t seed) {
    if (k < 1) throw InputError("Expected a treewidth bound k of at least 1; got " + std::to_string(k) + ".");
    k = std::min<int>(k, std::max<Vertex>(1, graph.num_nodes()));
    return Sampler(graph, k, seed).run();
}

}  // namespace neuraltrees
