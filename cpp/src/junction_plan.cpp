#include "neuraltrees/junction_plan.hpp"

#include <algorithm>
#include <numeric>

#include "neuraltrees/error.hpp"

namespace neuraltrees {
namespace {

using Node = JunctionPlan::Node;

// In a table of more than `large` entries, factors of at most 1 / `share` of them are first multiplied in parts of that
// size. A part has the last axes of the table, `tile` entries of them, and so meets the table in rows of that length.
constexpr std::int64_t large = 4096, share = 32, tile = 64;

class Planner {
public:
    Planner(ModelView model, DecompositionView bags) : model_(model), bags_(bags) {}

    JunctionPlan plan() {
        const std::int64_t n = static_cast<std::int64_t>(model_.cardinalities.size());
        plan_.cardinalities.assign(model_.cardinalities.begin(), model_.cardinalities.end());
        plan_.marginal_at.assign(n + 1, 0);
        std::partial_sum(plan_.cardinalities.begin(), plan_.cardinalities.end(), plan_.marginal_at.begin() + 1);
        top_.assign(n, -1);
        root();
        rank();
        for (const std::int64_t b : bag_of_) add_bag(b);
        for (std::int64_t k = 0; k < model_.num_potentials(); ++k) add_potential(k);
        for (std::size_t c = 0; c < bag_of_.size(); ++c)
            if (const int p = plan_.nodes[c].parent; p >= 0) inputs_[p].push_back({false, static_cast<int>(c)});
        for (std::size_t c = 0; c < bag_of_.size(); ++c) add_factors(static_cast<int>(c));
        plan_readings();
        lay_out();
        return std::move(plan_);
    }

private:
    struct Input {
        bool is_potential;
        int number;
    };

    ModelView model_;
    DecompositionView bags_;
    JunctionPlan plan_;
    std::vector<std::int64_t> bag_of_;
    std::vector<int> parent_of_;
    std::vector<int> top_;             // the first node that has a variable
    std::vector<std::int64_t> place_;  // of a variable in the order of all axes
    std::vector<std::vector<Input>> inputs_;

    /// The bags of every tree from its root down, with the parent of each.
    void root() {
        const std::int64_t count = bags_.num_bags();
        std::vector<std::int64_t> ptr(count + 1, 0);
        for (const auto& edge : bags_.edges) ++ptr[edge[0] + 1], ++ptr[edge[1] + 1];
        std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
        std::vector<Vertex> near(ptr.back());
        std::vector<std::int64_t> next(ptr.begin(), ptr.end() - 1);
        for (const auto& [a, b] : bags_.edges) near[next[a]++] = b, near[next[b]++] = a;
        std::vector<char> seen(count, 0);
        std::vector<std::pair<std::int64_t, int>> waiting;
        for (std::int64_t first = 0; first < count; ++first) {
            if (!seen[first]) waiting.emplace_back(first, -1);
            while (!waiting.empty()) {
                const auto [b, above] = waiting.back();
                waiting.pop_back();
                seen[b] = 1;
                const int c = static_cast<int>(bag_of_.size());
                for (std::int64_t i = ptr[b]; i < ptr[b + 1]; ++i)
                    if (!seen[near[i]]) waiting.emplace_back(near[i], c);
                bag_of_.push_back(b);
                parent_of_.push_back(above);
                for (Vertex v : bags_.bag(b))
                    if (top_[v] < 0) top_[v] = c;
            }
        }
    }

    /// Variables of many and large tables come last: those that messages keep run along memory.
    void rank() {
        const auto n = static_cast<Vertex>(model_.cardinalities.size());
        std::vector<double> weight(n, 0);
        for (const std::int64_t b : bag_of_) {
            double size = 1;
            for (Vertex v : bags_.bag(b)) size *= static_cast<double>(model_.cardinalities[v]);
            for (Vertex v : bags_.bag(b)) weight[v] += size;
        }
        std::vector<Vertex> sorted(n);
        std::iota(sorted.begin(), sorted.end(), 0);
        std::stable_sort(sorted.begin(), sorted.end(), [&](Vertex a, Vertex b) { return weight[a] < weight[b]; });
        place_.resize(n);
        for (Vertex i = 0; i < n; ++i) place_[sorted[i]] = i;
    }

    Axes axes(std::vector<Vertex> variables) {
        std::sort(variables.begin(), variables.end(), [&](Vertex a, Vertex b) { return place_[a] < place_[b]; });
        return make_axes(std::move(variables), model_.cardinalities);
    }

    void add_bag(std::int64_t b) {
        const int c = static_cast<int>(plan_.nodes.size());
        Node node;
        node.parent = parent_of_[c];
        const auto bag = bags_.bag(b);
        node.axes = axes({bag.begin(), bag.end()});
        std::vector<Vertex> kept;
        for (Vertex v : node.axes.variables)
            if (top_[v] != c) kept.push_back(v);
        node.sums = kept.size() < node.axes.variables.size();
        node.separator = make_axes(std::move(kept), model_.cardinalities);
        if (node.sums) node.to_separator = make_walk(node.axes, node.separator.variables, model_.cardinalities);
        plan_.nodes.push_back(std::move(node));
        inputs_.emplace_back();
    }

    void add_potential(std::int64_t k) {
        JunctionPlan::Potential potential;
        const auto given = model_.scope(k);
        std::vector<std::int64_t> step(given.size());
        std::int64_t inner = 1;
        for (std::size_t i = given.size(); i-- > 0; inner *= model_.cardinalities[given[i]]) step[i] = inner;
        potential.given = inner;
        std::vector<std::size_t> open;
        for (std::size_t i = 0; i < given.size(); ++i) {
            if (top_[given[i]] < 0) {
                potential.fixed.emplace_back(given[i], step[i]);
            } else {
                open.push_back(i);
                potential.node = std::max(potential.node, top_[given[i]]);
            }
        }
        std::sort(open.begin(), open.end(), [&](auto a, auto b) { return place_[given[a]] < place_[given[b]]; });
        for (std::size_t i : open) {
            potential.scope.push_back(given[i]);
            potential.lengths.push_back(model_.cardinalities[given[i]]);
            potential.steps.push_back(step[i]);
            potential.size *= potential.lengths.back();
        }
        if (potential.node >= 0) inputs_[potential.node].push_back({true, static_cast<int>(k)});
        potential.at = plan_.potential_entries;
        plan_.potential_entries += potential.size;
        plan_.potentials.push_back(std::move(potential));
    }

    const std::vector<Vertex>& scope(Input input) const {
        return input.is_potential ? plan_.potentials[input.number].scope
                                  : plan_.nodes[input.number].separator.variables;
    }
    std::int64_t states(const std::vector<Vertex>& variables) const {
        std::int64_t size = 1;
        for (Vertex v : variables) size *= model_.cardinalities[v];
        return size;
    }

    /// A node below another on some of its variables.
    int add_node(int parent, std::vector<Vertex> variables, bool is_view) {
        Node node;
        node.parent = parent;
        node.is_bag = node.sums = false;
        node.is_view = is_view;
        node.axes = axes(std::move(variables));
        node.separator = node.axes;
        plan_.nodes.push_back(std::move(node));
        inputs_.emplace_back();
        return static_cast<int>(plan_.nodes.size()) - 1;
    }

    /// The factors of a node out of its inputs: small ones that share variables in parts.
    void add_factors(int c) {
        std::vector<Input> inputs = std::move(inputs_[c]);
        const std::int64_t limit = plan_.nodes[c].axes.size / share;
        std::vector<Input> direct, small;
        for (Input input : inputs) {
            const bool part = plan_.nodes[c].axes.size > large && states(with_tile(c, scope(input))) <= limit;
            (part ? small : direct).push_back(input);
        }
        if (small.size() < 2) {
            direct.insert(direct.end(), small.begin(), small.end());
        } else {
            for (auto& [variables, members] : parts(c, small, limit)) {
                const int part = add_node(c, variables, false);
                for (Input member : members)
                    if (!member.is_potential) plan_.nodes[member.number].parent = part;
                inputs_[part] = members;
                direct.push_back({false, part});
                add_factors(part);
            }
        }
        // The largest first: it is copied, the others are multiplied.
        std::stable_sort(direct.begin(), direct.end(),
                         [&](Input a, Input b) { return states(scope(a)) > states(scope(b)); });
        for (Input input : direct) {
            Node& node = plan_.nodes[c];
            if (input.is_potential) {
                plan_.potentials[input.number].node = c;
                plan_.potentials[input.number].factor = static_cast<int>(node.factors.size());
            }
            node.factors.push_back(
                {input.is_potential, input.number, make_walk(node.axes, scope(input), model_.cardinalities)});
        }
    }

    std::vector<Vertex> with_tile(int c, const std::vector<Vertex>& variables) const {
        std::vector<Vertex> both = variables;
        std::int64_t size = 1;
        const auto& all = plan_.nodes[c].axes.variables;
        for (std::size_t i = all.size(); i-- > 0 && size < tile;) {
            size *= model_.cardinalities[all[i]];
            if (std::find(both.begin(), both.end(), all[i]) == both.end()) both.push_back(all[i]);
        }
        return both;
    }

    struct Part {
        std::vector<Vertex> variables;
        std::vector<Input> members;
    };

    /// Puts every input, the widest first, where it adds the fewest states within the limit.
    std::vector<Part> parts(int c, std::vector<Input> inputs, std::int64_t limit) const {
        std::stable_sort(inputs.begin(), inputs.end(),
                         [&](Input a, Input b) { return scope(a).size() > scope(b).size(); });
        std::vector<Part> found;
        for (Input input : inputs) {
            Part* best = nullptr;
            std::vector<Vertex> grown;
            double least = 0;
            for (Part& part : found) {
                std::vector<Vertex> both = part.variables;
                for (Vertex v : scope(input))
                    if (std::find(both.begin(), both.end(), v) == both.end()) both.push_back(v);
                const std::int64_t size = states(both);
                const double growth = static_cast<double>(size) / static_cast<double>(states(part.variables));
                if (size > limit || (best != nullptr && growth >= least)) continue;
                best = &part;
                least = growth;
                grown = std::move(both);
            }
            if (best == nullptr) {
                found.push_back({with_tile(c, scope(input)), {input}});
            } else {
                best->variables = std::move(grown);
                best->members.push_back(input);
            }
        }
        return found;
    }

    /// Every marginal is read from the smallest table that has the variable.
    void plan_readings() {
        const std::size_t n = model_.cardinalities.size(), count = plan_.nodes.size();
        std::vector<std::int64_t> least(n, 0);
        std::vector<int> from(n, -1);
        std::vector<std::vector<Vertex>> of_table(count), of_separator(count);
        for (std::size_t c = 0; c < count; ++c)
            for (Vertex v : plan_.nodes[c].separator.variables)
                if (from[v] < 0 || plan_.nodes[c].separator.size < least[v]) {
                    least[v] = plan_.nodes[c].separator.size;
                    from[v] = static_cast<int>(c);
                }
        for (std::size_t v = 0; v < n; ++v) {
            if (top_[v] < 0) continue;
            if (from[v] < 0) {
                of_table[top_[v]].push_back(static_cast<Vertex>(v));
            } else {
                (plan_.nodes[from[v]].sums ? of_separator : of_table)[from[v]].push_back(static_cast<Vertex>(v));
            }
        }
        for (std::size_t c = 0; c < count; ++c) {
            int source = static_cast<int>(c);
            if (of_table[c].size() > 1 && states(of_table[c]) < plan_.nodes[c].axes.size / 4) {
                source = add_node(source, of_table[c], true);
                plan_.nodes[c].views.push_back(
                    {false, source,
                     make_walk(plan_.nodes[c].axes, plan_.nodes[source].axes.variables, model_.cardinalities)});
            }
            Node& node = plan_.nodes[source];
            for (Vertex v : of_table[c])
                node.of_table.push_back({v, make_walk(node.axes, {&v, 1}, model_.cardinalities)});
            Node& own = plan_.nodes[c];
            for (Vertex v : of_separator[c])
                own.of_separator.push_back({v, make_walk(own.separator, {&v, 1}, model_.cardinalities)});
        }
    }

    /// The order of the nodes, and the places of their tables in memory.
    void lay_out() {
        const int count = static_cast<int>(plan_.nodes.size());
        std::vector<int> first(count, -1), next(count, -1), waiting;
        for (int c = count; c-- > 0;) {
            const int p = plan_.nodes[c].parent;
            if (p < 0)
                waiting.push_back(c);
            else
                next[c] = first[p], first[p] = c;
        }
        while (!waiting.empty()) {
            const int c = waiting.back();
            waiting.pop_back();
            plan_.order.push_back(c);
            for (int child = first[c]; child >= 0; child = next[child]) waiting.push_back(child);
        }
        std::int64_t at = plan_.potential_entries;
        for (int c : plan_.order) {
            Node& node = plan_.nodes[c];
            node.table_at = node.message_at = at;
            at += node.axes.size;
            if (node.sums) {
                node.message_at = at;
                at += node.separator.size;
            }
        }
        plan_.entries = at;
    }
};

}  // namespace

JunctionPlan plan_junction(ModelView model, DecompositionView decomposition) {
    return Planner(model, decomposition).plan();
}

}  // namespace neuraltrees
