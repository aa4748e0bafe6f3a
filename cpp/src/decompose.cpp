#include "neuraltrees/decompose.hpp"

#include <bit>
#include <map>

#include "neuraltrees/bounds.hpp"
#include "neuraltrees/parallel.hpp"
#include "neuraltrees/search.hpp"
#include "neuraltrees/triangulation.hpp"

namespace neuraltrees {
namespace {

struct Attempt {
    Greedy rule;
    std::uint64_t seed;
};

/// The greedy runs of a method: the plain rule first; later ones break ties at random, and min-fill alternates with
/// fill per neighbour, which is narrower on many graphs that mislead it.
Attempt attempt(const DecomposeOptions& options, int run) {
    const std::uint64_t seed = run == 0 ? options.seed : mix(options.seed, static_cast<std::uint64_t>(run / 2));
    if (options.method == Method::min_degree) return {Greedy::min_degree(), run == 0 ? seed : mix(options.seed, run)};
    if (run == 1) return {Greedy::fill_per_degree(), options.seed};
    return {run % 2 == 1 ? Greedy::fill_per_degree() : Greedy::min_fill(), seed};
}

/// Appends a decomposition, its vertices renamed unless `names` is empty.
void append(TreeDecomposition& out, DecompositionView part, std::span<const Vertex> names) {
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

TreeDecomposition decompose_large(GraphView graph, const DecomposeOptions& options) {
    const int bound = minor_min_degree(graph);
    TreeDecomposition best;
    if (options.method == Method::junction_tree) {
        best = decomposition_from_order(
            graph, minimal_triangulation_order(graph.num_nodes(), [&](Vertex v) { return graph.neighbours(v); }));
    } else {
        std::vector<Vertex> order;
        int width = graph.num_nodes();
        for (int run = 0; run < options.restarts && width > bound; ++run) {
            const Attempt next = attempt(options, run);
            auto found = greedy_order(graph, next.rule, next.seed, bound, width - 1);
            if (found.empty()) continue;
            order = std::move(found);
            width = width_of_order(graph, order);
        }
        best = decomposition_from_order(graph, order);
    }
    best.lower_bound = bound;
    return best;
}

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
        std::int64_t bags, edges;
        int width, lower_bound;
    };
    TreeDecomposition td;
    std::vector<End> ends;

    void close(int lower_bound) {
        const std::int64_t begin = ends.empty() ? 0 : ends.back().bags;
        const auto bags = static_cast<std::int64_t>(td.bag_ptr.size()) - 1;
        std::int64_t largest = 0;
        for (std::int64_t b = begin; b < bags; ++b) largest = std::max(largest, td.bag_ptr[b + 1] - td.bag_ptr[b]);
        ends.push_back({bags, static_cast<std::int64_t>(td.edges.size()), static_cast<int>(largest) - 1, lower_bound});
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
    GreedyPass(GraphView graph, const Components& components, const DecomposeOptions& options)
        : graph_(graph), components_(components), options_(options),
          size_(std::clamp<std::int64_t>(components.count() / 64, 1, 1024)),
          chunks_((components.count() + size_ - 1) / size_), local_(graph.num_nodes()) {
        parallel_chunks(components.count(), size_, options.threads, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t c = begin; c < end; ++c) decompose_component(c, chunks_[begin / size_]);
        });
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
    void decompose_component(std::int64_t c, Chunk& chunk) {
        const auto members = components_.members(c);
        for (std::size_t i = 0; i < members.size(); ++i) local_[members[i]] = static_cast<Vertex>(i);
        if (members.size() <= SmallGraph::max_nodes) {
            SmallGraph small;
            small.n = static_cast<int>(members.size());
            for (int i = 0; i < small.n; ++i) {
                small.row[i] = 0;
                for (Vertex u : graph_.neighbours(members[i])) small.row[i] |= std::uint64_t{1} << local_[u];
            }
            const SmallDecomposition td = decompose_small(small, options_);
            append_small(chunk.td, td, members);
            chunk.close(td.lower_bound);
        } else {
            Graph part;
            for (Vertex v : members) {
                for (Vertex u : graph_.neighbours(v)) part.adj.push_back(local_[u]);
                part.ptr.push_back(static_cast<std::int64_t>(part.adj.size()));
            }
            const TreeDecomposition td = decompose_large(part, options_);
            append(chunk.td, td, members);
            chunk.close(td.lower_bound);
        }
    }

    GraphView graph_;
    const Components& components_;
    const DecomposeOptions& options_;
    std::int64_t size_;  // components in a chunk
    std::vector<Chunk> chunks_;
    std::vector<Vertex> local_;  // the number of every vertex in its component
};

/// Searches the components that are not proven optimal, widest first; each gets an equal share of the time that is
/// left.
std::map<std::int64_t, TreeDecomposition> search_pass(GraphView graph, const Components& components,
                                                      const GreedyPass& greedy, const DecomposeOptions& options,
                                                      Clock& clock) {
    std::vector<std::int64_t> open;
    for (std::int64_t c = 0; c < components.count(); ++c) {
        clock.width = std::max(clock.width, greedy.end(c).width);
        if (greedy.end(c).lower_bound < greedy.end(c).width) open.push_back(c);
    }
    std::stable_sort(open.begin(), open.end(),
                     [&](auto a, auto b) { return greedy.end(a).width > greedy.end(b).width; });
    std::map<std::int64_t, TreeDecomposition> better;
    std::vector<Vertex> position(graph.num_nodes(), -1);
    for (std::size_t i = 0; i < open.size() && !clock.stop(); ++i) {
        const auto members = components.members(open[i]);
        const Graph part = induced_subgraph(graph, members, position);
        Clock share = clock.part(clock.left() / static_cast<double>(open.size() - i));
        const Goal goal = options.method == Method::exact ? Goal::proof : Goal::descent;
        const SearchResult found = search(part, goal, options.seed, share);
        clock.rejoin(share);
        clock.lower_bound = std::max(clock.lower_bound, found.lower_bound);
        if (found.width < greedy.end(open[i]).width)
            append(better[open[i]], decomposition_from_order(part, found.order), members);
    }
    return better;
}

}  // namespace

SmallDecomposition decompose_small(const SmallGraph& graph, const DecomposeOptions& options) {
    int bound = -1;
    SmallDecomposition best;
    if (options.method == Method::junction_tree) {
        std::vector<std::vector<Vertex>> rows(graph.n);
        for (int v = 0; v < graph.n; ++v)
            for (std::uint64_t m = graph.row[v]; m != 0; m &= m - 1) rows[v].push_back(std::countr_zero(m));
        const auto order =
            minimal_triangulation_order(graph.n, [&](Vertex v) -> const std::vector<Vertex>& { return rows[v]; });
        best = clique_tree(graph.n, small_eliminate(graph, order));
        bound = minor_min_degree(graph);
    } else {
        int width = graph.n;
        for (int run = 0; run < options.restarts && width > bound; ++run) {
            const Attempt next = attempt(options, run);
            const SmallElimination found = small_greedy(graph, next.rule, next.seed, bound);
            int reached = 0;
            for (int v = 0; v < graph.n; ++v) reached = std::max(reached, std::popcount(found.higher[v]));
            if (reached >= width) continue;
            width = reached;
            best = clique_tree(graph.n, found);
        }
    }
    best.lower_bound = bound;
    return best;
}

TreeDecomposition decompose(GraphView graph, const DecomposeOptions& given) {
    Clock clock(given.time_limit, &given.report);
    DecomposeOptions options = given;
    const bool searches = options.method == Method::exact || options.method == Method::best;
    if (searches) options.restarts = 1;  // the search itself draws more, and within its time
    const Components components = connected_components(graph);
    GreedyPass greedy(graph, components, options);
    for (std::int64_t c = 0; c < components.count(); ++c)
        clock.lower_bound = std::max(clock.lower_bound, greedy.end(c).lower_bound);
    std::map<std::int64_t, TreeDecomposition> better;
    if (searches) better = search_pass(graph, components, greedy, options, clock);
    TreeDecomposition out = greedy.join(better);
    out.lower_bound = clock.lower_bound;
    return out;
}

std::optional<TreeDecomposition> decompose_within(GraphView graph, int width, const DecomposeOptions& options) {
    if (graph.num_nodes() <= SmallGraph::max_nodes) {
        TreeDecomposition td = decompose(graph, options);
        if (td.width() > width) return std::nullopt;
        return td;
    }
    const int bound = minor_min_degree(graph, 20'000'000, width + 1);
    for (int run = 0; run < options.restarts && bound <= width; ++run) {
        const Attempt next = attempt(options, run);
        const auto order = greedy_order(graph, next.rule, next.seed, bound, width);
        if (!order.empty()) return decomposition_from_order(graph, order);
    }
    return std::nullopt;
}

}  // namespace neuraltrees
