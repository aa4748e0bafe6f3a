#include "neuraltrees/greedy.hpp"

#include <algorithm>
#include <numeric>

#include "dense_elimination.hpp"
#include "sparse_elimination.hpp"
#include "vertex_heap.hpp"

namespace neuraltrees {
namespace {

constexpr std::uint64_t largest_score = 0x7fffffff;  // a score and its 32-bit tie-break share one 64-bit key

/// 0 for a simplicial vertex, 1 for an almost simplicial one within the bound, and above that the greedy score.
template <typename State>
std::uint64_t score(State& state, Vertex v, int low, Greedy rule) {
    const std::int64_t fill = state.fill[v], degree = state.degree[v];
    if (fill == 0) return 0;
    if (degree <= low && fill < degree && state.almost_simplicial(v)) return 1;
    return std::min<std::uint64_t>(largest_score, 2 + rule.score(fill, degree));
}

/// Does a list have, on average, more than twice as many entries as a row of bits has words, which is remaining / 64?
/// Then the lists take as much memory as the rows would.
bool dense_enough(const SparseElimination& sparse) {
    return sparse.entries * 32 > static_cast<std::int64_t>(sparse.remaining) * sparse.remaining;
}

/// What the sparse and the dense phase share: the order so far, the bound `low` on the degree of almost simplicial
/// vertices, and whether to stop when no vertex is safe. A simplicial vertex proves its degree as a lower bound; a
/// greedy step only reaches it as a width.
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
