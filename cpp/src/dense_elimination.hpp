#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "neuraltrees/bits.hpp"
#include "sparse_elimination.hpp"

namespace neuraltrees {

/// SparseElimination on bitset rows, which is faster once the rest of the graph is dense.
class DenseElimination {
public:
    DenseElimination() = default;
    DenseElimination(SparseElimination& sparse, Watch& watch) : number(sparse.alive.size(), -1), watch_(&watch) {
        for (Vertex v = 0; v < static_cast<Vertex>(sparse.alive.size()); ++v)
            if (sparse.alive[v]) {
                number[v] = static_cast<Vertex>(names.size());
                names.push_back(v);
                fill.push_back(sparse.fill[v]);
                degree.push_back(sparse.degree[v]);
            }
        words = (names.size() + 63) / 64;
        rows.assign(words * names.size(), 0);
        for (std::size_t i = 0; i < names.size(); ++i)
            for (Vertex u : sparse.neighbours(names[i])) set_bit(row(i), number[u]);
        if (!sparse.counted) count_fill();
    }

    std::span<std::uint64_t> row(std::size_t i) { return {rows.data() + words * i, words}; }

    bool almost_simplicial(Vertex v) {
        const auto around = row(v);
        bool answer = true, decided = false;
        for (std::size_t w = 0; w < words && !decided; ++w)
            for (std::uint64_t m = around[w]; m != 0 && !decided; m &= m - 1) {
                Vertex other = -1;
                const std::int64_t gap = missing(v, static_cast<Vertex>(64 * w + std::countr_zero(m)), other);
                if (gap == 0) continue;
                Vertex ignored;
                answer = gap == fill[v] || (gap == 1 && missing(v, other, ignored) == fill[v]);
                decided = true;
            }
        return answer;
    }

    template <typename Touch>
    void eliminate(Vertex v, Touch&& touch) {
        const std::vector<std::uint64_t> around(row(v).begin(), row(v).end());
        std::vector<Vertex> list;
        for_each_bit(around, [&](Vertex a) { list.push_back(a); });
        for (Vertex a : list) {
            auto r = row(a);
            work(words);
            std::int64_t strangers = 0;
            for (std::size_t w = 0; w < words; ++w) strangers += std::popcount(r[w] & ~around[w]);
            fill[a] -= strangers - 1;  // v itself is not among its own neighbours
            clear_bit(r, v);
            --degree[a];
            touch(a);
        }
        std::fill(row(v).begin(), row(v).end(), 0);
        if (fill[v] == 0) return;
        for (Vertex a : list)
            for (std::size_t w = a >> 6; w < words; ++w) {
                std::uint64_t gap = around[w] & ~row(a)[w];
                if (w == static_cast<std::size_t>(a >> 6)) gap &= ~((std::uint64_t{2} << (a & 63)) - 1);
                for (; gap != 0; gap &= gap - 1) join(a, static_cast<Vertex>(64 * w + std::countr_zero(gap)), touch);
            }
    }

    /// Removes v and joins its neighbours without counting fill, which is wrong from then on.
    void eliminate_uncounted(Vertex v) {
        const std::vector<std::uint64_t> around(row(v).begin(), row(v).end());
        for_each_bit(around, [&](Vertex a) {
            auto r = row(a);
            work(words);
            std::int64_t count = -1;  // a itself
            for (std::size_t w = 0; w < words; ++w) count += std::popcount(r[w] |= around[w]);
            clear_bit(r, a);
            clear_bit(r, v);
            degree[a] = count - 1;
        });
        std::fill(row(v).begin(), row(v).end(), 0);
    }

    /// About how much `effort` grows if v is eliminated with its fill counted.
    std::int64_t cost(Vertex v) const {
        return (2 * degree[v] + fill[v]) * static_cast<std::int64_t>(words) + fill[v] * degree[v] / 2;
    }

    std::vector<Vertex> names, number;
    std::size_t words = 0;
    std::vector<std::uint64_t> rows;
    std::vector<std::int64_t> fill, degree;
    std::int64_t effort = 0;  // words that were read, and counts that were changed

private:
    Watch* watch_ = nullptr;

    void count_fill() {
        for (std::size_t i = 0; i < names.size(); ++i) {
            const auto around = row(i);
            std::int64_t missing = 0;
            for_each_bit(around, [&](Vertex a) {
                const auto r = row(a);
                for (std::size_t w = 0; w < words; ++w) missing += std::popcount(around[w] & ~r[w]);
            });
            fill[i] = (missing - degree[i]) / 2;  // every neighbour misses itself
            watch_->check(degree[i] * static_cast<std::int64_t>(words));
        }
    }
    void work(std::size_t steps) {
        effort += static_cast<std::int64_t>(steps);
        watch_->check(static_cast<std::int64_t>(steps));
    }
    template <typename Touch>
    void join(Vertex a, Vertex b, Touch&& touch) {
        auto x = row(a), y = row(b);
        std::int64_t common = 0;
        for (std::size_t w = 0; w < words; ++w) {
            std::uint64_t both = x[w] & y[w];
            common += std::popcount(both);
            for (; both != 0; both &= both - 1) {
                const auto c = static_cast<Vertex>(64 * w + std::countr_zero(both));
                --fill[c];
                touch(c);
            }
        }
        work(words + static_cast<std::size_t>(common));
        fill[a] += degree[a]++ - common;
        fill[b] += degree[b]++ - common;
        set_bit(x, b);
        set_bit(y, a);
    }

    std::int64_t missing(Vertex v, Vertex a, Vertex& other) {
        const auto x = row(v), y = row(a);
        std::int64_t gap = 0;
        for (std::size_t w = 0; w < words; ++w) {
            std::uint64_t m = x[w] & ~y[w];
            if (static_cast<std::size_t>(a >> 6) == w) m &= ~(std::uint64_t{1} << (a & 63));
            gap += std::popcount(m);
            if (m != 0) other = static_cast<Vertex>(64 * w + std::countr_zero(m));
        }
        return gap;
    }
};

}  // namespace neuraltrees
