#include "neuraltrees/greedy.hpp"

#include <algorithm>
#include <numeric>

#include "dense_elimination.hpp"
#include "sparse_elimination.hpp"
#include "vertex_heap.hpp"

namespace neuraltrees {
namespace {

constexpr std::uint64_t largest_score = 0x7fffffff;      // a score and its 32-bit tie-break share one 64-bit key
constexpr std::int64_t free_effort = 1'200'000'000;      // steps that any graph may take: a second or two
constexpr std::int64_t most_entries = 200'000'000;       // of the lists, without their counts of fill: 800 MB
constexpr double step_time = 2.5e-9;                     // seconds per step of effort
constexpr double peel_time = 5e-8;                       // seconds per vertex and end of an edge, bags included
constexpr double bag_time = 2e-8, vertex_time = 2.5e-7;  // of decomposition_from, per member of a bag and per vertex

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

enum class Step { take, give_up, stop };

/// What the sparse and the dense phase share: the order so far, the bound `low` on the degree of almost simplicial
/// vertices, whether to stop when no vertex is safe, and what may still be spent. A simplicial vertex proves its degree
/// as a lower bound; a greedy step only reaches it as a width.
class Progress {
public:
    Progress(GraphView graph, int lower_bound, bool safe_only, Watch& watch, GreedyLimits limits)
        : low(lower_bound), n_(graph.num_nodes()), size_(n_ + 2 * graph.num_edges()), safe_only_(safe_only),
          watch_(watch), limits_(limits) {
        out.order.reserve(graph.num_nodes());
        // The rule by itself has part of the time, so that some is left for the shortcuts.
        if (watch.limited()) rule_until_ = (limits.shortcuts ? 0.4 : 0.0) * watch.left();
    }

    /// May a vertex be eliminated, at this cost, with its fill counted?
    Step next(std::uint64_t score, std::int64_t degree, std::int64_t effort, std::int64_t cost) {
        if (degree > limits_.width) return Step::give_up;
        if (safe_only_ && score > 1) return Step::stop;
        return effort + cost > allowed() || late(effort, cost, rule_until_) ? Step::stop : Step::take;
    }
    /// The same without a count of fill.
    Step next_uncounted(std::int64_t degree, std::int64_t effort, std::int64_t cost) {
        if (degree > limits_.width) return Step::give_up;
        return effort + cost > allowed() || late(effort, cost, 0) ? Step::stop : Step::take;
    }
    void take(Vertex name, std::uint64_t score, std::int64_t degree) {
        const auto reached = static_cast<int>(degree);
        if (!safe_only_ || score == 0) low = std::max(low, reached);
        out.width = std::max(out.width, reached);
        written_ += degree;
        out.order.push_back(name);
    }

    Elimination out;
    int low;

private:
    std::int64_t allowed() const {
        if (limits_.effort == 0) return std::numeric_limits<std::int64_t>::max();
        return free_effort + limits_.effort * (size_ + written_);
    }
    /// Will less than `reserve` seconds be left after this step and the time to write the bags?
    bool late(std::int64_t effort, std::int64_t cost, double reserve) {
        if (watch_.late(0)) return true;
        since_look_ += effort - looked_at_ + cost + 64;
        looked_at_ = effort;
        if (since_look_ < 1 << 16) return false;
        since_look_ = 0;
        if (watch_.late()) return true;
        if (!safe_only_) watch_.at_most(out.width, n_ - static_cast<Vertex>(out.order.size()));
        if (!watch_.limited()) return false;
        const double writing = bag_time * static_cast<double>(written_) + vertex_time * static_cast<double>(n_);
        return watch_.left() < reserve + writing + step_time * static_cast<double>(cost);
    }

    Vertex n_;
    std::int64_t size_, written_ = 0, since_look_ = 0, looked_at_ = 0;
    bool safe_only_;
    Watch& watch_;
    GreedyLimits limits_;
    double rule_until_ = 0;
};

Step run_sparse(SparseElimination& sparse, Progress& progress, Greedy rule, std::uint64_t seed) {
    const auto n = static_cast<Vertex>(sparse.alive.size());
    VertexHeap heap(n, seed);
    for (Vertex v = 0; v < n && !dense_enough(sparse); ++v) heap.set(v, score(sparse, v, progress.low, rule));
    while (!heap.empty() && !dense_enough(sparse)) {
        const Vertex v = heap.top();
        const std::uint64_t best = score(sparse, v, progress.low, rule);
        const Step step = progress.next(best, sparse.degree[v], sparse.effort, sparse.cost(v));
        if (step != Step::take) return step;
        progress.take(v, best, sparse.degree[v]);
        heap.pop();
        for (Vertex u : sparse.eliminate(v)) heap.set(u, score(sparse, u, progress.low, rule));
    }
    return Step::take;
}

/// Removes from `alive` the vertices that it eliminates, by their number in `dense`.
Step run_dense(DenseElimination& dense, std::vector<Vertex>& alive, Progress& progress, Greedy rule,
               std::uint64_t seed) {
    std::vector<std::uint64_t> key(alive.size(), 0);
    std::vector<char> stale(alive.size(), 1);
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
        const Step step = progress.next(key[v] >> 32, dense.degree[v], dense.effort, dense.cost(v));
        if (step != Step::take) return step;
        progress.take(dense.names[v], key[v] >> 32, dense.degree[v]);
        alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
        dense.eliminate(v, [&](Vertex u) { stale[u] = 1; });
    }
    return Step::take;
}

/// By least degree until the rest is complete, dense or too costly.
Step go_on_sparse(SparseElimination& sparse, Progress& progress, std::uint64_t seed) {
    VertexHeap heap(static_cast<Vertex>(sparse.alive.size()), seed);
    for (Vertex v = 0; v < static_cast<Vertex>(sparse.alive.size()); ++v)
        if (sparse.alive[v]) heap.set(v, static_cast<std::uint64_t>(sparse.degree[v]));
    sparse.effort = 0;
    while (!heap.empty() && !dense_enough(sparse)) {
        const Vertex v = heap.top();
        const std::int64_t degree = sparse.degree[v];
        if (degree + 1 == sparse.remaining) return Step::take;
        if (sparse.entries + degree * degree > most_entries) return Step::stop;
        const Step step = progress.next_uncounted(degree, sparse.effort, 3 * degree * degree);
        if (step != Step::take) return step;
        progress.take(v, 2, degree);
        heap.pop();
        for (Vertex u : sparse.eliminate_uncounted(v)) heap.set(u, static_cast<std::uint64_t>(sparse.degree[u]));
    }
    return Step::take;
}

Step go_on_dense(DenseElimination& dense, std::vector<Vertex>& alive, Progress& progress) {
    dense.effort = 0;
    while (!alive.empty()) {
        const auto at = std::min_element(alive.begin(), alive.end(), [&](Vertex a, Vertex b) {
            return dense.degree[a] != dense.degree[b] ? dense.degree[a] < dense.degree[b] : a < b;
        });
        const Vertex v = *at;
        const std::int64_t degree = dense.degree[v];
        if (degree + 1 == static_cast<std::int64_t>(alive.size())) return Step::take;
        const std::int64_t cost = degree * static_cast<std::int64_t>(dense.words);
        const Step step = progress.next_uncounted(degree, dense.effort, cost);
        if (step != Step::take) return step;
        progress.take(dense.names[v], 2, degree);
        alive.erase(at);
        dense.eliminate_uncounted(v);
    }
    return Step::take;
}

/// Vertices that have at most one neighbour left, for when there is time for nothing else.
void peel(GraphView graph, Progress& progress) {
    std::vector<std::int64_t> degree(graph.num_nodes());
    std::vector<Vertex> thin;
    for (Vertex v = 0; v < graph.num_nodes(); ++v)
        if ((degree[v] = graph.degree(v)) == 1) thin.push_back(v);
    while (!thin.empty()) {
        const Vertex v = thin.back();
        thin.pop_back();
        if (degree[v] != 1) continue;
        progress.take(v, 2, 1);
        degree[v] = 0;
        for (Vertex u : graph.neighbours(v))
            if (degree[u] > 0 && --degree[u] == 1) thin.push_back(u);
    }
}

/// Adds the vertices that were not eliminated; they form one bag.
Elimination finished(Elimination out, Vertex n, Shortcut shortcut) {
    out.shortcut = shortcut;
    out.eliminated = static_cast<Vertex>(out.order.size());
    if (out.eliminated == n) return out;
    std::vector<char> done(n, 0);
    for (Vertex v : out.order) done[v] = 1;
    for (Vertex v = 0; v < n; ++v)
        if (!done[v]) out.order.push_back(v);
    out.width = std::max(out.width, static_cast<int>(n - out.eliminated) - 1);
    return out;
}

}  // namespace

Elimination eliminate_greedily(GraphView graph, Greedy rule, std::uint64_t seed, int lower_bound, Watch watch,
                               GreedyLimits limits) {
    const Vertex n = graph.num_nodes();
    Progress progress(graph, lower_bound, false, watch, limits);
    const auto rest_in_one_bag = [&] {
        const auto rest = n - static_cast<std::int64_t>(progress.out.order.size());
        if (!limits.shortcuts || rest - 1 > limits.width) return Elimination{};
        return finished(std::move(progress.out), n, Shortcut::one_bag);
    };
    const auto peeled = [&] {
        if (limits.shortcuts) peel(graph, progress);
        return rest_in_one_bag();
    };
    // Copying the lists and counting their fill leave time to peel.
    const double peeling = peel_time * (static_cast<double>(n) + static_cast<double>(graph.adj.size()));
    if (watch.left() < 3 * peeling) return peeled();
    Watch copying = watch.part(watch.left() - peeling), counting = watch.part(0.5 * watch.left());
    SparseElimination sparse(graph, copying);
    if (!sparse.copied) return peeled();
    sparse.follow(counting);
    if (!dense_enough(sparse)) sparse.count_fill(graph);
    sparse.follow(watch);
    Step step = Step::take;
    bool cheap = false;
    if (!dense_enough(sparse)) {
        if (sparse.counted) step = run_sparse(sparse, progress, rule, seed);
        cheap = !sparse.counted || step == Step::stop;
    }
    if (cheap && limits.shortcuts) step = go_on_sparse(sparse, progress, seed);
    if (step == Step::take && sparse.remaining > 0 && dense_enough(sparse)) {
        DenseElimination dense(sparse, watch);
        std::vector<Vertex> alive(dense.names.size());
        std::iota(alive.begin(), alive.end(), 0);
        if (!cheap) {
            step = run_dense(dense, alive, progress, rule, seed);
            cheap = step == Step::stop;
        }
        if (cheap && limits.shortcuts) step = go_on_dense(dense, alive, progress);
    }
    if (step == Step::give_up) return {};
    if (step == Step::stop) return rest_in_one_bag();
    return finished(std::move(progress.out), n, cheap ? Shortcut::min_degree : Shortcut::none);
}

std::vector<Vertex> greedy_order(GraphView graph, Greedy rule, std::uint64_t seed, int lower_bound, Watch watch,
                                 int give_up) {
    return eliminate_greedily(graph, rule, seed, lower_bound, watch, {give_up, 0, false}).order;
}

Reduction reduce_safely(GraphView graph, int lower_bound, Watch watch) {
    SparseElimination sparse(graph, watch);
    Progress progress(graph, lower_bound, true, watch, {std::numeric_limits<int>::max(), 0, false});
    DenseElimination dense;
    Reduction out;
    if (sparse.copied && !dense_enough(sparse)) sparse.count_fill(graph);
    if (!sparse.copied || (!sparse.counted && !dense_enough(sparse))) {
        out.lower_bound = lower_bound;
        out.core = {{graph.ptr.begin(), graph.ptr.end()}, {graph.adj.begin(), graph.adj.end()}};
        out.core_nodes.resize(graph.num_nodes());
        std::iota(out.core_nodes.begin(), out.core_nodes.end(), 0);
        return out;
    }
    const Step step = sparse.counted ? run_sparse(sparse, progress, Greedy::min_fill(), 0) : Step::take;
    const bool ended_dense = step == Step::take && sparse.remaining > 0 && dense_enough(sparse);
    if (ended_dense) {
        dense = DenseElimination(sparse, watch);
        std::vector<Vertex> alive(dense.names.size());
        std::iota(alive.begin(), alive.end(), 0);
        run_dense(dense, alive, progress, Greedy::min_fill(), 0);
        for (Vertex v : alive) out.core_nodes.push_back(dense.names[v]);
    } else {
        for (Vertex v = 0; v < graph.num_nodes(); ++v)
            if (sparse.alive[v]) out.core_nodes.push_back(v);
    }
    out.eliminated = std::move(progress.out.order);
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
