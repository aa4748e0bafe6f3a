#include <algorithm>
#include <atomic>
#include <utility>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/parallel.hpp"

namespace neuraltrees {
namespace {

/// By one thread, from the lowest vertex of every component.
Components searched(GraphView graph, Watch watch) {
    const Vertex n = graph.num_nodes();
    Components out;
    out.label.assign(n, -1);
    out.ptr.push_back(0);
    std::vector<Vertex> found;
    found.reserve(n);
    for (Vertex seed = 0; seed < n; ++seed) {
        if (out.label[seed] >= 0) continue;
        const auto label = static_cast<Vertex>(out.ptr.size()) - 1;
        std::size_t head = found.size();
        out.label[seed] = label;
        found.push_back(seed);
        for (; head < found.size(); ++head) {
            watch.check(1 + graph.degree(found[head]));
            if (head + 8 < found.size()) {  // rows lie anywhere in memory
                __builtin_prefetch(&graph.ptr[found[head + 8]]);
                const auto soon = graph.neighbours(found[head + 4]);
                __builtin_prefetch(soon.data());
                for (Vertex u : graph.neighbours(found[head + 2])) __builtin_prefetch(&out.label[u]);
            }
            for (Vertex u : graph.neighbours(found[head]))
                if (out.label[u] < 0) {
                    out.label[u] = label;
                    found.push_back(u);
                }
        }
        out.ptr.push_back(static_cast<std::int64_t>(found.size()));
    }
    // In the order of their numbers, the members of every component come out sorted.
    out.nodes = std::move(found);
    std::vector<std::int64_t> next(out.ptr.begin(), out.ptr.end() - 1);
    for (Vertex v = 0; v < n; ++v) out.nodes[next[out.label[v]]++] = v;
    return out;
}

/// The components of the graph on the vertices from `first` to `last`, and its edges to higher vertices outside.
struct Range {
    Vertex first, last;
    std::vector<std::int64_t> sizes;  // in the order of their lowest vertices
    std::vector<std::pair<Vertex, Vertex>> across;
    std::int64_t before = 0;  // components of earlier ranges

    /// Labels the vertices from 0 on; false if too many edges lead outside for that to be worth anything.
    bool search(GraphView graph, std::vector<Vertex>& label, Watch watch) {
        const auto most = static_cast<std::size_t>(last - first) / 32 + 16;
        std::vector<Vertex> found;
        for (Vertex seed = first; seed < last; ++seed) {
            if (label[seed] >= 0) continue;
            const auto own = static_cast<Vertex>(sizes.size());
            label[seed] = own;
            found.assign(1, seed);
            for (std::size_t head = 0; head < found.size(); ++head) {
                watch.check(1 + graph.degree(found[head]));
                for (Vertex u : graph.neighbours(found[head])) {
                    if (u < first || u >= last) {
                        if (u >= last) across.emplace_back(found[head], u);
                    } else if (label[u] < 0) {
                        label[u] = own;
                        found.push_back(u);
                    }
                }
                if (across.size() > most) return false;
            }
            sizes.push_back(static_cast<std::int64_t>(found.size()));
        }
        return true;
    }
};

/// By several threads, each on a range of vertices; components of several ranges are joined. Meant for graphs of many
/// components whose vertices stand together; false if it is not one of these, and `out` is then unfinished.
bool searched_in_ranges(GraphView graph, int threads, Watch watch, Components& out) {
    const Vertex n = graph.num_nodes(), size = n / threads + 1;
    std::vector<Range> ranges;
    for (std::int64_t first = 0; first < n; first += size)
        ranges.push_back(
            {static_cast<Vertex>(first), static_cast<Vertex>(std::min<std::int64_t>(n, first + size)), {}, {}});
    const auto on_all = [&](auto&& work) {
        parallel_chunks(
            static_cast<std::int64_t>(ranges.size()), 1, threads,
            [&](std::int64_t begin, std::int64_t, int) { work(ranges[begin]); }, watch);
    };
    out.label.assign(n, -1);
    std::atomic<bool> good{true};
    on_all([&](Range& range) {
        if (good && !range.search(graph, out.label, watch)) good = false;
    });
    if (!good) return false;
    std::vector<Vertex> leader;  // of every component of a range: the first of those that it is joined with
    for (Range& range : ranges) {
        range.before = static_cast<std::int64_t>(leader.size());
        for (std::size_t c = 0; c < range.sizes.size(); ++c) leader.push_back(static_cast<Vertex>(leader.size()));
    }
    const auto find = [&](Vertex c) {
        while (leader[c] != c) c = leader[c] = leader[leader[c]];
        return c;
    };
    const auto component = [&](Vertex v) { return static_cast<Vertex>(ranges[v / size].before + out.label[v]); };
    std::vector<char> joined(leader.size(), 0);
    for (const Range& range : ranges)
        for (auto [u, v] : range.across) {
            const auto [a, b] = std::minmax({find(component(u)), find(component(v))});
            leader[b] = a;
            joined[a] = joined[b] = 1;
        }
    // Their numbers follow their lowest vertices, as in one search.
    std::vector<Vertex> number(leader.size());
    std::vector<std::int64_t> next;
    for (const Range& range : ranges)
        for (std::size_t i = 0; i < range.sizes.size(); ++i) {
            const auto c = static_cast<Vertex>(range.before) + static_cast<Vertex>(i), first = find(c);
            if (first == c) {
                number[c] = static_cast<Vertex>(next.size());
                next.push_back(0);
            } else {
                number[c] = number[first];
            }
            next[number[c]] += range.sizes[i];
        }
    out.ptr.assign(1, 0);
    out.ptr.reserve(next.size() + 1);
    for (std::int64_t& each : next) out.ptr.push_back(out.ptr.back() + std::exchange(each, out.ptr.back()));
    out.nodes.resize(n);
    // Components of one range belong to its thread alone; the vertices of the others, which are few, wait.
    std::vector<std::vector<Vertex>> waiting(ranges.size());
    on_all([&](Range& range) {
        auto& later = waiting[&range - ranges.data()];
        for (Vertex v = range.first; v < range.last; ++v) {
            const auto c = range.before + out.label[v];
            out.label[v] = number[c];
            if (joined[c])
                later.push_back(v);
            else
                out.nodes[next[number[c]]++] = v;
        }
    });
    for (const auto& later : waiting)
        for (Vertex v : later) out.nodes[next[out.label[v]]++] = v;
    return true;
}

}  // namespace

Components connected_components(GraphView graph, Watch watch, int threads) {
    constexpr Vertex worth_a_thread = 10'000;
    Components out;
    const int useful = std::min<int>(threads, graph.num_nodes() / worth_a_thread);
    if (useful > 1 && searched_in_ranges(graph, useful, watch, out)) return out;
    return searched(graph, watch);
}

}  // namespace neuraltrees
