#pragma once

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "neuraltrees/blocks.hpp"
#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/greedy.hpp"
#include "neuraltrees/order_search.hpp"
#include "neuraltrees/search.hpp"

namespace neuraltrees {

/// The search on a connected graph of at most 64·W vertices.
template <std::size_t W>
class CoreSearch {
public:
    using Set = VertexSet<W>;
    using Solver = BlockSearch<W>;

    CoreSearch(GraphView graph, int lower_bound, std::uint64_t seed, Watch watch)
        : graph_(graph), bits_(graph), seed_(seed), watch_(watch), orders_(graph, seed) {
        best_.lower_bound = lower_bound;
        best_.width = graph.num_nodes();
    }

    SearchResult run(Goal goal) {
        for (std::uint64_t i = 0; i < warm_up && !done(); ++i) sample(nullptr);
        while (!done())
            if (goal == Goal::proof ? !prove() : !descend()) break;
        return std::move(best_);
    }

private:
    static constexpr std::uint64_t warm_up = 16;

    bool done() { return best_.lower_bound >= best_.width || watch_.late(); }

    void adopt(std::vector<Vertex> order) {
        const int width = width_of_order(graph_, order);
        if (width >= best_.width) return;
        best_.order = std::move(order);
        best_.width = width;
        watch_.at_most(width);
        std::erase_if(pool_, [&](const Set& bag) { return bag.size() > width; });
    }

    /// False if time ran out.
    bool offer_pool(Solver& solver) {
        for (const Set& bag : pool_) {
            if (watch_.late(solver.offer_cost())) return false;
            solver.offer(bag);
        }
        return true;
    }

    /// Raises the lower bound by one, or finds a decomposition that meets it. False if time ran out.
    bool prove() {
        Solver solver(bits_, best_.lower_bound);
        if (!offer_pool(solver)) return false;
        switch (solver.explore(watch_)) {
            case Solver::Answer::yes: adopt(solver.order()); return true;
            case Solver::Answer::no: watch_.at_least(++best_.lower_bound); return true;
            case Solver::Answer::unknown: return false;
        }
        return false;
    }

    /// Looks for a decomposition narrower than the best, in turns by sampling, annealing and enumeration. False if time
    /// ran out.
    bool descend() {
        Solver solver(bits_, best_.width - 1);
        const int width = best_.width;
        if (!offer_pool(solver)) return false;
        for (double slice = 0.01; !solver.solved(); slice *= 1.5) {
            Watch sampling = watch_.part(slice);
            while (!solver.solved() && best_.width == width && !sampling.late()) sample(&solver);
            if (best_.width < width) return true;
            if (solver.solved()) break;
            if (anneal(solver, watch_.part(slice))) return true;
            if (solver.solved()) break;
            Watch exploring = watch_.part(slice);
            const auto answer = solver.explore(exploring);
            if (answer == Solver::Answer::no) {
                best_.lower_bound = best_.width;
                return true;
            }
            if (watch_.late()) break;
        }
        if (!solver.solved()) return false;
        adopt(solver.order());
        return true;
    }

    /// Returns whether an order narrower than the best was found; the bags of the last order are added to the pool.
    /// There is no order to start from if the time ran out before the first one.
    bool anneal(Solver& solver, Watch watch) {
        if (best_.order.empty()) return false;
        if (!orders_.started() || orders_.width() > best_.width) orders_.start(best_.order);
        const int before = best_.width;
        if (orders_.reach(before - 1, watch)) adopt(orders_.order());
        collect(orders_.order(), &solver);
        return best_.width < before;
    }

    /// A power from 0 to 2 for fill_per_degree; 1 is drawn most often.
    static double power(std::uint64_t draw) {
        constexpr double powers[] = {1, 0, 1, 0.5, 1.5, 1, 2, 0.75, 1.25};
        return powers[draw % std::size(powers)];
    }

    /// One random greedy order; every second one by the best rule so far.
    void sample(Solver* solver) {
        const std::uint64_t draw = samples_++;
        Greedy rule = draw == 0       ? Greedy::min_fill()
                      : draw % 8 == 7 ? Greedy::min_degree()
                                      : Greedy::fill_per_degree(power(draw));
        if (draw > warm_up && draw % 2 == 0) rule = favourite_;
        const std::uint64_t seed = draw == 0 ? seed_ : mix(seed_ + 1, draw);
        const std::vector<Vertex> greedy = greedy_order(graph_, rule, seed, best_.lower_bound, watch_);
        if (greedy.empty()) return;
        const int width = collect(greedy, solver);
        if (width > narrowest_) return;
        narrowest_ = width;
        favourite_ = rule;
    }

    /// Refines the order to a minimal triangulation, adds its maximal cliques to the pool, and returns its width.
    int collect(const std::vector<Vertex>& given, Solver* solver) {
        triangulate(given);
        std::vector<Vertex> order = perfect_order();
        int width = 0;
        for (const Set& bag : cliques_) width = std::max(width, bag.size() - 1);
        if (width < best_.width) adopt(std::move(order));
        for (const Set& bag : cliques_) {
            if (bag.size() > best_.width || !pool_.insert(bag).second) continue;
            if (solver) solver->offer(bag);
        }
        return width;
    }

    /// LB-Triang (Berry et al. 2006): a minimal triangulation, whose fill is part of the fill of the order. Each
    /// vertex, in the given order, makes the borders of the components outside its closed neighbourhood complete.
    void triangulate(const std::vector<Vertex>& order) {
        chordal_ = bits_.row;
        for (Vertex v : order) {
            Set closed = chordal_[v];
            closed.insert(v);
            watch_.check(static_cast<std::int64_t>(W) * bits_.size());
            bits_.for_each_component(bits_.all - closed, [&](const Set&, const Set& border) {
                border.for_each([&](Vertex u) {
                    chordal_[u] |= border;
                    chordal_[u].erase(u);
                });
            });
        }
    }

    /// Maximum cardinality search on the chordal graph: a perfect elimination order, and its maximal cliques.
    std::vector<Vertex> perfect_order() {
        const Vertex n = bits_.size();
        std::vector<Vertex> visit;
        std::vector<int> weight(n, 0), clique_of(n, -1), rank(n, -1);
        cliques_.clear();
        Set visited;
        for (Vertex i = 0; i < n; ++i) {
            Vertex v = -1;
            for (Vertex u = 0; u < n; ++u)
                if (rank[u] < 0 && (v < 0 || weight[u] > weight[v])) v = u;
            const Set earlier = chordal_[v] & visited;
            int last = -1;
            earlier.for_each([&](Vertex u) {
                if (last < 0 || rank[u] > rank[last]) last = u;
            });
            if (last >= 0 && cliques_[clique_of[last]] == earlier) {
                clique_of[v] = clique_of[last];
            } else {
                clique_of[v] = static_cast<int>(cliques_.size());
                cliques_.push_back(earlier);
            }
            cliques_[clique_of[v]].insert(v);
            rank[v] = i;
            visited.insert(v);
            visit.push_back(v);
            (chordal_[v] - visited).for_each([&](Vertex u) { ++weight[u]; });
        }
        return {visit.rbegin(), visit.rend()};
    }

    GraphView graph_;
    BitGraph<W> bits_;
    std::uint64_t seed_, samples_ = 0;
    Greedy favourite_;  // the rule of the narrowest sample
    int narrowest_ = std::numeric_limits<int>::max();
    Watch watch_;
    SearchResult best_;
    std::unordered_set<Set, typename Set::Hash> pool_;
    std::vector<Set> chordal_, cliques_;
    OrderSearch<W> orders_;
};

}  // namespace neuraltrees
