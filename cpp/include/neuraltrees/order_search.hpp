#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "neuraltrees/bits.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// Simulated annealing on elimination orders. A move shifts a vertex past one of its neighbours in the filled graph;
/// the cost is the sum over the vertices of base^(later neighbours), a smooth substitute for the width. An order is
/// evaluated in O(m + nW) steps: in rows numbered by position, a vertex passes its later neighbours to the first of
/// them.
template <std::size_t W>
class OrderSearch {
public:
    using Set = VertexSet<W>;

    OrderSearch(GraphView graph, std::uint64_t seed) : graph_(graph), state_(mix(seed)), place_(graph.num_nodes()) {
        now_.row.resize(graph.num_nodes());
        next_.row.resize(graph.num_nodes());
        weight_.push_back(1);
        for (Vertex v = 0; v < graph.num_nodes(); ++v) weight_.push_back(weight_.back() * base);
    }

    void start(std::vector<Vertex> order) {
        order_ = std::move(order);
        evaluate(now_);
    }
    bool started() const { return !order_.empty(); }

    /// Anneals until the width is at most `wanted` or the watch is late.
    bool reach(int wanted, Watch watch) {
        const double total = watch.left();
        const std::int64_t work = graph_.num_edges() / 4 + static_cast<std::int64_t>(W) * graph_.num_nodes();
        for (std::uint64_t steps = 0; now_.width > wanted; ++steps) {
            if (watch.late(work)) return false;
            if (steps % 64 == 0) heat_ = hottest * std::max(0.02, watch.limited() ? watch.left() / total : 0.3);
            step();
        }
        return true;
    }

    const std::vector<Vertex>& order() const { return order_; }
    int width() const { return now_.width; }

private:
    static constexpr double base = 1.4, hottest = 0.08;

    /// The filled graph of an order: later neighbours, and the positions of the widest bags, all by position.
    struct Filled {
        std::vector<Set> row;
        std::vector<Vertex> widest;
        int width = -1;
        double cost = 0;
    };

    std::uint64_t draw(std::uint64_t below) { return (state_ = mix(state_)) % below; }
    double unit() { return static_cast<double>((state_ = mix(state_)) >> 11) * 0x1p-53; }

    void step() {
        // Mostly a widest bag, or a vertex of one, whose own bag may be narrow.
        auto at = static_cast<Vertex>(draw(order_.size()));
        if (draw(4) != 0) {
            at = now_.widest[draw(now_.widest.size())];
            if (draw(2) == 0) at = later(at);
        }
        const Vertex past = later(at);
        if (past == at) return;
        const Vertex from = draw(2) == 0 ? at : past, to = from == at ? past : at;
        shift(from, to);
        evaluate(next_);
        const double worse = std::log(next_.cost / now_.cost);
        if (worse <= 0 || unit() < std::exp(-worse / heat_))
            std::swap(now_, next_);
        else
            shift(to, from);
    }

    /// The position of some later neighbour of the vertex at a position; that position itself if there is none.
    Vertex later(Vertex at) {
        const int size = now_.row[at].size();
        if (size == 0) return at;
        std::uint64_t i = draw(static_cast<std::uint64_t>(size));
        for (std::size_t w = 0;; ++w) {
            std::uint64_t word = now_.row[at].word[w];
            const auto here = static_cast<std::uint64_t>(std::popcount(word));
            if (i >= here) {
                i -= here;
                continue;
            }
            for (; i > 0; --i) word &= word - 1;
            return static_cast<Vertex>(64 * w + std::countr_zero(word));
        }
    }

    void shift(Vertex from, Vertex to) {
        const auto first = order_.begin();
        if (from < to)
            std::rotate(first + from, first + from + 1, first + to + 1);
        else
            std::rotate(first + to, first + from, first + from + 1);
    }

    void evaluate(Filled& out) {
        const auto n = static_cast<Vertex>(order_.size());
        for (Vertex i = 0; i < n; ++i) place_[order_[i]] = i;
        for (Vertex i = 0; i < n; ++i) {
            Set row;
            for (Vertex u : graph_.neighbours(order_[i]))
                if (place_[u] > i) row.insert(place_[u]);
            out.row[i] = row;
        }
        out.width = -1;
        out.cost = 0;
        for (Vertex i = 0; i < n; ++i) {
            const Set& row = out.row[i];
            const int size = row.size();
            out.cost += weight_[size];
            if (size >= out.width) {
                if (size > out.width) out.widest.clear();
                out.width = size;
                out.widest.push_back(i);
            }
            if (size < 2) continue;
            const Vertex first = row.min();
            out.row[first] |= row;
            out.row[first].erase(first);
        }
    }

    GraphView graph_;
    std::uint64_t state_;
    Filled now_, next_;
    std::vector<Vertex> place_, order_;
    std::vector<double> weight_;
    double heat_ = hottest;
};

}  // namespace neuraltrees
