#include "neuraltrees/state_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bitset_elimination.hpp"
#include "neuraltrees/error.hpp"
#include "sparse_elimination.hpp"
#include "vertex_heap.hpp"

namespace neuraltrees {
namespace {

/// The score of a greedy elimination: size_power · log2(states of the bag) + fill_power · log2(1 + fill), plus at most
/// `noise`, drawn for every vertex from the seed. Simplicial vertices come first.
struct WeightedGreedy {
    double size_power, fill_power, noise;
};

// Each rule is best on some networks. With a negative power, fill counts less for a vertex with many neighbours.
constexpr WeightedGreedy rules[] = {{0, 1, 0}, {1, 0, 0}, {-0.25, 1, 1}, {0.5, 1, 0}, {0, 1, 1}};
constexpr double steps = 4096;  // scores are compared in units of 1/4096 bit
constexpr int num_rules = std::size(rules), most_runs = 1000, small_graph = 16, bitset_nodes = 1024;
// A unit of work in a greedy run takes as long as this many table entries; runs may take this share of the tables'
// time.
constexpr double entries_per_work = 3, search_share = 0.5;

/// Adds up the states of the maximal bags of an elimination.
class StateCount {
public:
    explicit StateCount(std::span<const double> log_states)
        : log_states_(log_states), first_(log_states.size(), -1), around_(log_states.size(), 0) {}

    /// Counts the bag of v and its neighbours, unless it is contained in the bag of a vertex eliminated before.
    void add(Vertex v, std::span<const Vertex> neighbours) {
        bool inside = false;
        for (std::int64_t i = first_[v]; i >= 0; i = left_[i].next) {
            auto& size = around_[left_[i].vertex];
            inside |= size == neighbours.size() + 1;
            size = 0;  // v is the first of that neighbourhood to go: the others have no part of it any more
        }
        double bits = log_states_[v];
        for (Vertex u : neighbours) {
            bits += log_states_[u];
            left_.push_back({v, first_[u]});
            first_[u] = static_cast<std::int64_t>(left_.size()) - 1;
        }
        around_[v] = neighbours.size();
        if (!inside) total += std::exp2(bits);
    }
    double total = 0;

private:
    struct Link {
        Vertex vertex;
        std::int64_t next;
    };
    std::span<const double> log_states_;
    std::vector<Link> left_;  // for every vertex, the vertices gone before that it was a neighbour of
    std::vector<std::int64_t> first_;
    std::vector<std::size_t> around_;
};

struct Found {
    std::vector<Vertex> order;
    double states;
    double work;  // scores that were computed, and neighbours that they looked at
};

/// Elimination on neighbour lists, for large graphs.
class ListElimination : public SparseElimination {
public:
    ListElimination(GraphView graph, std::span<const double> log_states, Watch& watch)
        : SparseElimination(graph, watch), log_size{this, log_states} {
        count_fill(graph);
    }
    ListElimination(const ListElimination& other)
        : SparseElimination(other), log_size{this, other.log_size.log_states} {}

    struct LogSize {
        ListElimination* graph;
        std::span<const double> log_states;
        double operator[](Vertex v) {
            double size = log_states[v];
            for (Vertex u : graph->neighbours(v)) size += log_states[u];
            return size;
        }
    } log_size;
};

/// Logarithms of small numbers to base 2, which most fills are.
double log2_of(std::int64_t count) {
    static const std::vector<double> known = [] {
        std::vector<double> values(4096);
        for (std::size_t i = 1; i < values.size(); ++i) values[i] = std::log2(static_cast<double>(i));
        return values;
    }();
    return count < static_cast<std::int64_t>(known.size()) ? known[count] : std::log2(static_cast<double>(count));
}

/// A greedy elimination of a graph; the order is empty if it has at least the allowed number of states, if that is
/// finite.
template <typename Elimination>
Found eliminate(Elimination state, std::span<const double> log_states, WeightedGreedy rule, std::uint64_t seed,
                double allowed, Watch& watch) {
    const Vertex n = state.remaining;
    VertexHeap heap(n, seed);
    auto score = [&](Vertex v) -> std::uint64_t {
        if (state.fill[v] == 0) return 0;
        double value = rule.fill_power * log2_of(1 + state.fill[v]);
        if (rule.size_power != 0) value += rule.size_power * state.log_size[v];
        if (rule.noise != 0)
            value += rule.noise * static_cast<double>(mix(seed, static_cast<std::uint64_t>(v)) >> 11) * 0x1p-53;
        return 1 + static_cast<std::uint64_t>(std::clamp(value * steps, 0.0, 2e9));
    };
    for (Vertex v = 0; v < n; ++v) heap.set(v, score(v));
    Found found;
    found.order.reserve(n);
    found.work = static_cast<double>(n);
    StateCount count(log_states);
    while (!heap.empty()) {
        (void)watch.late();
        const Vertex v = heap.top();
        heap.pop();
        count.add(v, state.neighbours(v));
        if (count.total >= allowed && std::isfinite(allowed)) return {{}, count.total, found.work};
        found.order.push_back(v);
        if (state.fill[v] == 0 && state.degree[v] == state.remaining - 1) {  // the others are a clique
            for (Vertex u : state.neighbours(v)) found.order.push_back(u);
            break;
        }
        const double degree = static_cast<double>(state.degree[v]);
        const auto& changed = state.eliminate(v);
        for (Vertex u : changed) heap.set(u, score(u));
        found.work += degree * degree + 4.0 * static_cast<double>(changed.size());
    }
    found.states = count.total;
    return found;
}

/// What is left of a graph when simplicial vertices are removed, again and again; their bags are in every
/// decomposition.
struct Kernel {
    std::vector<Vertex> removed, nodes;
    Graph graph;
};

Kernel remove_simplicial(GraphView graph, Watch& watch) {
    SparseElimination state(graph, watch);
    state.count_fill(graph);
    Kernel kernel;
    std::vector<Vertex> ready;
    for (Vertex v = 0; v < graph.num_nodes(); ++v)
        if (state.fill[v] == 0) ready.push_back(v);
    while (!ready.empty()) {
        const Vertex v = ready.back();
        ready.pop_back();
        if (!state.alive[v]) continue;
        kernel.removed.push_back(v);
        for (Vertex u : state.eliminate(v))
            if (state.fill[u] == 0) ready.push_back(u);
    }
    std::vector<Vertex> name(graph.num_nodes(), -1);
    for (Vertex v = 0; v < graph.num_nodes(); ++v)
        if (state.alive[v]) {
            name[v] = static_cast<Vertex>(kernel.nodes.size());
            kernel.nodes.push_back(v);
        }
    for (Vertex v : kernel.nodes) {
        for (Vertex u : state.neighbours(v)) kernel.graph.adj.push_back(name[u]);
        std::sort(kernel.graph.adj.begin() + kernel.graph.ptr.back(), kernel.graph.adj.end());
        kernel.graph.ptr.push_back(static_cast<std::int64_t>(kernel.graph.adj.size()));
    }
    return kernel;
}

/// The best order of a connected graph without simplicial vertices.
template <typename Elimination>
std::vector<Vertex> search(const Elimination& graph, std::span<const double> log_states, std::uint64_t seed,
                           Watch& watch) {
    Found best{{}, std::numeric_limits<double>::infinity(), 0};
    double work = 0;
    for (int run = 0; run < most_runs; ++run) {
        // Every rule has a turn on a small graph; a large one has further runs while they cost little.
        const bool small = run < num_rules && graph.remaining <= small_graph;
        if (run > 0 && !small && entries_per_work * work * (run + 1) / run > search_share * best.states) break;
        if (run >= num_rules && std::isinf(best.states)) break;  // more than 2^1024: no table will be made
        Found found = eliminate(graph, log_states, rules[run % num_rules], seed + run / num_rules, best.states, watch);
        work += found.work;
        if (best.order.empty() || (!found.order.empty() && found.states < best.states)) best = std::move(found);
    }
    return best.order;
}

}  // namespace

LeastStates least_states(GraphView graph, std::span<const double> log_states, std::uint64_t seed, Watch& watch) {
    if (log_states.size() != static_cast<std::size_t>(graph.num_nodes()))
        throw InputError("Expected the states of every node.");
    const Kernel kernel = remove_simplicial(graph, watch);
    std::vector<Vertex> order = kernel.removed;
    std::vector<double> bits;
    const Components parts = connected_components(kernel.graph);
    std::vector<Vertex> position(kernel.nodes.size(), -1);
    for (std::int64_t c = 0; c < parts.count(); ++c) {
        const auto members = parts.members(c);
        bits.clear();
        for (Vertex v : members) bits.push_back(log_states[kernel.nodes[v]]);
        const Graph part = induced_subgraph(kernel.graph, members, position);
        const auto found = part.view().num_nodes() <= bitset_nodes
                               ? search(BitsetElimination(part, bits), bits, seed, watch)
                               : search(ListElimination(part, bits, watch), bits, seed, watch);
        for (Vertex v : found) order.push_back(kernel.nodes[members[v]]);
    }
    LeastStates found{decomposition_from_order(graph, order), 0};
    for (std::int64_t b = 0; b < found.decomposition.view().num_bags(); ++b) {
        double size = 0;
        for (Vertex v : found.decomposition.view().bag(b)) size += log_states[v];
        found.states += std::exp2(size);
    }
    return found;
}

LeastStates least_states(ModelView model, std::span<const std::int64_t> observed, std::uint64_t seed, Watch& watch) {
    const std::size_t n = model.cardinalities.size();
    std::vector<char> fixed(n, 0);
    for (std::int64_t v : observed) fixed[v] = 1;
    std::vector<Vertex> name(n, -1), open;
    std::vector<double> bits;
    for (std::size_t v = 0; v < n; ++v)
        if (!fixed[v] && model.cardinalities[v] > 1) {
            name[v] = static_cast<Vertex>(open.size());
            open.push_back(static_cast<Vertex>(v));
            bits.push_back(std::log2(static_cast<double>(model.cardinalities[v])));
        }
    std::vector<std::int64_t> source, target;
    for (std::int64_t k = 0; k < model.num_potentials(); ++k) {
        const auto scope = model.scope(k);
        for (std::size_t i = 0; i < scope.size(); ++i)
            for (std::size_t j = i + 1; j < scope.size(); ++j)
                if (name[scope[i]] >= 0 && name[scope[j]] >= 0) {
                    source.push_back(name[scope[i]]);
                    target.push_back(name[scope[j]]);
                }
    }
    const Graph graph = graph_from_edges(source, target, static_cast<std::int64_t>(open.size()));
    LeastStates found = least_states(graph.view(), bits, seed, watch);
    for (Vertex& v : found.decomposition.bag_nodes) v = open[v];
    found.states = count_states(model, found.decomposition);
    return found;
}

double count_states(ModelView model, DecompositionView bags) {
    double total = 0;
    for (std::int64_t b = 0; b < bags.num_bags(); ++b) {
        double size = 1;
        for (Vertex v : bags.bag(b)) size *= static_cast<double>(model.cardinalities[v]);
        total += size;
    }
    return total;
}

}  // namespace neuraltrees
