#pragma once

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "neuraltrees/bits.hpp"
#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// The graph as bitset rows, with the operations of the search.
template <std::size_t W>
struct BitGraph {
    using Set = VertexSet<W>;
    std::vector<Set> row;
    Set all;

    explicit BitGraph(GraphView graph) : row(graph.num_nodes()), all(Set::first(graph.num_nodes())) {
        for (Vertex v = 0; v < graph.num_nodes(); ++v)
            for (Vertex u : graph.neighbours(v)) row[v].insert(u);
    }
    Vertex size() const { return static_cast<Vertex>(row.size()); }

    /// Grows `component` inside `rest` from its members; returns its open neighbourhood N(component).
    Set flood(Set& component, const Set& rest) const {
        Set reach, todo = component;
        while (!todo.empty()) {
            component |= todo;
            todo.for_each([&](Vertex u) { reach |= row[u]; });
            todo = (reach & rest) - component;
        }
        return reach - component;
    }
    /// Calls f(C, N(C)) for the connected components C of G[rest].
    template <typename F>
    void for_each_component(Set rest, F&& f) const {
        while (!rest.empty()) {
            Set component;
            component.insert(rest.min());
            const Set border = flood(component, rest);
            rest -= component;
            f(component, border);
        }
    }
};

/// Decides whether there is a tree decomposition of width at most k. By Bouchitté and Todinca, some optimal
/// decomposition has only potential maximal cliques as bags. A component C of G - K with N(C) ⊂ K is *feasible* if
/// G[N[C]] has a decomposition of width at most k with a bag that contains N(C).
///
/// Let K be a bag, and D a component of G - K, the *outlet*. If every other component of G - K is feasible or has its
/// border inside N(D), then the component of G - N(D) that contains K - N(D) is feasible. If all components of G - K
/// are feasible, the answer is yes. Bags come from two sources, in any mixture:
///
/// - `offer`: bags of triangulations found by a heuristic; the search then recombines the best parts of all of them;
/// - `explore`: Tamaki's positive-instance-driven enumeration, which is exhaustive. Take a bag K with outlet D and a
///   vertex v ∈ K - N(D). Every other member of K is a neighbour of v or shares with it the border of a feasible
///   component. With A the union of the feasible components that have v on their border, K = N(A) ∪ (N(v) - A), or K =
///   N[v] if there is none. So it suffices to combine feasible components that share a border vertex. And since some
///   bag leaves only components of at most n/2 vertices, larger ones are never needed.
template <std::size_t W>
class BlockSearch {
public:
    using Set = VertexSet<W>;
    enum class Answer { yes, no, unknown };

    BlockSearch(const BitGraph<W>& graph, int k) : g_(graph), k_(k) {}

    bool solved() const { return root_ >= 0; }

    /// The approximate number of steps that an offer takes.
    std::int64_t offer_cost() const { return 1 + static_cast<std::int64_t>(W) * g_.size() / 4; }

    /// Registers K if it is a new potential maximal clique of at most k + 1 vertices.
    void offer(const Set& bag) {
        if (solved() || bag.size() > k_ + 1 || !known_.insert(bag).second) return;
        ++offered_;
        borders_.clear();
        parts_.clear();
        bool full = false;
        g_.for_each_component(g_.all - bag, [&](const Set& part, const Set& border) {
            full |= border == bag;
            parts_.push_back(part);
            borders_.push_back(border);
        });
        if (full || !cliquish(bag)) return;
        const auto id = static_cast<std::int32_t>(bags_.size());
        bags_.push_back({bag, {}, 0});
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const std::int32_t block = block_of(parts_[i], borders_[i]);
            bags_[id].parts.push_back(block);
            if (blocks_[block].bag >= 0) continue;
            ++bags_[id].open;
            blocks_[block].waiting.push_back(id);
        }
        settle(id);
        propagate();
    }

    /// Enumerates until the answer is known or the watch is late.
    Answer explore(Watch& watch) {
        if (!started_) {
            started_ = true;
            for (Vertex v = 0; v < g_.size() && !solved(); ++v) {
                watch.check(offer_cost());
                Set closed = g_.row[v];
                closed.insert(v);
                offer(closed);
            }
        }
        while (!solved() && explored_ < feasible_.size()) {
            const Set part = blocks_[feasible_[explored_]].part, border = blocks_[feasible_[explored_]].border;
            ++explored_;
            const std::size_t before = unions_.size();
            add_union({part, border, border});
            for (std::size_t i = 0; i < before; ++i) {
                if (i == 0 ? watch.late() : watch.late(4 + std::exchange(offered_, 0) * offer_cost())) {
                    --explored_;
                    return solved() ? Answer::yes : Answer::unknown;
                }
                const Union& u = unions_[i];
                if (!u.common.intersects(border) || u.inner.intersects(part) || u.border.intersects(part)) continue;
                const Set joint = u.border | border;
                if (joint.size() > k_ + 1) continue;
                add_union({u.inner | part, joint, u.common & border});
                if (solved()) break;
            }
            if (unions_.size() > max_unions) return solved() ? Answer::yes : Answer::unknown;
        }
        return solved() ? Answer::yes : Answer::no;
    }

    /// An elimination order of width at most k; only once solved.
    std::vector<Vertex> order() const {
        std::vector<Vertex> reversed;
        Set placed;
        std::vector<std::pair<std::int32_t, Set>> stack{{root_, g_.all}};
        while (!stack.empty()) {
            const auto [bag, inside] = stack.back();
            stack.pop_back();
            (bags_[bag].nodes - placed).for_each([&](Vertex v) { reversed.push_back(v); });
            placed |= bags_[bag].nodes;
            for (std::int32_t block : bags_[bag].parts)
                if (blocks_[block].part.subset_of(inside)) stack.emplace_back(blocks_[block].bag, blocks_[block].part);
        }
        return {reversed.rbegin(), reversed.rend()};
    }

private:
    static constexpr std::size_t max_unions = 4'000'000 / W;

    struct Block {
        Set part, border;
        std::int32_t bag = -1;              // a bag that makes it feasible
        std::vector<std::int32_t> waiting;  // bags that have it as an open part
    };
    struct Bag {
        Set nodes;
        std::vector<std::int32_t> parts;
        std::int32_t open;  // parts that are not known to be feasible
    };
    struct Union {
        Set inner, border, common;  // A, N(A), and the vertices on the border of every part of A
    };

    /// Whether every pair in the bag is an edge, or inside the border of one component of the rest.
    bool cliquish(const Set& bag) const {
        bool good = true;
        bag.for_each([&](Vertex v) {
            if (!good) return;
            Set seen = g_.row[v];
            seen.insert(v);
            for (const Set& border : borders_)
                if (border.contains(v)) seen |= border;
            good = bag.subset_of(seen);
        });
        return good;
    }

    std::int32_t block_of(const Set& part, const Set& border) {
        const auto [it, fresh] = block_ids_.try_emplace(part, static_cast<std::int32_t>(blocks_.size()));
        if (fresh) blocks_.push_back({part, border, -1, {}});
        return it->second;
    }

    /// Checks whether a bag, after a change of its open parts, answers yes or makes another component feasible.
    void settle(std::int32_t id) {
        if (solved()) return;
        if (bags_[id].open == 0) {
            root_ = id;
            return;
        }
        // The outlet: the open component whose border contains the borders of all other open ones.
        std::int32_t outlet = -1;
        int widest = -1;
        for (std::int32_t block : bags_[id].parts)
            if (blocks_[block].bag < 0 && blocks_[block].border.size() > widest) {
                outlet = block;
                widest = blocks_[block].border.size();
            }
        if (outlet < 0) return;
        const Set gate = blocks_[outlet].border;
        for (std::int32_t block : bags_[id].parts)
            if (blocks_[block].bag < 0 && !blocks_[block].border.subset_of(gate)) return;
        Set side = bags_[id].nodes - gate;
        const Set border = g_.flood(side, g_.all - gate);
        if (2 * side.size() > g_.size()) return;
        const std::int32_t other = block_of(side, border);
        if (blocks_[other].bag >= 0) return;
        blocks_[other].bag = id;
        feasible_.push_back(other);
    }

    void propagate() {
        for (; propagated_ < feasible_.size() && !solved(); ++propagated_) {
            const std::vector<std::int32_t> waiting = std::move(blocks_[feasible_[propagated_]].waiting);
            for (std::int32_t id : waiting) {
                --bags_[id].open;
                settle(id);
            }
        }
    }

    void add_union(const Union& u) {
        if (!union_ids_.insert(u.inner).second) return;
        unions_.push_back(u);
        u.common.for_each([&](Vertex v) { offer(u.border | (g_.row[v] - u.inner)); });
    }

    const BitGraph<W>& g_;
    int k_;
    std::int32_t root_ = -1;
    bool started_ = false;
    std::vector<Block> blocks_;
    std::vector<Bag> bags_;
    std::vector<Union> unions_;
    std::vector<std::int32_t> feasible_;
    std::size_t propagated_ = 0, explored_ = 0;
    std::int64_t offered_ = 0;
    std::vector<Set> parts_, borders_;
    std::unordered_map<Set, std::int32_t, typename Set::Hash> block_ids_;
    std::unordered_set<Set, typename Set::Hash> known_, union_ids_;
};

}  // namespace neuraltrees
