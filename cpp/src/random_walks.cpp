#include "neuraltrees/random_walks.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "neuraltrees/clones.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/parallel.hpp"
#include "walk_rows.hpp"

namespace neuraltrees {
namespace {

constexpr int lanes = 8, vectors = 2;
constexpr std::int64_t width = lanes * vectors;  // nodes whose walks are computed at once
constexpr std::int64_t chunk_graphs = 32;        // that a thread computes one after another
constexpr std::int64_t chunk_blocks = 16;
constexpr std::int64_t many_nodes = 4096;  // of a graph whose walks are computed by all threads

using Vector = double __attribute__((vector_size(lanes * sizeof(double))));

NEURALTREES_INLINE void load(const double* from, Vector& into) { std::memcpy(&into, from, sizeof(into)); }

NEURALTREES_INLINE void store(const Vector& values, double* to) { std::memcpy(to, &values, sizeof(values)); }

/// A number per walk of a block; aligned, since vectors across two lines of the cache take twice as long.
struct alignas(sizeof(Vector)) State {
    double of[width];
};

/// Rows low … high - 1 of a graph.
struct Range {
    Vertex low, high;
};

/// The rows of a range; states begin with that of the row `first`.
struct Rows {
    const std::int64_t* start;
    const Vertex* neighbour;
    const double* share;
    Range range;
    Vertex first;

    template <typename S>
    auto state(S* states, Vertex row) const {
        return states[row - first].of;
    }
};

/// The sums of the states of the neighbours of a row.
NEURALTREES_INLINE void add_neighbours(const Rows& rows, Vertex row, const State* now, Vector (&sum)[vectors]) {
    for (std::int64_t e = rows.start[row]; e < rows.start[row + 1]; ++e) {
        const double* other = rows.state(now, rows.neighbour[e]);
#pragma GCC unroll 4
        for (int i = 0; i < vectors; ++i) {
            Vector state;
            load(other + i * lanes, state);
            sum[i] += state;
        }
    }
}

/// next = P now, where P = D^-1 A.
NEURALTREES_CLONES void step(const Rows& rows, const State* now, State* next) {
    for (Vertex row = rows.range.low; row < rows.range.high; ++row) {
        Vector sum[vectors] = {};
        add_neighbours(rows, row, now, sum);
#pragma GCC unroll 4
        for (int i = 0; i < vectors; ++i) store(sum[i] * rows.share[row], rows.state(next, row) + i * lanes);
    }
}

/// next = P now, and per walk the sums of now D next and of next D next.
NEURALTREES_CLONES void step_with_sums(const Rows& rows, const State* now, State* next, State& odd, State& even) {
    Vector odds[vectors] = {}, evens[vectors] = {};
    for (Vertex row = rows.range.low; row < rows.range.high; ++row) {
        Vector sum[vectors] = {};
        add_neighbours(rows, row, now, sum);
#pragma GCC unroll 4
        for (int i = 0; i < vectors; ++i) {
            Vector before;
            load(rows.state(now, row) + i * lanes, before);
            const Vector after = sum[i] * rows.share[row];
            store(after, rows.state(next, row) + i * lanes);
            odds[i] += sum[i] * before;
            evens[i] += sum[i] * after;
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < vectors; ++i) {
        store(odds[i], odd.of + i * lanes);
        store(evens[i], even.of + i * lanes);
    }
}

/// Computes walks from some nodes of a graph at a time; keeps its memory in between.
///
/// The state of a row is the probability to get from it to the node where a walk begins. All rows from which this node
/// can be reached in k steps lie in ranges_[k]; beyond it, states are zero.
class Walker {
public:
    Walker(std::int64_t steps, Watch watch) : found_(steps + 1), watch_(watch) {}

    /// Writes the results of walks from up to `width` rows, which rise, and from the leaves at them.
    template <typename T>
    void walk(const WalkRows& rows, std::span<const Vertex> block, T* out) {
        const std::int64_t products = rows.symmetric ? (steps() + 1) / 2 : steps();
        find_ranges(rows, {block.front(), block.back() + 1}, products + 1);
        const Range all = ranges_.back();
        clear(now_, all.high - all.low);
        clear(next_, all.high - all.low);
        for (std::size_t i = 0; i < block.size(); ++i) now_[block[i] - all.low].of[i] = 1.0;
        for (std::int64_t k = 1; k <= products; ++k) {
            const Rows part{rows.start.data(), rows.neighbour.data(), rows.share.data(), ranges_[k], all.low};
            watch_.check((part.range.high - part.range.low) * 4);
            if (rows.symmetric) {
                // D P is symmetric, so that D P^(j + k) is (P^j)^T D P^k: half of the steps suffice.
                State beyond;
                State& even = 2 * k <= steps() ? found_[2 * k] : beyond;
                step_with_sums(part, now_.data(), next_.data(), found_[2 * k - 1], even);
            } else {
                step(part, now_.data(), next_.data());
                for (std::size_t i = 0; i < block.size(); ++i) found_[k].of[i] = next_[block[i] - all.low].of[i];
            }
            now_.swap(next_);
        }
        for (std::size_t i = 0; i < block.size(); ++i) write(rows, block[i], i, out);
    }

private:
    std::int64_t steps() const { return static_cast<std::int64_t>(found_.size()) - 1; }

    static void clear(std::vector<State>& states, std::size_t count) {
        states.resize(std::max(states.size(), count));
        std::memset(static_cast<void*>(states.data()), 0, count * sizeof(State));
    }

    void find_ranges(const WalkRows& rows, Range block, std::int64_t most) {
        ranges_.assign(1, block);
        Range seen{block.low, block.low}, next = block;
        for (std::int64_t k = 1; k <= most; ++k) {
            const Range here = next;
            const auto visit = [&](Vertex row) {
                next.low = std::min(next.low, rows.lowest[row]);
                next.high = std::max(next.high, rows.highest[row] + 1);
            };
            for (Vertex row = here.low; row < seen.low; ++row) visit(row);
            for (Vertex row = seen.high; row < here.high; ++row) visit(row);
            seen = here;
            ranges_.push_back(next);
        }
    }

    template <typename T>
    void write(const WalkRows& rows, Vertex row, std::size_t i, T* out) const {
        // Without symmetry the results are probabilities; with it, they have been multiplied by the degree.
        const double share = rows.symmetric ? rows.share[row] : 1.0;
        T* to = out + rows.node[row] * steps();
        for (std::int64_t k = 1; k <= steps(); ++k) to[k - 1] = static_cast<T>(found_[k].of[i] * share);
        for (std::int64_t e = rows.start[row]; e < rows.start[row + 1]; ++e) {
            const Vertex other = rows.neighbour[e];
            if (!rows.is_leaf(other)) continue;
            // A walk leaves the leaf, comes back to the row in two steps less, and takes the edge to the leaf.
            to = out + rows.node[other] * steps();
            for (std::int64_t k = 1; k <= steps(); ++k) {
                const double back = k < 3 ? k - 1.0 : found_[k - 2].of[i] * share;
                to[k - 1] = static_cast<T>(back * share);
            }
        }
    }

    std::vector<State> found_;  // after 0, 1, … steps
    Watch watch_;
    std::vector<Range> ranges_;
    std::vector<State> now_, next_;
};

/// A graph of the lists and its blocks of walks.
class WalkedGraph {
public:
    explicit WalkedGraph(Watch watch) : rows_(watch) {}

    void read(const EdgeLists& graphs, std::int64_t g) {
        const std::int64_t first = graphs.edge_ptr[g], edges = graphs.edge_ptr[g + 1] - first;
        rows_.read(graphs.source.subspan(first, edges), graphs.target.subspan(first, edges), graphs.num_nodes(g));
    }
    std::int64_t blocks() const { return (static_cast<std::int64_t>(rows_.inner.size()) + width - 1) / width; }

    template <typename T>
    void walk(Walker& walker, std::int64_t begin, std::int64_t end, T* out) const {
        for (std::int64_t b = begin; b < end; ++b) {
            const auto rest = std::span(rows_.inner).subspan(b * width);
            walker.walk(rows_, rest.first(std::min<std::size_t>(width, rest.size())), out);
        }
    }

private:
    WalkRows rows_;
};

}  // namespace

void check_edge_lists(const EdgeLists& graphs) {
    const auto fits = [](std::span<const std::int64_t> ptr, std::size_t total) {
        return !ptr.empty() && ptr.front() == 0 && std::ranges::is_sorted(ptr) &&
               static_cast<std::size_t>(ptr.back()) == total;
    };
    const auto& ends = graphs.node_ptr;
    if (graphs.node_ptr.size() != graphs.edge_ptr.size() || graphs.source.size() != graphs.target.size() ||
        !fits(graphs.edge_ptr, graphs.source.size()) || !fits(ends, ends.empty() ? 0 : ends.back()))
        throw InputError("Expected rising places where the nodes and edges of every graph start; got other numbers.");
    for (std::int64_t g = 0; g < graphs.count(); ++g) {
        const std::int64_t nodes = graphs.num_nodes(g);
        if (nodes > max_graph_nodes)
            throw InputError("Expected graphs of at most " + std::to_string(max_graph_nodes) + " nodes; got one of " +
                             std::to_string(nodes) + ".");
        for (std::int64_t e = graphs.edge_ptr[g]; e < graphs.edge_ptr[g + 1]; ++e)
            for (const std::int64_t end : {graphs.source[e], graphs.target[e]})
                if (end < 0 || end >= nodes)
                    throw InputError("Expected edges of graph " + std::to_string(g) + " between the nodes 0 to " +
                                     std::to_string(nodes - 1) + "; got one at node " + std::to_string(end) + ".");
    }
}

template <typename T>
void return_probabilities(const EdgeLists& graphs, std::int64_t steps, T* out, int threads, Watch watch) {
    const auto results = [&](std::int64_t g) { return out + graphs.node_ptr[g] * steps; };
    parallel_chunks(
        graphs.count(), chunk_graphs, threads,
        [&](std::int64_t begin, std::int64_t end, int) {
            WalkedGraph graph(watch);
            Walker walker(steps, watch);
            for (std::int64_t g = begin; g < end; ++g) {
                if (graphs.num_nodes(g) > many_nodes) continue;
                graph.read(graphs, g);
                graph.walk(walker, 0, graph.blocks(), results(g));
            }
        },
        watch);
    for (std::int64_t g = 0; g < graphs.count(); ++g) {
        if (graphs.num_nodes(g) <= many_nodes) continue;
        WalkedGraph graph(watch);
        graph.read(graphs, g);
        parallel_chunks(
            graph.blocks(), chunk_blocks, threads,
            [&](std::int64_t begin, std::int64_t end, int) {
                Walker walker(steps, watch);
                graph.walk(walker, begin, end, results(g));
            },
            watch);
    }
}

template void return_probabilities(const EdgeLists&, std::int64_t, float*, int, Watch);
template void return_probabilities(const EdgeLists&, std::int64_t, double*, int, Watch);

}  // namespace neuraltrees
