#include "neuraltrees/htree.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

#include "neuraltrees/bag_plan.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/parallel.hpp"

namespace neuraltrees {
namespace {

constexpr std::int64_t roots_a_chunk = 512;

/// G[bag] for a bag of at most 64 sorted vertices. A hub is not scanned: its neighbours in the bag find it, and two hubs look
/// each other up.
SmallGraph small_bag_graph(GraphView graph, std::span<const Vertex> bag) {
    SmallGraph out;
    out.n = static_cast<int>(bag.size());
    std::fill_n(out.row.begin(), out.n, 0);
    auto join = [&](int i, int j) {
        out.row[i] |= std::uint64_t{1} << j;
        out.row[j] |= std::uint64_t{1} << i;
    };
    const auto scanned = static_cast<std::int64_t>(8 * bag.size());
    for (int i = 0; i < out.n; ++i) {
        const auto row = graph.neighbours(bag[i]);
        if (static_cast<std::int64_t>(row.size()) <= scanned) {
            auto it = row.begin();
            for (int j = 0; j < out.n; ++j) {
                while (it != row.end() && *it < bag[j]) ++it;
                if (it == row.end()) break;
                if (*it == bag[j]) join(i, j);
            }
        } else {
            for (int j = i + 1; j < out.n; ++j)
                if (graph.degree(bag[j]) > scanned && std::binary_search(row.begin(), row.end(), bag[j])) join(i, j);
        }
    }
    return out;
}

/// Asks for the rows of a bag that will be needed soon: neighbouring bags may lie anywhere in a large graph.
void prefetch_rows(GraphView graph, DecompositionView td, std::int64_t bag, std::int64_t end) {
    constexpr std::int64_t far = 8, near = 4;
    if (bag + far < end)
        for (Vertex v : td.bag(bag + far)) __builtin_prefetch(&graph.ptr[v]);
    if (bag + near < end)
        for (Vertex v : td.bag(bag + near)) __builtin_prefetch(graph.adj.data() + graph.ptr[v]);
}

/// Where the nodes of a root bag and of what hangs from it go.
struct Place {
    const BagPlan* plan;
    std::int64_t component;
    std::int64_t root, below;            // node numbers of the bag and of the first node below
    std::int64_t root_entry, below_entry;  // where their bags go in bag_nodes
    std::int64_t below_rank;             // how many nodes with a parent come before `below`
};

class Stamper {
public:
    Stamper(HTree& tree, std::int64_t root_edges, std::int64_t children)
        : t_(tree), edges_(root_edges + 2 * children), up_(root_edges), down_(root_edges + children) {}

    void stamp(const Place& place, std::span<const Vertex> bag) {
        const std::int64_t component = place.component;
        node_ = place.below;
        entry_ = place.below_entry;
        rank_ = place.below_rank;
        write(place.root, -1, 0, -1, component, place.root_entry);
        for (std::size_t i = 0; i < bag.size(); ++i) t_.bag_nodes[place.root_entry + static_cast<std::int64_t>(i)] = bag[i];
        open(place.plan, place.root);
        while (!stack_.empty()) {
            const auto [child, parent] = stack_.back();
            stack_.pop_back();
            const std::int64_t above = t_.bag_ptr[parent], at = entry_;
            const std::int64_t id = append(parent, -1, component);
            for (Vertex m : child->members) t_.bag_nodes[entry_++] = t_.bag_nodes[above + m];
            if (child->plan->children.empty()) {
                const std::int64_t end = entry_;
                for (std::int64_t e = at; e < end; ++e) leaf(id, t_.bag_nodes[e], component);
            } else {
                open(child->plan, id);
            }
        }
    }

private:
    void open(const BagPlan* plan, std::int64_t id) {
        if (plan->children.empty()) {
            const std::int64_t begin = t_.bag_ptr[id], end = begin + plan->entries / 2;
            for (std::int64_t e = begin; e < end; ++e) leaf(id, t_.bag_nodes[e], t_.component[id]);
            return;
        }
        for (auto it = plan->children.rbegin(); it != plan->children.rend(); ++it) stack_.emplace_back(&*it, id);
    }
    void leaf(std::int64_t parent, std::int64_t vertex, std::int64_t component) {
        append(parent, vertex, component);
        t_.bag_nodes[entry_++] = vertex;
    }
    std::int64_t append(std::int64_t parent, std::int64_t kappa, std::int64_t component) {
        const std::int64_t id = node_++;
        write(id, parent, t_.level[parent] + 1, kappa, component, entry_);
        edge(up_ + rank_, id, parent, 1);
        edge(down_ + rank_, parent, id, 2);
        ++rank_;
        return id;
    }
    void write(std::int64_t id, std::int64_t parent, std::int64_t level, std::int64_t kappa, std::int64_t component,
               std::int64_t entry) {
        t_.parent[id] = parent;
        t_.level[id] = level;
        t_.kappa[id] = kappa;
        t_.component[id] = component;
        t_.bag_ptr[id] = entry;
    }
    void edge(std::int64_t e, std::int64_t source, std::int64_t target, std::int64_t type) {
        t_.edge_index[e] = source;
        t_.edge_index[edges_ + e] = target;
        t_.edge_type[e] = type;
    }

    HTree& t_;
    std::int64_t edges_, up_, down_, node_ = 0, entry_ = 0, rank_ = 0;
    std::vector<std::pair<const BagPlan::Child*, std::int64_t>> stack_;
};

}  // namespace

HTree build_htree(GraphView graph, DecompositionView td, const HTreeOptions& options, Interrupt& interrupt) {
    const std::int64_t roots = td.num_bags();
    const int threads = std::max(1, options.nested.threads);
    DecomposeOptions nested = options.nested;
    nested.threads = 1;
    if (nested.method == Method::exact || nested.method == Method::best) nested.method = Method::min_fill;

    std::vector<std::unique_ptr<BagPlanner>> planners;
    for (int t = 0; t < threads; ++t) planners.push_back(std::make_unique<BagPlanner>(nested, options.max_nodes, interrupt));
    std::vector<std::vector<Vertex>> positions(threads);
    const auto places = std::make_unique_for_overwrite<Place[]>(roots);
    std::atomic<std::int64_t> total{0};
    parallel_chunks(roots, roots_a_chunk, threads, [&](std::int64_t begin, std::int64_t end, int worker) {
        interrupt.check();
        std::int64_t nodes = 0;
        for (std::int64_t r = begin; r < end; ++r) {
            prefetch_rows(graph, td, r, end);
            const auto bag = td.bag(r);
            if (bag.size() <= SmallGraph::max_nodes) {
                places[r].plan = planners[worker]->plan(small_bag_graph(graph, bag));
            } else {
                positions[worker].resize(graph.num_nodes(), -1);
                places[r].plan = planners[worker]->plan(induced_subgraph(graph, bag, positions[worker]));
            }
            nodes += places[r].plan->nodes;
        }
        if ((total += nodes) > options.max_nodes) throw TreeTooLargeError(options.max_nodes, td.width());
    });

    // Roots of one component stand together; a root with no edge to an earlier one begins the next component.
    std::vector<char> joined(roots, 0);
    for (auto [a, b] : td.edges) joined[std::max(a, b)] = 1;
    std::vector<std::int64_t> first_root;
    for (std::int64_t r = 0; r < roots; ++r)
        if (!joined[r]) first_root.push_back(r);
    const auto components = static_cast<std::int64_t>(first_root.size());
    first_root.push_back(roots);
    std::int64_t node = 0, entry = 0;
    for (std::int64_t c = 0; c < components; ++c) {
        for (std::int64_t r = first_root[c]; r < first_root[c + 1]; ++r) {
            places[r].component = c;
            places[r].root = node++;
            places[r].root_entry = entry;
            entry += static_cast<std::int64_t>(td.bag(r).size());
        }
        for (std::int64_t r = first_root[c]; r < first_root[c + 1]; ++r) {
            places[r].below = node;
            places[r].below_entry = entry;
            places[r].below_rank = node - first_root[c + 1];
            node += places[r].plan->nodes - 1;
            entry += places[r].plan->entries - static_cast<std::int64_t>(td.bag(r).size());
        }
    }

    const auto root_edges = static_cast<std::int64_t>(2 * td.edges.size());
    const std::int64_t children = node - roots, edges = root_edges + 2 * children;
    HTree tree;
    for (Buffer* buffer : {&tree.parent, &tree.level, &tree.kappa, &tree.component}) *buffer = Buffer(node);
    tree.bag_ptr = Buffer(node + 1);
    tree.bag_nodes = Buffer(entry);
    tree.edge_index = Buffer(2 * edges);
    tree.edge_type = Buffer(edges);
    tree.bag_ptr[node] = entry;
    parallel_chunks(root_edges / 2, 16 * roots_a_chunk, threads, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t a = places[td.edges[i][0]].root, b = places[td.edges[i][1]].root, e = 2 * i;
            tree.edge_index[e] = tree.edge_index[edges + e + 1] = a;
            tree.edge_index[e + 1] = tree.edge_index[edges + e] = b;
            tree.edge_type[e] = tree.edge_type[e + 1] = 0;
        }
    });
    parallel_chunks(roots, roots_a_chunk, threads, [&](std::int64_t begin, std::int64_t end, int) {
        Stamper stamper(tree, root_edges, children);
        for (std::int64_t r = begin; r < end; ++r) stamper.stamp(places[r], td.bag(r));
    });
    return tree;
}

}  // namespace neuraltrees
