#include "neuraltrees/state_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "neuraltrees/weighted.hpp"
#include "sparse_elimination.hpp"
#include "vertex_heap.hpp"

namespace neuraltrees {
namespace {

// Each wins on some networks. A negative power takes much fill among many neighbours for less than the same fill among
// few.
constexpr WeightedGreedy rules[] = {{0, 1, 0}, {1, 0, 0}, {-0.25, 1, 1}, {0.5, 1, 0}, {0, 1, 1}};
constexpr double steps = 4096;  // scores are compared in units of 1/4096 bit
constexpr int most_runs = 400;
// One greedy run costs about as much as so many table entries do for each vertex and edge of the graph.
constexpr double entries_a_run = 60;

/// Adds up the states of the maximal bags of an elimination.
class StateCount {
public:
    explicit StateCount(std::span<const double> log_states)
        : log_states_(log_states), first_(log_states.size(), -1), around_(log_states.size(), 0) {}

    /// Counts the bag of v and its neighbours, unless it is all that a vertex left behind that went before.
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
};

/// A greedy elimination of a graph; the order is empty if it has more states than are allowed.
Found eliminate(GraphView graph, std::span<const double> log_states, WeightedGreedy rule, std::uint64_t seed,
                double allowed, Interrupt& interrupt) {
    const Vertex n = graph.num_nodes();
    SparseElimination state(graph);
    VertexHeap heap(n, seed);
    auto score = [&](Vertex v) -> std::uint64_t {
        if (state.fill[v] == 0) return 0;
        double value = rule.fill_power * std::log2(1.0 + static_cast<double>(state.fill[v]));
        if (rule.size_power != 0) {
            double size = log_states[v];
            for (Vertex u : state.neighbours(v)) size += log_states[u];
            value += rule.size_power * size;
        }
        if (rule.noise != 0)
            value += rule.noise * static_cast<double>(mix(seed, static_cast<std::uint64_t>(v)) >> 11) * 0x1p-53;
        return 1 + static_cast<std::uint64_t>(std::clamp(value * steps, 0.0, 2e9));
    };
    for (Vertex v = 0; v < n; ++v) heap.set(v, score(v));
    Found found;
    found.order.reserve(n);
    StateCount count(log_states);
    while (!heap.empty()) {
        interrupt.check();
        const Vertex v = heap.top();
        heap.pop();
        count.add(v, state.neighbours(v));
        if (!(count.total < allowed)) return {{}, count.total};
        found.order.push_back(v);
        if (state.fill[v] == 0 && state.degree[v] == state.remaining - 1) {  // the others are a clique
            for (Vertex u : state.neighbours(v)) found.order.push_back(u);
            break;
        }
        for (Vertex u : state.eliminate(v)) heap.set(u, score(u));
    }
    found.states = count.total;
    return found;
}

/// The order of the vertices that simplicial ones leave, and how many there are of these; their bags are in every
/// decomposition.
struct Kernel {
    std::vector<Vertex> removed, nodes;
    Graph graph;
};

Kernel remove_simplicial(GraphView graph) {
    SparseElimination state(graph);
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
std::vector<Vertex> search(GraphView graph, std::span<const double> log_states, std::uint64_t seed,
                           Interrupt& interrupt) {
    const double cost = entries_a_run * static_cast<double>(graph.num_nodes() + graph.num_edges());
    Found best{{}, std::numeric_limits<double>::infinity()};
    for (int run = 0; run < most_runs; ++run) {
        const bool first = run < static_cast<int>(std::size(rules));
        if (!first && run * cost > best.states) break;
        const auto& rule = rules[run % std::size(rules)];
        Found found = eliminate(graph, log_states, rule, seed + run / std::size(rules), best.states, interrupt);
        if (!found.order.empty()) best = std::move(found);
    }
    if (!best.order.empty()) return best.order;
    return eliminate(graph, log_states, rules[0], seed, std::numeric_limits<double>::max(), interrupt).order;
}

}  // namespace

TreeDecomposition least_states(GraphView graph, std::span<const double> log_states, std::uint64_t seed,
                               Interrupt& interrupt) {
    const Kernel kernel = remove_simplicial(graph);
    std::vector<Vertex> order = kernel.removed;
    std::vector<double> bits;
    const Components parts = connected_components(kernel.graph);
    std::vector<Vertex> position(kernel.nodes.size(), -1);
    for (std::int64_t c = 0; c < parts.count(); ++c) {
        const auto members = parts.members(c);
        bits.clear();
        for (Vertex v : members) bits.push_back(log_states[kernel.nodes[v]]);
        const Graph part = induced_subgraph(kernel.graph, members, position);
        for (Vertex v : search(part, bits, seed, interrupt)) order.push_back(kernel.nodes[members[v]]);
    }
    return decomposition_from_order(graph, order);
}

TreeDecomposition least_states(ModelView model, std::span<const std::uint8_t> fixed, std::uint64_t seed,
                               Interrupt& interrupt) {
    std::vector<Vertex> name(fixed.size(), -1), open;
    std::vector<double> bits;
    for (std::size_t v = 0; v < fixed.size(); ++v)
        if (!fixed[v]) {
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
    TreeDecomposition found = least_states(graph.view(), bits, seed, interrupt);
    for (Vertex& v : found.bag_nodes) v = open[v];
    return found;
}

}  // namespace neuraltrees
