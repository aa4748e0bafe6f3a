#include "neuraltrees/htree.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <string>

#include "neuraltrees/bag_plan.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/parallel.hpp"
#include "small_bag_graph.hpp"

namespace neuraltrees {
namespace {

constexpr std::int64_t roots_per_chunk = 512;
constexpr std::int64_t nodes_per_vertex = 64;  // an H-tree with more is large because of its width

/// Prefetches the rows of bags that will be needed soon: neighbouring bags may lie anywhere in a large graph.
void prefetch_rows(GraphView graph, DecompositionView td, std::int64_t bag, std::int64_t end) {
    constexpr std::int64_t far = 8, near = 4;
    if (bag + far < end)
        for (Vertex v : td.bag(bag + far)) __builtin_prefetch(&graph.ptr[v]);
    if (bag + near < end)
        for (Vertex v : td.bag(bag + near)) __builtin_prefetch(graph.adj.data() + graph.ptr[v]);
}

/// How many roots a thread writes at a time, of so many whose nodes take so many bytes per array. Threads that write
/// close to each other meet on huge pages that are new to both: each then clears the page, and one of them in vain.
std::int64_t stamped_at_a_time(std::int64_t roots, std::int64_t bytes, int threads) {
    if (bytes <= static_cast<std::int64_t>(largest_block_of_small_pages)) return roots_per_chunk;
    constexpr std::int64_t apart = std::int64_t{1} << 22;  // two huge pages
    const std::int64_t most = roots / (4 * threads);       // so that all threads have work to the end
    return std::max(roots_per_chunk, std::min(most, roots * apart / bytes));
}

/// The positions in the arrays of a root bag and of the nodes below it.
struct Place {
    const BagPlan* plan;  // null: leaves only
    std::int64_t component;
    std::int64_t root, below;              // node numbers of the bag and of the first node below
    std::int64_t root_entry, below_entry;  // positions of their bags in bag_nodes
    std::int64_t below_rank;               // how many nodes with a parent come before `below`
};

/// Writes the nodes of one root after another. Counters are local variables: the compiler would reload members after
/// every store.
template <typename Index>
class Stamper {
public:
    Stamper(HTreeOf<Index>& tree, std::int64_t root_edges, std::int64_t children, Watch watch)
        : watch_(watch), parent_(tree.parent.data.get()), level_(tree.level.data.get()), kappa_(tree.kappa.data.get()),
          component_(tree.component.data.get()), bag_ptr_(tree.bag_ptr.data.get()),
          bag_nodes_(tree.bag_nodes.data.get()) {
        const std::int64_t edges = root_edges + 2 * children;
        up_source_ = tree.edge_index.data.get() + root_edges;
        down_source_ = up_source_ + children;
        up_target_ = up_source_ + edges;
        down_target_ = down_source_ + edges;
        up_type_ = tree.edge_type.data.get() + root_edges;
        down_type_ = up_type_ + children;
    }

    /// Leaves that are children of the root are in the given order of its members.
    void stamp(const Place& place, std::span<const Vertex> bag, std::span<const Vertex> order) {
        node(place.root, -1, 0, -1, place.component, place.root_entry);
        std::copy(bag.begin(), bag.end(), bag_nodes_ + place.root_entry);
        Cursor at{place.below, place.below_entry, place.below_rank};
        if (place.plan == nullptr || place.plan->children.empty()) {
            leaves(at, place.root, 1, order, place.component);
            return;
        }
        open(place.plan, place.root);
        while (!stack_.empty()) {
            const auto [child, above] = stack_.back();
            stack_.pop_back();
            const std::int64_t id = at.node++, first = at.entry, depth = std::int64_t{level_[above]} + 1;
            node(id, above, depth, -1, place.component, first);
            edges(at.rank++, id, above);
            const Index* names = bag_nodes_ + bag_ptr_[above];
            for (Vertex m : child->members) bag_nodes_[at.entry++] = names[m];
            if (child->plan->children.empty())
                leaves(at, id, depth + 1, std::span(bag_nodes_ + first, bag_nodes_ + at.entry), place.component);
            else
                open(child->plan, id);
        }
    }

private:
    struct Cursor {
        std::int64_t node, entry, rank;
    };

    void open(const BagPlan* plan, std::int64_t id) {
        for (auto it = plan->children.rbegin(); it != plan->children.rend(); ++it) stack_.emplace_back(&*it, id);
    }
    template <typename Members>
    void leaves(Cursor& at, std::int64_t above, std::int64_t depth, Members members, std::int64_t component) {
        const std::int64_t id = at.node, entry = at.entry, rank = at.rank;
        const auto count = static_cast<std::int64_t>(members.size());
        watch_.check(8 + 8 * count);
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t v = members[i];
            node(id + i, above, depth, v, component, entry + i);
            bag_nodes_[entry + i] = static_cast<Index>(v);
            edges(rank + i, id + i, above);
        }
        at = {id + count, entry + count, rank + count};
    }
    void node(std::int64_t id, std::int64_t parent, std::int64_t level, std::int64_t kappa, std::int64_t component,
              std::int64_t entry) {
        parent_[id] = static_cast<Index>(parent);
        level_[id] = static_cast<Index>(level);
        kappa_[id] = static_cast<Index>(kappa);
        component_[id] = static_cast<Index>(component);
        bag_ptr_[id] = static_cast<Index>(entry);
    }
    void edges(std::int64_t rank, std::int64_t child, std::int64_t parent) {
        up_source_[rank] = down_target_[rank] = static_cast<Index>(child);
        up_target_[rank] = down_source_[rank] = static_cast<Index>(parent);
        up_type_[rank] = 1;
        down_type_[rank] = 2;
    }

    Watch watch_;
    Index *parent_, *level_, *kappa_, *component_, *bag_ptr_, *bag_nodes_;
    Index *up_source_, *up_target_, *up_type_, *down_source_, *down_target_, *down_type_;
    std::vector<std::pair<const BagPlan::Child*, std::int64_t>> stack_;
};

/// Finds the plan of every root bag, with one planner per thread.
void plan_roots(GraphView graph, DecompositionView td, const HTreeOptions& options,
                std::span<const std::unique_ptr<BagPlanner>> planners, std::span<Place> places, Watch watch) {
    const auto threads = static_cast<int>(planners.size());
    std::vector<std::vector<Vertex>> positions(threads);
    std::atomic<std::int64_t> total{0};
    // Beyond the limit, counting continues as long as the tree is large only because the graph is: the error then says
    // how many nodes to allow.
    const std::int64_t most = std::max<std::int64_t>(options.max_nodes, nodes_per_vertex * graph.num_nodes());
    const auto plan_chunk = [&, watch](std::int64_t begin, std::int64_t end, int worker) {
        Watch own(watch);
        own.check();
        std::int64_t nodes = 0;
        for (std::int64_t r = begin; r < end; ++r) {
            prefetch_rows(graph, td, r, end);
            const auto bag = td.bag(r);
            own.check(8 * static_cast<std::int64_t>(bag.size()));
            if (bag.size() <= SmallGraph::max_nodes) {
                places[r].plan = planners[worker]->plan(small_bag_graph(graph, bag));
            } else {
                positions[worker].resize(graph.num_nodes(), -1);
                places[r].plan = planners[worker]->plan(induced_subgraph(graph, bag, positions[worker], own));
            }
            nodes += places[r].plan->nodes;
        }
        if ((total += nodes) > most) throw TreeTooLargeError(options.max_nodes, td.width(), total);
    };
    try {
        parallel_chunks(td.num_bags(), roots_per_chunk, threads, plan_chunk, watch);
    } catch (const TreeTooLargeError& error) {
        // The planner knows only the bag it was at.
        throw TreeTooLargeError(options.max_nodes, td.width(), std::max<std::int64_t>(total, error.nodes));
    }
    if (total > options.max_nodes) throw TreeTooLargeError(options.max_nodes, td.width(), total, true);
}

/// Throws if the tree would have far more nodes than allowed, as a sample of the root bags shows; each bag is drawn
/// with a probability proportional to its size. Only for decompositions with bags that take long to plan.
void refuse_early(GraphView graph, DecompositionView td, const HTreeOptions& options, const DecomposeOptions& nested,
                  Watch watch) {
    constexpr std::uint64_t draws = 64;
    constexpr double seconds = 0.7, seconds_per_bag = 0.1, safety = 2;
    const auto entries = static_cast<std::int64_t>(td.bag_nodes.size());
    if (entries + td.num_bags() > options.max_nodes && td.width() >= SmallGraph::max_nodes)
        throw TreeTooLargeError(options.max_nodes, td.width(), entries + td.num_bags());
    if (td.width() < SmallGraph::max_nodes) return;
    std::vector<Vertex> position(graph.num_nodes(), -1);
    Watch sampling = watch.part(seconds);
    double per_member = 0, drawn = 0;
    for (std::uint64_t draw = 0; draw < draws && !sampling.late(); ++draw) {
        const auto at = static_cast<std::int64_t>(mix(draw) % static_cast<std::uint64_t>(entries));
        const auto bag = std::upper_bound(td.bag_ptr.begin(), td.bag_ptr.end(), at) - td.bag_ptr.begin() - 1;
        const Graph part = induced_subgraph(graph, td.bag(bag), position, watch);
        BagPlanner planner(nested, options.max_nodes);
        const std::int64_t nodes = planner.count_nodes(part, sampling.part(seconds_per_bag));
        per_member += static_cast<double>(nodes) / static_cast<double>(td.bag(bag).size());
        ++drawn;
    }
    const double nodes = per_member / drawn * static_cast<double>(entries);
    if (drawn >= 4 && nodes > safety * static_cast<double>(options.max_nodes))
        throw TreeTooLargeError(options.max_nodes, td.width(),
                                static_cast<std::int64_t>(std::min(nodes / safety, 1e18)));
}

/// The number of nodes of the tree, and the total size of their bags.
struct Totals {
    std::int64_t nodes = 0, entries = 0;
};

/// Gives every root and the nodes below it their positions in the arrays. Roots of one component stand together; a root
/// with no edge to an earlier one begins the next component.
Totals assign_positions(DecompositionView td, std::span<Place> places) {
    const std::int64_t roots = td.num_bags();
    std::vector<char> joined(roots, 0);
    for (auto [a, b] : td.edges) joined[std::max(a, b)] = 1;
    std::vector<std::int64_t> first_root;
    for (std::int64_t r = 0; r < roots; ++r)
        if (!joined[r]) first_root.push_back(r);
    const auto components = static_cast<std::int64_t>(first_root.size());
    first_root.push_back(roots);
    Totals at;
    for (std::int64_t c = 0; c < components; ++c) {
        for (std::int64_t r = first_root[c]; r < first_root[c + 1]; ++r) {
            places[r].component = c;
            places[r].root = at.nodes++;
            places[r].root_entry = at.entries;
            at.entries += static_cast<std::int64_t>(td.bag(r).size());
        }
        for (std::int64_t r = first_root[c]; r < first_root[c + 1]; ++r) {
            places[r].below = at.nodes;
            places[r].below_entry = at.entries;
            places[r].below_rank = at.nodes - first_root[c + 1];
            const auto size = static_cast<std::int64_t>(td.bag(r).size());
            at.nodes += places[r].plan ? places[r].plan->nodes - 1 : size;
            at.entries += places[r].plan ? places[r].plan->entries - size : size;
        }
    }
    return at;
}

/// The layout of the arrays of a tree, before they are allocated.
struct Layout {
    Layout(GraphView graph, DecompositionView td, const HTreeOptions& options, Watch watch)
        : storage(std::make_unique_for_overwrite<Place[]>(td.num_bags())),
          places(storage.get(), static_cast<std::size_t>(td.num_bags())) {
        DecomposeOptions nested = options.nested;
        nested.threads = 1;
        if (nested.method != Method::min_degree && nested.method != Method::junction_tree)
            nested.method = Method::min_fill;
        if (options.terminal == Terminal::bag) {
            const std::int64_t nodes = td.num_bags() + static_cast<std::int64_t>(td.bag_nodes.size());
            if (nodes > options.max_nodes) throw TreeTooLargeError(options.max_nodes, td.width(), nodes, true);
            for (Place& place : places) place.plan = nullptr;
        } else {
            refuse_early(graph, td, options, nested, watch);
            for (int t = 0; t < std::max(1, options.nested.threads); ++t)
                planners.push_back(BagPlanner::borrow(nested, options.max_nodes, watch));
            plan_roots(graph, td, options, planners, places, watch);
        }
        total = assign_positions(td, places);
    }

    /// Whether every number in the arrays fits into an Index: none exceeds these two totals.
    template <typename Index>
    bool fits() const {
        return std::max(total.nodes, total.entries) <= std::numeric_limits<Index>::max();
    }

    std::vector<std::unique_ptr<BagPlanner>> planners;
    std::unique_ptr<Place[]> storage;
    std::span<Place> places;
    Totals total;
};

template <typename Index>
HTreeOf<Index> written(Layout&& layout, DecompositionView td, const HTreeOptions& options, Watch watch) {
    if (!layout.fits<Index>())
        throw InputError("Expected an H-tree whose numbers fit into " + std::to_string(8 * sizeof(Index)) +
                         " bits; got " + std::to_string(layout.total.nodes) + " nodes with " +
                         std::to_string(layout.total.entries) + " entries in their bags. Use 64 bits.");
    if (options.announce) options.announce(layout.total.nodes, 8 * static_cast<int>(sizeof(Index)));
    const std::span<Place> places = layout.places;
    const Totals total = layout.total;
    const std::int64_t roots = td.num_bags();
    const int threads = std::max(1, options.nested.threads);
    const auto root_edges = static_cast<std::int64_t>(2 * td.edges.size());
    const std::int64_t children = total.nodes - roots, edges = root_edges + 2 * children;
    HTreeOf<Index> tree;
    for (auto* buffer : {&tree.parent, &tree.level, &tree.kappa, &tree.component})
        *buffer = BufferOf<Index>(total.nodes);
    tree.bag_ptr = BufferOf<Index>(total.nodes + 1);
    tree.bag_nodes = BufferOf<Index>(total.entries);
    tree.edge_index = BufferOf<Index>(2 * edges);
    tree.edge_type = BufferOf<Index>(edges);
    tree.bag_ptr[total.nodes] = static_cast<Index>(total.entries);
    parallel_chunks(
        root_edges / 2, 16 * roots_per_chunk, threads,
        [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t i = begin; i < end; ++i) {
                const auto a = static_cast<Index>(places[td.edges[i][0]].root);
                const auto b = static_cast<Index>(places[td.edges[i][1]].root);
                const std::int64_t e = 2 * i;
                tree.edge_index[e] = tree.edge_index[edges + e + 1] = a;
                tree.edge_index[e + 1] = tree.edge_index[edges + e] = b;
                tree.edge_type[e] = tree.edge_type[e + 1] = 0;
            }
        },
        watch);
    parallel_chunks(
        roots, stamped_at_a_time(roots, total.nodes * static_cast<std::int64_t>(sizeof(Index)), threads), threads,
        [&](std::int64_t begin, std::int64_t end, int) {
            Stamper<Index> stamper(tree, root_edges, children, watch);
            for (std::int64_t r = begin; r < end; ++r) stamper.stamp(places[r], td.bag(r), td.order(r));
        },
        watch);
    for (auto& planner : layout.planners) BagPlanner::give_back(std::move(planner));
    if (!td.kinds.empty()) {
        tree.kind = BufferOf<Index>(total.nodes);
        std::fill_n(tree.kind.data.get(), total.nodes, 0);
        for (std::int64_t r = 0; r < roots; ++r) tree.kind[places[r].root] = td.kinds[r];
    }
    return tree;
}

}  // namespace

template <typename Index>
HTreeOf<Index> build_htree(GraphView graph, DecompositionView td, const HTreeOptions& options, Watch watch) {
    return written<Index>(Layout(graph, td, options, watch), td, options, watch);
}

template HTreeOf<std::int16_t> build_htree<std::int16_t>(GraphView, DecompositionView, const HTreeOptions&, Watch);
template NarrowHTree build_htree<std::int32_t>(GraphView, DecompositionView, const HTreeOptions&, Watch);
template HTree build_htree<std::int64_t>(GraphView, DecompositionView, const HTreeOptions&, Watch);

std::variant<NarrowHTree, HTree> build_fitting_htree(GraphView graph, DecompositionView td, const HTreeOptions& options,
                                                     Watch watch) {
    Layout layout(graph, td, options, watch);
    if (layout.fits<std::int32_t>()) return written<std::int32_t>(std::move(layout), td, options, watch);
    return written<std::int64_t>(std::move(layout), td, options, watch);
}

}  // namespace neuraltrees
