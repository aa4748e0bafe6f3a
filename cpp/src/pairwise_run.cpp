#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>

#include "neuraltrees/buffer.hpp"
#include "neuraltrees/clones.hpp"
#include "neuraltrees/pairwise.hpp"
#include "pairwise_factors.hpp"
#include "pairwise_leaf.hpp"
#include "pairwise_step.hpp"

namespace neuraltrees {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
// Products of factors whose logarithms differ by less than this are normal doubles if the largest is about one.
constexpr double most_range = 600.0;

/// Bounds of the logarithms of entries above zero.
struct Bounds {
    double low = 0, high = 0;

    void operator+=(const Bounds& other) {
        low += other.low;
        high += other.high;
    }
    bool safe() const { return high - low < most_range; }
};

/// The bounds of some entries; not finite unless all are finite and one is above zero.
NEURALTREES_CLONES Bounds bounds_of(std::span<const double> values) {
    double largest = 0, smallest = infinite, sum = 0;
    for (const double x : values) {
        largest = x > largest ? x : largest;
        const double positive = x > 0 ? x : infinite;
        smallest = positive < smallest ? positive : smallest;
        sum += x;
    }
    if (!std::isfinite(sum)) return {-infinite, infinite};
    return {std::log(smallest), std::log(largest)};
}

/// Weights of the rows of a table: their probabilities over their sums, which have been multiplied by `scale`.
NEURALTREES_CLONES void divide(std::span<double> belief, const double* sums, double scale) {
    for (std::size_t r = 0; r < belief.size(); ++r) belief[r] = sums[r] > 0 ? belief[r] * scale / sums[r] : 0;
}

class Run {
public:
    Run(const PairwisePlan& plan, const PairwiseFactors& factors)
        : plan_(plan), factors_(factors), messages_(plan.message_entries), scales_(std::ssize(plan.steps)),
          tables_(plan.kept_entries), leaf_scratch_(plan.leaf_scratch), bounds_(plan.steps.size()) {}

    bool up(double* total);
    template <typename Real>
    void down(std::int64_t width, Real* marginals);

private:
    Bounds bounds(std::size_t i) const;
    bool normalise(std::size_t i, double* total);
    int collect(std::size_t i, bool with_pairs, double* messages);
    Leaf leaf(const PairwisePlan::Step& step);
    void sum_root(std::size_t i, double* sum);
    void spread_root(std::size_t i, double sum, double* beliefs, double* own);

    const PairwisePlan& plan_;
    const PairwiseFactors& factors_;
    BufferOf<double> messages_, scales_, tables_, leaf_scratch_;
    std::vector<Bounds> bounds_;  // of the messages
    std::vector<Factor> collected_;
};

/// The bounds of the entries of a step's table.
Bounds Run::bounds(std::size_t i) const {
    const auto& step = plan_.steps[i];
    const auto& next = plan_.steps[i + 1];
    Bounds found{-factors_.node_ranges.data[i], 0};
    for (std::int64_t k = step.pairs; k < next.pairs; ++k) found.low -= factors_.pair_ranges.data[k];
    for (std::int64_t k = step.children; k < next.children; ++k) found += bounds_[plan_.children[k]];
    return found;
}

/// Divides the messages that a step reads by their largest entries; false if one has none, or not only numbers.
bool Run::normalise(std::size_t i, double* total) {
    for (std::int64_t k = plan_.steps[i].children; k < plan_.steps[i + 1].children; ++k) {
        const std::int32_t child = plan_.children[k];
        const auto& step = plan_.steps[child];
        const std::span<double> message(messages_.data.get() + step.message, step.rows);
        const Bounds found = bounds_of(message);
        if (!std::isfinite(found.low) || !std::isfinite(found.high)) return false;
        const double scale = std::exp(-found.high);
        for (double& x : message) x *= scale;
        scales_[child] = scale;
        bounds_[child] = {found.low - found.high, 0};
        total[plan_.owner[step.node]] += found.high;
    }
    return true;
}

/// The factors of a step besides its own potentials, those that are constant along the last axis of the separator
/// first; returns how many these are.
int Run::collect(std::size_t i, bool with_pairs, double* messages) {
    const auto& step = plan_.steps[i];
    const auto& next = plan_.steps[i + 1];
    collected_.clear();
    int outer = 0;
    for (const bool varies : {false, true}) {
        const std::int64_t* strides = plan_.strides.data() + step.axes;
        const auto add = [&](double* data) {
            const std::int64_t inner = step.depth ? strides[step.depth - 1] : 0;
            if ((inner != 0) == varies) collected_.push_back({data, strides, inner});
            strides += step.depth;
        };
        if (with_pairs)
            for (std::int64_t k = step.pairs; k < next.pairs; ++k) add(factors_.pairs.data.get() + plan_.pairs[k].at);
        else
            strides += step.depth * (next.pairs - step.pairs);
        for (std::int64_t k = step.children; k < next.children; ++k)
            add(messages + plan_.steps[plan_.children[k]].message);
        if (!varies) outer = static_cast<int>(collected_.size());
    }
    return outer;
}

Leaf Run::leaf(const PairwisePlan::Step& step) {
    const double* pairs = factors_.pairs.data.get() + plan_.pairs[step.pairs].at;
    return {plan_, step, factors_.nodes.data.get() + step.states_at, pairs, leaf_scratch_.data.get()};
}

/// The table of a step whose separator is empty, and its sum.
void Run::sum_root(std::size_t i, double* sum) {
    const auto& step = plan_.steps[i];
    double* const table = tables_.data.get() + step.table;
    std::copy_n(factors_.nodes.data.get() + step.states_at, step.states, table);
    for (std::int64_t k = step.children; k < plan_.steps[i + 1].children; ++k) {
        const double* message = messages_.data.get() + plan_.steps[plan_.children[k]].message;
        for (std::int32_t s = 0; s < step.states; ++s) table[s] *= message[s];
    }
    *sum = std::accumulate(table, table + step.states, 0.0);
}

void Run::spread_root(std::size_t i, double sum, double* beliefs, double* own) {
    const auto& step = plan_.steps[i];
    const double* const table = tables_.data.get() + step.table;
    for (std::int32_t s = 0; s < step.states; ++s) own[s] = table[s] / sum;
    for (std::int64_t k = step.children; k < plan_.steps[i + 1].children; ++k)
        std::copy_n(own, step.states, beliefs + plan_.steps[plan_.children[k]].message);
}

/// The messages, from the leaves to the roots; those of roots are the sums over all labels of their part of a graph.
bool Run::up(double* total) {
    for (std::size_t i = 0; i + 1 < plan_.steps.size(); ++i) {
        const auto& step = plan_.steps[i];
        Bounds found = bounds(i);
        if (!found.safe()) {  // mostly bounds are enough, since entries need not be looked at
            if (!normalise(i, total)) return false;
            found = bounds(i);
            if (!found.safe()) return false;
        }
        bounds_[i] = {found.low, found.high + std::numbers::ln2 * std::bit_width(static_cast<unsigned>(step.states))};
        scales_[i] = 1;
        double* const message = messages_.data.get() + step.message;
        if (step.leaf) {
            sum_leaf(leaf(step), message);
        } else if (step.depth == 0) {
            sum_root(i, message);
            total[plan_.owner[step.node]] += std::log(*message);
        } else {
            const int outer = collect(i, true, messages_.data.get());
            Visit visit(plan_, step);
            fill_table(factors_.nodes.data.get() + step.states_at, collected_, outer, visit, step.states,
                       tables_.data.get() + step.table, message);
        }
    }
    return true;
}

/// The distributions of separators and nodes, from the roots to the leaves.
template <typename Real>
void Run::down(std::int64_t width, Real* marginals) {
    const BufferOf<double> beliefs(plan_.message_entries);
    std::fill_n(beliefs.data.get(), beliefs.size, 0.0);
    std::vector<double> own(most_pairwise_states);
    for (std::size_t i = plan_.steps.size() - 1; i-- > 0;) {
        const auto& step = plan_.steps[i];
        double* const belief = beliefs.data.get() + step.message;
        const double* const message = messages_.data.get() + step.message;
        if (step.leaf) {
            spread_leaf(leaf(step), message, scales_[i], belief, own.data());
        } else if (step.depth == 0) {
            spread_root(i, *message, beliefs.data.get(), own.data());
        } else {
            divide({belief, static_cast<std::size_t>(step.rows)}, message, scales_[i]);
            const int outer = collect(i, false, beliefs.data.get());
            Visit visit(plan_, step);
            std::fill_n(own.begin(), step.states, 0.0);
            spread_table(belief, collected_, outer, visit, step.states, tables_.data.get() + step.table, own.data());
        }
        Real* row = marginals + step.node * width;
        const std::int32_t* kept = factors_.kept.data.get() + step.states_at;
        for (std::int32_t s = 0; s < step.states; ++s) row[kept[s]] = static_cast<Real>(own[s]);
    }
}

}  // namespace

template <typename Real>
bool run_pairwise(const PairwisePlan& plan, const PairwiseTables<Real>& given, double* log_partition, Real* marginals) {
    std::fill_n(log_partition, plan.num_graphs, 0.0);
    PairwiseFactors factors(plan);
    if (!load_factors(plan, given, factors, log_partition)) return false;
    Run run(plan, factors);
    if (!run.up(log_partition)) return false;
    if (!std::all_of(log_partition, log_partition + plan.num_graphs, [](double x) { return std::isfinite(x); }))
        return false;
    if (!marginals) return true;
    std::fill_n(marginals, std::ssize(plan.labels) * given.width, Real{0});
    for (const Vertex v : plan.fixed) marginals[v * given.width + given.known[v]] = 1;
    run.down(given.width, marginals);
    return true;
}

template bool run_pairwise(const PairwisePlan&, const PairwiseTables<float>&, double*, float*);
template bool run_pairwise(const PairwisePlan&, const PairwiseTables<double>&, double*, double*);

}  // namespace neuraltrees
