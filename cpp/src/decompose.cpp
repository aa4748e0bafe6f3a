#include "neuraltrees/decompose.hpp"

#include <atomic>
#include <bit>
#include <map>

#include "connected.hpp"
#include "neuraltrees/bounds.hpp"
#include "neuraltrees/canonical.hpp"
#include "neuraltrees/parallel.hpp"
#include "neuraltrees/search.hpp"

namespace neuraltrees {
namespace {

/// Appends a decomposition, its vertices renamed unless `names` is empty.
void append(TreeDecomposition& out, const TreeDecomposition& part, std::span<const Vertex> names) {
    const auto first = static_cast<Vertex>(out.bag_ptr.size()) - 1;
    const std::int64_t offset = out.bag_ptr.back();
    out.bag_nodes.insert(out.bag_nodes.end(), part.bag_nodes.begin(), part.bag_nodes.end());
    if (!names.empty())
        for (auto at = out.bag_nodes.begin() + offset; at != out.bag_nodes.end(); ++at) *at = names[*at];
    const std::size_t bags = out.bag_ptr.size(), edges = out.edges.size();
    out.bag_ptr.insert(out.bag_ptr.end(), part.bag_ptr.begin() + 1, part.bag_ptr.end());
    for (std::size_t b = bags; b < out.bag_ptr.size(); ++b) out.bag_ptr[b] += offset;
    out.edges.insert(out.edges.end(), part.edges.begin(), part.edges.end());
    for (std::size_t e = edges; e < out.edges.size(); ++e)
        out.edges[e] = {first + out.edges[e][0], first + out.edges[e][1]};
}

constexpr double seconds_to_join = 1e-8;    // per vertex and member of a bag
constexpr double seconds_to_search = 2e-6;  // per vertex: with less time a search finds nothing

void append_small(TreeDecomposition& out, const SmallDecomposition& small, std::span<const Vertex> names) {
    const auto first = static_cast<Vertex>(out.bag_ptr.size()) - 1;
    for (int b = 0; b < small.count; ++b) {
        for (std::uint64_t m = small.bag[b]; m != 0; m &= m - 1) out.bag_nodes.push_back(names[std::countr_zero(m)]);
        out.bag_ptr.push_back(static_cast<std::int64_t>(out.bag_nodes.size()));
        if (small.parent[b] >= 0) out.edges.push_back({first + small.parent[b], first + b});
    }
}

/// The decompositions of consecutive components one after another, and for each of them where it ends, its width and
/// its lower bound.
struct Chunk {
    struct End {
        std::int64_t bags, edges, members;
        int width, lower_bound;
        Shortcut shortcut;
    };
    TreeDecomposition td;
    std::vector<End> ends;

    /// Room for so many small components with so many vertices in all: arrays that grow on several threads at once wait
    /// for each other.
    void reserve(std::int64_t components, std::int64_t vertices) {
        td.bag_ptr.reserve(vertices + 1);
        td.bag_nodes.reserve(3 * vertices);
        td.edges.reserve(vertices);
        ends.reserve(components);
    }

    void close(int lower_bound, Shortcut shortcut) {
        const std::int64_t begin = ends.empty() ? 0 : ends.back().bags;
        const auto bags = static_cast<std::int64_t>(td.bag_ptr.size()) - 1;
        std::int64_t largest = 0;
        for (std::int64_t b = begin; b < bags; ++b) largest = std::max(largest, td.bag_ptr[b + 1] - td.bag_ptr[b]);
        ends.push_back({bags, static_cast<std::int64_t>(td.edges.size()), td.bag_ptr[bags] - td.bag_ptr[begin],
                        static_cast<int>(largest) - 1, lower_bound, shortcut});
    }

    /// The i-th component alone.
    TreeDecomposition part(std::size_t i) const {
        const std::int64_t bag = i == 0 ? 0 : ends[i - 1].bags, edge = i == 0 ? 0 : ends[i - 1].edges;
        TreeDecomposition out;
        for (std::int64_t b = bag; b < ends[i].bags; ++b) out.add_bag(td.view().bag(b));
        const auto shift = static_cast<Vertex>(bag);
        for (std::int64_t e = edge; e < ends[i].edges; ++e)
            out.edges.push_back({td.edges[e][0] - shift, td.edges[e][1] - shift});
        return out;
    }
};

/// All components by the greedy rule or the junction tree, on several threads.
class GreedyPass {
public:
    GreedyPass(GraphView graph, const Components& components, const DecomposeOptions& options, Watch& watch)
        : graph_(graph), components_(components), options_(options),
          size_(std::clamp<std::int64_t>(components.count() / 64, 1, 1024)),
          chunks_((components.count() + size_ - 1) / size_), local_(graph.num_nodes()), half_(watch.left() / 2),
          open_(graph.num_nodes()) {
        const auto work = [&, watch](std::int64_t begin, std::int64_t end, int) {
            Watch own(watch);
            Chunk& chunk = chunks_[begin / size_];
            const std::int64_t vertices = components.ptr[end] - components.ptr[begin];
            if (vertices <= SmallGraph::max_nodes * (end - begin)) chunk.reserve(end - begin, vertices);
            Reached reached;
            for (std::int64_t c = begin; c < end; ++c) decompose_component(c, chunk, reached, own);
            tell(reached);
        };
        parallel_chunks(components.count(), size_, options.threads, work, watch);
    }

    const Chunk::End& end(std::int64_t c) const { return chunks_[c / size_].ends[c % size_]; }

    /// Everything joined, with some components replaced.
    TreeDecomposition join(const std::map<std::int64_t, TreeDecomposition>& better) {
        if (chunks_.size() == 1 && better.empty()) return std::move(chunks_.front().td);
        TreeDecomposition out;
        std::size_t bags = 1, nodes = 0;
        for (const Chunk& chunk : chunks_) {
            bags += chunk.td.bag_ptr.size() - 1;
            nodes += chunk.td.bag_nodes.size();
        }
        out.bag_ptr.reserve(bags);
        out.bag_nodes.reserve(nodes);
        out.edges.reserve(bags);
        for (std::size_t i = 0; i < chunks_.size(); ++i) {
            const auto begin = static_cast<std::int64_t>(i) * size_;
            const auto first = better.lower_bound(begin);
            if (first == better.end() || first->first >= begin + size_) {
                append(out, chunks_[i].td, {});
                continue;
            }
            for (std::size_t j = 0; j < chunks_[i].ends.size(); ++j) {
                const auto it = better.find(begin + static_cast<std::int64_t>(j));
                append(out, it == better.end() ? chunks_[i].part(j) : it->second, {});
            }
        }
        return out;
    }

private:
    /// What a thread has done since it last told the others. To tell them after every small component would take longer
    /// than the component.
    struct Reached {
        std::int64_t vertices = 0;
        int width = -1;
    };

    void tell(Reached& reached) {
        open_ -= reached.vertices;
        for (int known = width_; known < reached.width;)
            if (width_.compare_exchange_weak(known, reached.width)) break;
        reached = {};
    }

    void decompose_component(std::int64_t c, Chunk& chunk, Reached& reached, Watch& watch) {
        const auto members = components_.members(c);
        const auto size = static_cast<std::int64_t>(members.size());
        if (size <= SmallGraph::max_nodes) {
            decompose_small_component(members, chunk, watch);
        } else {
            // A share of the time, since other components wait; all but the time to join them.
            tell(reached);
            const std::int64_t open = open_;
            const double share = (watch.left() - seconds_to_join * graph_.num_nodes()) * static_cast<double>(size) /
                                 static_cast<double>(open);
            const Watch part = watch.part(share).inside(width_, open - size);
            if (size == graph_.num_nodes()) {
                chunk.td = decompose_large(graph_, options_, part);
                chunk.close(chunk.td.lower_bound, chunk.td.shortcut);
            } else {
                const TreeDecomposition td = decompose_large(component_graph(members, watch), options_, part);
                append(chunk.td, td, members);
                chunk.close(td.lower_bound, td.shortcut);
            }
        }
        reached.vertices += size;
        reached.width = std::max(reached.width, chunk.ends.back().width);
        if (size > SmallGraph::max_nodes) tell(reached);
    }

    Graph component_graph(std::span<const Vertex> members, Watch& watch) {
        Graph part;
        for (std::size_t i = 0; i < members.size(); ++i) local_[members[i]] = static_cast<Vertex>(i);
        for (Vertex v : members) {
            watch.check(1 + graph_.degree(v));
            for (Vertex u : graph_.neighbours(v)) part.adj.push_back(local_[u]);
            part.ptr.push_back(static_cast<std::int64_t>(part.adj.size()));
        }
        return part;
    }

    /// Near the time limit it runs once; after it, all vertices are put into one bag.
    void decompose_small_component(std::span<const Vertex> members, Chunk& chunk, Watch& watch) {
        SmallGraph small;
        small.n = static_cast<int>(members.size());
        for (int i = 0; i < small.n; ++i) local_[members[i]] = i;
        std::int64_t edges = 0;
        for (int i = 0; i < small.n; ++i) {
            small.row[i] = 0;
            for (Vertex u : graph_.neighbours(members[i])) small.row[i] |= std::uint64_t{1} << local_[u];
            edges += std::popcount(small.row[i]);
        }
        if (watch.late(small.n * small.n)) {
            const bool complete = edges == small.n * (small.n - 1);
            chunk.td.add_bag(members);
            chunk.close(small.n > 1 ? 1 : 0, complete ? Shortcut::none : Shortcut::one_bag);
            return;
        }
        DecomposeOptions options = options_;
        if (watch.limited() && watch.left() < half_) options.restarts = 1;
        const SmallDecomposition td = decompose_small(small, options);
        append_small(chunk.td, td, members);
        chunk.close(td.lower_bound, Shortcut::none);
    }

    GraphView graph_;
    const Components& components_;
    const DecomposeOptions& options_;
    std::int64_t size_;  // components in a chunk
    std::vector<Chunk> chunks_;
    std::vector<Vertex> local_;  // the number of every vertex in its component
    double half_;                // of the time
    // On a cache line that no thread reads all the time.
    alignas(64) std::atomic<std::int64_t> open_;  // vertices of components that are not decomposed yet
    std::atomic<int> width_{-1};                  // of those that are
};

/// Searches the components that are not proven optimal, widest first; each gets an equal share of the time that is
/// left, but for the time to write its bags.
std::map<std::int64_t, TreeDecomposition> search_pass(GraphView graph, const Components& components,
                                                      const GreedyPass& greedy, const DecomposeOptions& options,
                                                      Watch& watch, int& lower_bound) {
    std::vector<std::int64_t> open;
    for (std::int64_t c = 0; c < components.count(); ++c)
        if (greedy.end(c).lower_bound < greedy.end(c).width) open.push_back(c);
    std::stable_sort(open.begin(), open.end(),
                     [&](auto a, auto b) { return greedy.end(a).width > greedy.end(b).width; });
    std::map<std::int64_t, TreeDecomposition> better;
    std::vector<Vertex> position(graph.num_nodes(), -1);
    int done = -1;  // the width of those that were searched
    for (std::size_t i = 0; i < open.size() && !watch.late(); ++i) {
        const auto members = components.members(open[i]);
        const double writing = seconds_to_join * (4.0 * static_cast<double>(greedy.end(open[i]).members) +
                                                  10.0 * static_cast<double>(members.size()));
        const double share = watch.left() / static_cast<double>(open.size() - i) - writing;
        if (share < seconds_to_search * static_cast<double>(members.size())) continue;
        const Graph part = induced_subgraph(graph, members, position, watch);
        const int waiting = i + 1 < open.size() ? greedy.end(open[i + 1]).width : -1;
        const Goal goal = options.method == Method::exact ? Goal::proof : Goal::descent;
        const SearchResult found =
            search(part, goal, options.seed, watch.part(share).inside(std::max(done, waiting), 0));
        lower_bound = std::max(lower_bound, found.lower_bound);
        const bool narrower = !found.order.empty() && found.width < greedy.end(open[i]).width;
        done = std::max(done, narrower ? found.width : greedy.end(open[i]).width);
        if (narrower) append(better[open[i]], decomposition_from_order(part, found.order, watch), members);
    }
    return better;
}

}  // namespace

TreeDecomposition decompose(GraphView graph, const DecomposeOptions& given, Watch watch) {
    DecomposeOptions options = given;
    if (options.method == Method::canonical) {
        options.method = Method::min_fill;
        return canonical_decomposition(graph, options.refine ? &options : nullptr, watch);
    }
    const bool searches = options.method == Method::exact || options.method == Method::best;
    if (options.method == Method::exact) options.restarts = 1;  // a proof needs no narrow start
    const Components components = connected_components(graph, watch, options.threads);
    GreedyPass greedy(graph, components, options, watch);
    int lower_bound = -1, width = -1;
    for (std::int64_t c = 0; c < components.count(); ++c) {
        lower_bound = std::max(lower_bound, greedy.end(c).lower_bound);
        width = std::max(width, greedy.end(c).width);
    }
    watch.at_least(lower_bound);
    watch.at_most(width);
    std::map<std::int64_t, TreeDecomposition> better;
    if (searches) better = search_pass(graph, components, greedy, options, watch, lower_bound);
    TreeDecomposition out = greedy.join(better);
    out.lower_bound = lower_bound;
    out.shortcut = Shortcut::none;
    for (std::int64_t c = 0; c < components.count(); ++c)
        if (!better.contains(c)) out.shortcut = std::max(out.shortcut, greedy.end(c).shortcut);
    return out;
}

std::optional<TreeDecomposition> decompose_within(GraphView graph, int width, const DecomposeOptions& options,
                                                  Watch watch) {
    if (graph.num_nodes() <= SmallGraph::max_nodes) {
        TreeDecomposition td = decompose(graph, options, watch);
        if (td.width() > width) return std::nullopt;
        return td;
    }
    const int bound = minor_min_degree(graph, watch, 20'000'000, width + 1);
    for (int run = 0; run < options.restarts && bound <= width; ++run) {
        const Attempt next = attempt(options, run);
        const auto order = greedy_order(graph, next.rule, next.seed, bound, watch, width);
        if (!order.empty()) return decomposition_from_order(graph, order, watch);
    }
    return std::nullopt;
}

}  // namespace neuraltrees
