#include "neuraltrees/decompose.hpp"

#include <bit>
#include <optional>

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

/// The greedy runs of a method: the plain rule first; later ones break ties at random, and min-fill alternates with fill per
/// neighbour, which is narrower on many graphs that mislead it.
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
    for (std::size_t e = edges; e < out.edges.size(); ++e) out.edges[e] = {first + out.edges[e][0], first + out.edges[e][1]};
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

/// The decompositions of a run of components one after another, with where each begins and what it proved.
struct Chunk {
    TreeDecomposition td;
    struct Entry {
        std::int64_t bags, edges;
        int width, lower_bound;
    };
    std::vector<Entry> entries;
};

DecompositionView slice(const Chunk& chunk, std::size_t i, std::vector<std::int64_t>& ptr,
                        std::vector<std::array<Vertex, 2>>& edges) {
    const std::int64_t bag = i == 0 ? 0 : chunk.entries[i - 1].bags, edge = i == 0 ? 0 : chunk.entries[i - 1].edges;
    const auto& td = chunk.td;
    ptr.clear();
    edges.clear();
    for (std::int64_t b = bag; b <= chunk.entries[i].bags; ++b) ptr.push_back(td.bag_ptr[b] - td.bag_ptr[bag]);
    for (std::int64_t e = edge; e < chunk.entries[i].edges; ++e)
        edges.push_back({td.edges[e][0] - static_cast<Vertex>(bag), td.edges[e][1] - static_cast<Vertex>(bag)});
    return {ptr, std::span(td.bag_nodes).subspan(td.bag_ptr[bag], ptr.back()), edges};
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

TreeDecomposition decompose(GraphView graph, const DecomposeOptions& options) {
    const Components components = connected_components(graph);
    const std::int64_t count = components.count();
    std::vector<Vertex> local(graph.num_nodes());
    const std::int64_t chunk_size = std::clamp<std::int64_t>(count / 64, 1, 1024);
    std::vector<Chunk> chunks((count + chunk_size - 1) / chunk_size);

    parallel_chunks(count, chunk_size, options.threads, [&](std::int64_t begin, std::int64_t end, int) {
        Chunk& chunk = chunks[begin / chunk_size];
        SmallGraph small;
        for (std::int64_t c = begin; c < end; ++c) {
            const auto members = components.members(c);
            const std::int64_t bags_before = static_cast<std::int64_t>(chunk.td.bag_ptr.size()) - 1;
            for (std::size_t i = 0; i < members.size(); ++i) local[members[i]] = static_cast<Vertex>(i);
            int bound;
            if (members.size() <= SmallGraph::max_nodes) {
                small.n = static_cast<int>(members.size());
                for (int i = 0; i < small.n; ++i) {
                    small.row[i] = 0;
                    for (Vertex u : graph.neighbours(members[i])) small.row[i] |= std::uint64_t{1} << local[u];
                }
                const SmallDecomposition td = decompose_small(small, options);
                append_small(chunk.td, td, members);
                bound = td.lower_bound;
            } else {
                Graph part;
                for (Vertex v : members) {
                    for (Vertex u : graph.neighbours(v)) part.adj.push_back(local[u]);
                    part.ptr.push_back(static_cast<std::int64_t>(part.adj.size()));
                }
                const TreeDecomposition td = decompose_large(part, options);
                append(chunk.td, td, members);
                bound = td.lower_bound;
            }
            const auto bags = static_cast<std::int64_t>(chunk.td.bag_ptr.size()) - 1;
            std::int64_t largest = 0;
            for (std::int64_t b = bags_before; b < bags; ++b)
                largest = std::max(largest, chunk.td.bag_ptr[b + 1] - chunk.td.bag_ptr[b]);
            chunk.entries.push_back({bags, static_cast<std::int64_t>(chunk.td.edges.size()),
                                     static_cast<int>(largest) - 1, bound});
        }
    });

    std::vector<std::optional<TreeDecomposition>> improved;
    int lower_bound = -1;
    for (const Chunk& chunk : chunks)
        for (const auto& entry : chunk.entries) lower_bound = std::max(lower_bound, entry.lower_bound);
    if (options.method == Method::exact || options.method == Method::best) {
        improved.resize(count);
        auto entry = [&](std::int64_t c) -> Chunk::Entry& { return chunks[c / chunk_size].entries[c % chunk_size]; };
        std::vector<std::int64_t> open;
        int width = -1;
        for (std::int64_t c = 0; c < count; ++c) {
            width = std::max(width, entry(c).width);
            if (entry(c).lower_bound < entry(c).width) open.push_back(c);
        }
        std::stable_sort(open.begin(), open.end(), [&](auto a, auto b) { return entry(a).width > entry(b).width; });
        Clock clock(options.time_limit, &options.report);
        clock.lower_bound = lower_bound;
        clock.width = width;
        std::vector<Vertex> position(graph.num_nodes(), -1);
        for (std::size_t i = 0; i < open.size() && !clock.stop(); ++i) {
            const auto members = components.members(open[i]);
            const Graph part = induced_subgraph(graph, members, position);
            Clock share = clock.part(clock.left() / static_cast<double>(open.size() - i));
            const Goal goal = options.method == Method::exact ? Goal::proof : Goal::descent;
            const SearchResult found = search(part, goal, options.seed, share);
            clock.rejoin(share);
            entry(open[i]).lower_bound = std::max(entry(open[i]).lower_bound, found.lower_bound);
            lower_bound = std::max(lower_bound, found.lower_bound);
            clock.lower_bound = lower_bound;
            if (found.width >= entry(open[i]).width) continue;
            TreeDecomposition td;
            append(td, decomposition_from_order(part, found.order), members);
            improved[open[i]] = std::move(td);
        }
    }

    TreeDecomposition out;
    if (chunks.size() == 1 && improved.empty()) {
        out = std::move(chunks.front().td);
    } else {
        std::size_t bags = 1, nodes = 0;
        for (const Chunk& chunk : chunks) {
            bags += chunk.td.bag_ptr.size() - 1;
            nodes += chunk.td.bag_nodes.size();
        }
        out.bag_ptr.reserve(bags);
        out.bag_nodes.reserve(nodes);
        out.edges.reserve(bags);
        std::vector<std::int64_t> ptr;
        std::vector<std::array<Vertex, 2>> edges;
        for (std::int64_t c = 0; c < count; ++c) {
            if (!improved.empty() && improved[c]) {
                append(out, *improved[c], {});
                continue;
            }
            if (improved.empty()) {
                if (c % chunk_size == 0) append(out, chunks[c / chunk_size].td, {});
                continue;
            }
            append(out, slice(chunks[c / chunk_size], c % chunk_size, ptr, edges), {});
        }
    }
    out.lower_bound = lower_bound;
    return out;
}

}  // namespace neuraltrees
