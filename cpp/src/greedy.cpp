#include "neuraltrees/greedy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace neuraltrees {
namespace {

/// A heap of vertices by (score, tie) that lets scores change.
class VertexHeap {
public:
    VertexHeap(Vertex n, std::uint64_t seed) : key_(n, 0), place_(n, -1), seed_(seed) { heap_.reserve(n); }

    bool empty() const { return heap_.empty(); }
    Vertex top() const { return heap_.front(); }
    void pop() { remove(heap_.front()); }
    void remove(Vertex v) {
        const Vertex at = place_[v], moved = heap_.back();
        heap_.pop_back();
        place_[v] = -1;
        if (moved == v) return;
        put(at, moved);
        settle(at);
    }
    void set(Vertex v, std::uint64_t score) {
        const std::uint64_t key = score << 32 | tie_break(seed_, v);
        if (place_[v] < 0) {
            place_[v] = static_cast<Vertex>(heap_.size());
            heap_.push_back(v);
        } else if (key_[v] == key) {
            return;
        }
        key_[v] = key;
        settle(place_[v]);
    }

private:
    bool less(Vertex a, Vertex b) const { return key_[a] != key_[b] ? key_[a] < key_[b] : a < b; }
    void put(Vertex at, Vertex v) {
        heap_[at] = v;
        place_[v] = at;
    }
    void settle(Vertex at) {
        const Vertex v = heap_[at];
        for (; at > 0 && less(v, heap_[(at - 1) / 4]); at = (at - 1) / 4) put(at, heap_[(at - 1) / 4]);
        const auto size = static_cast<std::int64_t>(heap_.size());
        for (;;) {
            const std::int64_t first = 4 * static_cast<std::int64_t>(at) + 1;
            if (first >= size) break;
            std::int64_t least = first;
            for (std::int64_t c = first + 1; c < std::min(first + 4, size); ++c)
                if (less(heap_[c], heap_[least])) least = c;
            if (!less(heap_[least], v)) break;
            put(at, heap_[least]);
            at = static_cast<Vertex>(least);
        }
        put(at, v);
    }

    std::vector<std::uint64_t> key_;
    std::vector<Vertex> place_, heap_;
    std::uint64_t seed_;
};

/// Elimination on neighbour lists, with the fill of every vertex kept exact by small updates. Lists keep eliminated
/// neighbours until half of them are gone, and one hub among the neighbours of a vertex is never scanned, so a star
/// or a wheel costs linear time.
class SparseElimination {
public:
    explicit SparseElimination(GraphView graph)
        : degree(graph.num_nodes()), fill(graph.num_nodes(), 0), alive(graph.num_nodes(), 1),
          remaining(graph.num_nodes()), entries(2 * graph.num_edges()), adj_(graph.num_nodes()),
          stamp_(graph.num_nodes(), 0), slot_(graph.num_nodes(), -1), queued_(graph.num_nodes(), 0) {
        for (Vertex v = 0; v < graph.num_nodes(); ++v) {
            adj_[v].assign(graph.neighbours(v).begin(), graph.neighbours(v).end());
            degree[v] = graph.degree(v);
        }
        for (Vertex v = 0; v < graph.num_nodes(); ++v) fill[v] = count_fill(graph, v);
    }

    const std::vector<Vertex>& neighbours(Vertex v) {
        compact(v);
        return adj_[v];
    }

    bool almost_simplicial(Vertex v) {
        meet(v);
        bool found = false;
        for (std::size_t i = 0; i < around_.size(); ++i) found |= degree[v] - 1 - inside_[i] == fill[v];
        forget();
        return found;
    }

    /// Removes v, joins its neighbours, and returns the vertices whose degree or fill changed.
    const std::vector<Vertex>& eliminate(Vertex v) {
        for (Vertex u : touched_) queued_[u] = 0;
        touched_.clear();
        alive[v] = 0;
        --remaining;
        entries -= 2 * degree[v];
        if (fill[v] == 0) {
            for (Vertex a : neighbours(v)) {
                fill[a] -= degree[a]-- - degree[v];
                touch(a);
            }
            return touched_;
        }
        meet(v);
        for (std::size_t i = 0; i < around_.size(); ++i) {
            fill[around_[i]] -= degree[around_[i]]-- - 1 - inside_[i];
            touch(around_[i]);
        }
        forget();
        const std::vector<std::array<Vertex, 2>> gaps = missing_pairs();
        for (std::size_t i = 0; i < gaps.size(); ++i) {
            if (i == 0 || gaps[i][0] != gaps[i - 1][0]) mark(gaps[i][0]);
            join(gaps[i][0], gaps[i][1]);
        }
        return touched_;
    }

    std::vector<std::int64_t> degree, fill;
    std::vector<char> alive;
    Vertex remaining;
    std::int64_t entries;

private:
    std::vector<std::vector<Vertex>> adj_;
    std::vector<std::uint32_t> stamp_;
    std::uint32_t now_ = 0;
    std::vector<Vertex> slot_, around_, touched_;
    std::vector<std::int64_t> inside_;
    std::vector<char> queued_;

    void compact(Vertex v) {
        if (static_cast<std::int64_t>(adj_[v].size()) == degree[v]) return;
        std::erase_if(adj_[v], [&](Vertex u) { return !alive[u]; });
    }
    void touch(Vertex v) {
        if (queued_[v]) return;
        queued_[v] = 1;
        touched_.push_back(v);
    }
    void mark(Vertex a) {
        ++now_;
        stamp_[a] = now_;
        for (Vertex u : neighbours(a)) stamp_[u] = now_;
    }

    /// The neighbours of v, the largest hub last, and for each how many of the others it is joined to.
    void meet(Vertex v) {
        around_ = neighbours(v);
        if (around_.empty()) return;
        std::swap(*std::max_element(around_.begin(), around_.end(),
                                    [&](Vertex a, Vertex b) { return degree[a] < degree[b]; }),
                  around_.back());
        inside_.assign(around_.size(), 0);
        for (std::size_t i = 0; i < around_.size(); ++i) slot_[around_[i]] = static_cast<Vertex>(i);
        const auto hub = static_cast<Vertex>(around_.size()) - 1;
        for (Vertex i = 0; i < hub; ++i) {
            if (static_cast<std::int64_t>(adj_[around_[i]].size()) > 2 * degree[around_[i]]) compact(around_[i]);
            for (Vertex u : adj_[around_[i]]) {
                if (slot_[u] < 0) continue;
                ++inside_[i];
                if (slot_[u] == hub) ++inside_[hub];
            }
        }
    }
    void forget() {
        for (Vertex u : around_) slot_[u] = -1;
    }

    /// The pairs of around_ that are not joined, grouped by their first vertex.
    std::vector<std::array<Vertex, 2>> missing_pairs() {
        std::vector<std::array<Vertex, 2>> pairs;
        for (std::size_t i = 0; i + 1 < around_.size(); ++i) {
            mark(around_[i]);
            for (std::size_t j = i + 1; j < around_.size(); ++j)
                if (stamp_[around_[j]] != now_) pairs.push_back({around_[i], around_[j]});
        }
        return pairs;
    }

    /// Adds the edge a-b while a and its neighbours are marked.
    void join(Vertex a, Vertex b) {
        std::int64_t common = 0;
        for (Vertex c : neighbours(b))
            if (stamp_[c] == now_) {
                ++common;
                --fill[c];
                touch(c);
            }
        fill[a] += degree[a]++ - common;
        fill[b] += degree[b]++ - common;
        adj_[a].push_back(b);
        adj_[b].push_back(a);
        stamp_[b] = now_;
        entries += 2;
    }

    std::int64_t count_fill(GraphView graph, Vertex v) {
        std::int64_t d = graph.degree(v), joined = 0;
        if (d < 2) return 0;
        mark(v);
        for (Vertex a : graph.neighbours(v)) {
            if (graph.degree(a) > 8 * d) {
                for (Vertex b : graph.neighbours(v)) joined += b != a && graph.has_edge(a, b);
            } else {
                for (Vertex b : graph.neighbours(a)) joined += stamp_[b] == now_ && b != v;
            }
        }
        return (d * (d - 1) - joined) / 2;
    }
};

/// The same on bitset rows, for a core whose rows are long enough to pay for words.
class DenseElimination {
public:
    DenseElimination() = default;
    explicit DenseElimination(SparseElimination& sparse) : number(sparse.alive.size(), -1) {
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
                for (; gap != 0; gap &= gap - 1)
                    join(a, static_cast<Vertex>(64 * w + std::countr_zero(gap)), touch);
            }
    }

    std::vector<Vertex> names, number;
    std::size_t words = 0;
    std::vector<std::uint64_t> rows;
    std::vector<std::int64_t> fill, degree;

private:
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

constexpr std::uint64_t never = 0x7fffffff;

/// 0 for a simplicial vertex, 1 for an almost simplicial one within the bound, and above that the greedy score.
template <typename State>
std::uint64_t score(State& state, Vertex v, int low, Greedy rule) {
    const std::int64_t fill = state.fill[v], degree = state.degree[v];
    if (fill == 0) return 0;
    if (degree <= low && fill < degree && state.almost_simplicial(v)) return 1;
    return std::min<std::uint64_t>(never, 2 + rule.score(fill, degree));
}

/// A row of bits costs remaining / 64 words; it pays once the lists are about half as long.
bool dense_enough(const SparseElimination& sparse) {
    return sparse.entries * 32 > static_cast<std::int64_t>(sparse.remaining) * sparse.remaining;
}

/// What both regimes share: the order so far, the bound under which almost simplicial vertices may go, and whether to stop
/// when no vertex is safe. A simplicial vertex proves its degree as a lower bound; a greedy step only reaches it as a width.
struct Progress {
    std::vector<Vertex> order;
    int low;
    bool safe_only;
    int give_up = std::numeric_limits<int>::max();

    bool take(Vertex name, std::uint64_t score, std::int64_t degree) {
        if ((safe_only && score > 1) || degree > give_up) return false;
        if (!safe_only || score == 0) low = std::max(low, static_cast<int>(degree));
        order.push_back(name);
        return true;
    }
};

void run_sparse(SparseElimination& sparse, Progress& progress, Greedy rule, std::uint64_t seed) {
    const auto n = static_cast<Vertex>(sparse.alive.size());
    VertexHeap heap(n, seed);
    for (Vertex v = 0; v < n && !dense_enough(sparse); ++v) heap.set(v, score(sparse, v, progress.low, rule));
    while (!heap.empty() && !dense_enough(sparse)) {
        const Vertex v = heap.top();
        if (!progress.take(v, score(sparse, v, progress.low, rule), sparse.degree[v])) return;
        heap.pop();
        for (Vertex u : sparse.eliminate(v)) heap.set(u, score(sparse, u, progress.low, rule));
    }
}

/// Returns the vertices that are left, by their number in `dense`.
std::vector<Vertex> run_dense(DenseElimination& dense, Progress& progress, Greedy rule, std::uint64_t seed) {
    const auto n = static_cast<Vertex>(dense.names.size());
    std::vector<std::uint64_t> key(n, 0);
    std::vector<Vertex> alive(n);
    std::iota(alive.begin(), alive.end(), 0);
    std::vector<char> stale(n, 1);
    while (!alive.empty()) {
        std::size_t at = 0;
        for (std::size_t i = 0; i < alive.size(); ++i) {
            const Vertex v = alive[i];
            if (stale[v]) {
                stale[v] = 0;
                key[v] = score(dense, v, progress.low, rule) << 32 | tie_break(seed, dense.names[v]);
            }
            if (key[v] < key[alive[at]]) at = i;
        }
        const Vertex v = alive[at];
        if (!progress.take(dense.names[v], key[v] >> 32, dense.degree[v])) break;
        alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
        dense.eliminate(v, [&](Vertex u) { stale[u] = 1; });
    }
    return alive;
}

}  // namespace

std::vector<Vertex> greedy_order(GraphView graph, Greedy rule, std::uint64_t seed, int lower_bound, int give_up) {
    SparseElimination sparse(graph);
    Progress progress{{}, lower_bound, false, give_up};
    progress.order.reserve(graph.num_nodes());
    run_sparse(sparse, progress, rule, seed);
    if (sparse.remaining > 0 && dense_enough(sparse)) {
        DenseElimination dense(sparse);
        run_dense(dense, progress, rule, seed);
    }
    if (static_cast<Vertex>(progress.order.size()) < graph.num_nodes()) return {};
    return std::move(progress.order);
}

Reduction reduce_safely(GraphView graph, int lower_bound) {
    SparseElimination sparse(graph);
    Progress progress{{}, lower_bound, true};
    run_sparse(sparse, progress, Greedy::min_fill(), 0);
    DenseElimination dense;
    Reduction out;
    const bool ended_dense = sparse.remaining > 0 && dense_enough(sparse);
    if (ended_dense) {
        dense = DenseElimination(sparse);
        for (Vertex v : run_dense(dense, progress, Greedy::min_fill(), 0)) out.core_nodes.push_back(dense.names[v]);
    } else {
        for (Vertex v = 0; v < graph.num_nodes(); ++v)
            if (sparse.alive[v]) out.core_nodes.push_back(v);
    }
    out.eliminated = std::move(progress.order);
    out.lower_bound = progress.low;

    std::vector<Vertex> number(graph.num_nodes(), -1);
    for (std::size_t i = 0; i < out.core_nodes.size(); ++i) number[out.core_nodes[i]] = static_cast<Vertex>(i);
    for (Vertex v : out.core_nodes) {
        if (ended_dense)
            for_each_bit(dense.row(dense.number[v]), [&](Vertex u) { out.core.adj.push_back(number[dense.names[u]]); });
        else
            for (Vertex u : sparse.neighbours(v)) out.core.adj.push_back(number[u]);
        std::sort(out.core.adj.begin() + out.core.ptr.back(), out.core.adj.end());
        out.core.ptr.push_back(static_cast<std::int64_t>(out.core.adj.size()));
    }
    return out;
}

}  // namespace neuraltrees
