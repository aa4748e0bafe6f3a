#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "neuraltrees/graph.hpp"

namespace neuraltrees {

/// Elimination on bitset rows for graphs of some hundred vertices, cheap to copy, so that one graph is eliminated many
/// times. Beside degree and fill it keeps the logarithm of the number of states of every vertex's bag.
class BitsetElimination {
public:
    BitsetElimination(GraphView graph, std::span<const double> log_states)
        : remaining(graph.num_nodes()), degree(remaining), fill(remaining, 0),
          log_size(log_states.begin(), log_states.end()), log_states_(log_states),
          words_((static_cast<std::size_t>(remaining) + 63) / 64), rows_(words_ * remaining, 0), queued_(remaining, 0) {
        for (Vertex v = 0; v < remaining; ++v) {
            degree[v] = graph.degree(v);
            for (Vertex u : graph.neighbours(v)) {
                row(v)[u >> 6] |= std::uint64_t{1} << (u & 63);
                log_size[v] += log_states[u];
            }
        }
        for (Vertex v = 0; v < remaining; ++v) {
            std::int64_t joined = 0;
            for (Vertex u : graph.neighbours(v)) joined += common(v, u);
            fill[v] = (degree[v] * (degree[v] - 1) - joined) / 2;
        }
    }

    const std::vector<Vertex>& neighbours(Vertex v) {
        around_.clear();
        each_bit(row(v), [&](Vertex u) { around_.push_back(u); });
        return around_;
    }

    /// Removes v, joins its neighbours, and returns the vertices of which anything changed.
    const std::vector<Vertex>& eliminate(Vertex v) {
        for (Vertex u : touched_) queued_[u] = 0;
        touched_.clear();
        neighbours(v);
        --remaining;
        const std::uint64_t* const own = row(v);
        for (Vertex a : around_) {
            std::int64_t strangers = 0;
            for (std::size_t w = 0; w < words_; ++w) strangers += std::popcount(row(a)[w] & ~own[w]);
            fill[a] -= strangers - 1;  // v is not among its own neighbours
            row(a)[v >> 6] &= ~(std::uint64_t{1} << (v & 63));
            --degree[a];
            log_size[a] -= log_states_[v];
            touch(a);
        }
        if (fill[v] == 0) return touched_;
        for (Vertex a : around_)
            for (std::size_t w = a >> 6; w < words_; ++w) {
                std::uint64_t gap = own[w] & ~row(a)[w];
                if (w == static_cast<std::size_t>(a >> 6)) gap &= ~((std::uint64_t{2} << (a & 63)) - 1);
                for (; gap != 0; gap &= gap - 1) join(a, static_cast<Vertex>(64 * w + std::countr_zero(gap)));
            }
        return touched_;
    }

    Vertex remaining;
    std::vector<std::int64_t> degree, fill;
    std::vector<double> log_size;

private:
    std::span<const double> log_states_;
    std::size_t words_;
    std::vector<std::uint64_t> rows_;
    std::vector<char> queued_;
    std::vector<Vertex> around_, touched_;

    std::uint64_t* row(Vertex v) { return rows_.data() + words_ * static_cast<std::size_t>(v); }
    void touch(Vertex v) {
        if (queued_[v]) return;
        queued_[v] = 1;
        touched_.push_back(v);
    }
    template <typename Visit>
    void each_bit(const std::uint64_t* bits, Visit&& visit) const {
        for (std::size_t w = 0; w < words_; ++w)
            for (std::uint64_t m = bits[w]; m != 0; m &= m - 1)
                visit(static_cast<Vertex>(64 * w + std::countr_zero(m)));
    }
    std::int64_t common(Vertex a, Vertex b) {
        std::int64_t count = 0;
        for (std::size_t w = 0; w < words_; ++w) count += std::popcount(row(a)[w] & row(b)[w]);
        return count;
    }
    void join(Vertex a, Vertex b) {
        std::uint64_t *const x = row(a), *const y = row(b);
        std::int64_t both = 0;
        for (std::size_t w = 0; w < words_; ++w)
            for (std::uint64_t m = x[w] & y[w]; m != 0; m &= m - 1) {
                const auto c = static_cast<Vertex>(64 * w + std::countr_zero(m));
                ++both;
                --fill[c];
                touch(c);
            }
        fill[a] += degree[a]++ - both;
        fill[b] += degree[b]++ - both;
        log_size[a] += log_states_[b];
        log_size[b] += log_states_[a];
        x[b >> 6] |= std::uint64_t{1} << (b & 63);
        y[a >> 6] |= std::uint64_t{1} << (a & 63);
    }
};

}  // namespace neuraltrees
