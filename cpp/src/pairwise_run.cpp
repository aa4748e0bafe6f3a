#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "largest_labels.hpp"
#include "neuraltrees/buffer.hpp"
#include "neuraltrees/clones.hpp"
#include "neuraltrees/pairwise.hpp"
#include "neuraltrees/table_blocks.hpp"
#include "pairwise_step.hpp"

namespace neuraltrees {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
// Products of factors whose logarithms differ by less than this are normal doubles if the largest is about one.
constexpr double most_range = 600.0;

/// The largest entry, and the logarithm of its ratio to the smallest one above zero.
struct Range {
    double largest = 0, range = 0;
    bool sound = true;  // no nan, no infinity, some entry above zero
};

NEURALTREES_CLONES Range range_of(std::span<const double> values) {
    double largest = 0, smallest = infinite, sum = 0;
    for (const double x : values) {
        largest = x > largest ? x : largest;
        const double positive = x > 0 ? x : infinite;
        smallest = positive < smallest ? positive : smallest;
        sum += x;
    }
    if (!(largest > 0) || !std::isfinite(sum)) return {.sound = false};
    return {largest, std::log(largest / smallest), true};
}

/// Divides logarithms by the largest in place: subtracts it, and returns it with the range of those that are finite.
Range shifted(std::span<double> values) {
    double largest = -infinite, smallest = infinite;
    bool sound = true;
    for (const double x : values) {
        largest = std::max(largest, x);
        if (x != -infinite) smallest = std::min(smallest, x);
        sound &= !std::isnan(x);
    }
    sound &= std::isfinite(largest);
    for (double& x : values) x -= largest;
    return {largest, largest - smallest, sound};
}

class Run {
public:
    explicit Run(const PairwisePlan& plan)
        : plan_(plan), unary_(plan.num_states), pairs_(plan.pair_entries), pair_ranges_(std::ssize(plan.pairs)),
          messages_(plan.message_entries), ranges_(std::ssize(plan.steps)), scales_(std::ssize(plan.steps)),
          tables_(plan.table_entries), kept_(plan.num_states) {}

    template <typename Real>
    bool load(const PairwiseTables<Real>& given, double* total);
    bool up(double* total);
    template <typename Real>
    void down(std::int64_t width, Real* marginals);

private:
    template <typename Real>
    bool fits(const PairwiseTables<Real>& given) const;
    BufferOf<double> least_kept(const double* rows, std::int64_t width) const;
    template <typename Real>
    bool load_nodes(const PairwiseTables<Real>& given, double* total);
    template <typename Real>
    bool load_pairs(const PairwiseTables<Real>& given, double* total);
    template <typename Real>
    double entry(const PairwiseTables<Real>& given, std::int64_t edge, std::int64_t a, std::int64_t b) const;
    int factors(std::size_t i, bool with_pairs, double* messages);

    const PairwisePlan& plan_;
    BufferOf<double> unary_, pairs_, pair_ranges_, messages_, ranges_, scales_, tables_;
    BufferOf<std::int32_t> kept_;
    std::vector<Factor> factors_;
};

/// The potential of an edge at labels of both ends.
template <typename Real>
double Run::entry(const PairwiseTables<Real>& given, std::int64_t edge, std::int64_t a, std::int64_t b) const {
    const std::int64_t size = given.width * given.width;
    double sum = 0;
    for (std::int64_t j = 0; j < given.terms; ++j) {
        const std::int64_t number = given.index[edge * given.terms + j];
        const bool turned = number >= given.num_tables;
        const Real* table = given.tables + (turned ? number - given.num_tables : number) * size;
        const double value = turned ? table[b * given.width + a] : table[a * given.width + b];
        sum += given.weight ? given.weight[edge * given.terms + j] * value : value;
    }
    return sum;
}

/// Of every step with more labels than it keeps, the least potential of those that it keeps.
BufferOf<double> Run::least_kept(const double* rows, std::int64_t width) const {
    std::vector<std::int64_t> chosen;
    for (std::size_t i = 0; i + 1 < plan_.steps.size(); ++i)
        if (plan_.labels[plan_.steps[i].node] > plan_.steps[i].states) chosen.push_back(static_cast<std::int64_t>(i));
    BufferOf<double> least(std::ssize(plan_.steps));
    if (chosen.empty()) return least;
    const int most = plan_.steps[chosen[0]].states;  // all of them keep as many
    constexpr int lanes = largest_lanes;
    const BufferOf<double> columns(width * lanes), best(std::int64_t{most} * lanes);
    for (std::size_t first = 0; first < chosen.size(); first += lanes) {
        const std::size_t used = std::min<std::size_t>(lanes, chosen.size() - first);
        std::fill_n(columns.data.get(), columns.size, -infinite);
        for (std::size_t lane = 0; lane < used; ++lane) {
            const std::int64_t i = chosen[first + lane], size = plan_.labels[plan_.steps[i].node];
            for (std::int64_t s = 0; s < size; ++s) columns.data[s * lanes + lane] = rows[i * width + s];
        }
        find_largest(columns.view(), most, best.data.get());
        for (std::size_t lane = 0; lane < used; ++lane)
            least.data[chosen[first + lane]] = best.data[(most - 1) * lanes + lane];
    }
    return least;
}

template <typename Real>
bool Run::load_nodes(const PairwiseTables<Real>& given, double* total) {
    const std::int64_t width = given.width, size = width * width;
    const std::size_t count = plan_.steps.size() - 1;
    const BufferOf<double> rows(static_cast<std::int64_t>(count) * width);
    double* const own = rows.data.get();
    for (std::size_t i = 0; i < count; ++i) {
        const Real* row = given.unary + plan_.steps[i].node * width;
        std::copy(row, row + width, own + i * width);
    }
    for (const auto& half : plan_.halves) {
        double* row = own + half.step * width;
        const std::int64_t label = given.known[half.known];
        for (std::int64_t j = 0; j < given.terms; ++j) {
            const std::int64_t number = given.index[half.edge * given.terms + j];
            const bool turned = number >= given.num_tables;
            const Real* table = given.tables + (turned ? number - given.num_tables : number) * size;
            const double weight = given.weight ? given.weight[half.edge * given.terms + j] : 1.0;
            const bool rows = half.from_first != turned;
            const Real* start = table + (rows ? label * width : label);
            const std::int64_t step = rows ? 1 : width;
            for (std::int64_t s = 0; s < width; ++s) row[s] += weight * start[s * step];
        }
    }
    const BufferOf<double> least = least_kept(rows.data.get(), width);
    std::vector<std::int32_t> place(width + 1);
    for (std::size_t i = 0; i < count; ++i) {
        const auto& step = plan_.steps[i];
        const std::span<double> row(own + i * width, plan_.labels[step.node]);
        bool sound = true;
        for (const double x : row) sound &= !std::isnan(x);
        if (!sound) return false;
        const std::span<std::int32_t> kept(kept_.data.get() + step.states_at, step.states);
        if (row.size() > kept.size()) {
            keep_largest(row, least.data[i], kept, place.data());
        } else {
            std::iota(kept.begin(), kept.end(), 0);
        }
        const std::span<double> mine(unary_.data.get() + step.states_at, step.states);
        for (std::size_t s = 0; s < kept.size(); ++s) mine[s] = row[kept[s]];
        const Range found = shifted(mine);
        if (!found.sound) return false;
        ranges_[i] = found.range;
        total[plan_.owner[step.node]] += found.largest;
    }
    exponentials({unary_.data.get(), static_cast<std::size_t>(unary_.size)});
    return true;
}

/// The tables of all pairs for the labels that are kept: products of shared tables, each divided by its largest entry,
/// or of their weighted sums.
template <typename Real>
bool Run::load_pairs(const PairwiseTables<Real>& given, double* total) {
    const std::int64_t width = given.width, size = width * width, entries = given.num_tables * size;
    const bool shared = given.terms == 1 && !given.weight && entries <= pairs_.size;
    BufferOf<double> whole(shared ? entries : 0);
    std::vector<Range> ranges;
    if (shared) {
        std::copy(given.tables, given.tables + entries, whole.data.get());
        for (std::int64_t t = 0; t < given.num_tables; ++t)
            ranges.push_back(shifted({whole.data.get() + t * size, static_cast<std::size_t>(size)}));
        exponentials({whole.data.get(), static_cast<std::size_t>(entries)});
    }
    for (std::size_t i = 0; i + 1 < plan_.steps.size(); ++i) {
        const auto& step = plan_.steps[i];
        const std::int32_t* mine = kept_.data.get() + step.states_at;
        for (std::int64_t k = step.pairs; k < plan_.steps[i + 1].pairs; ++k) {
            const auto& pair = plan_.pairs[k];
            const auto& other = plan_.steps[plan_.separator[step.separator + pair.axis]];
            const std::int32_t* theirs = kept_.data.get() + other.states_at;
            double* out = pairs_.data.get() + pair.at;
            Range found;
            for (std::int64_t j = 0; j < given.terms; ++j) {
                const std::int64_t number = given.index[pair.edge * given.terms + j];
                const bool turned = number >= given.num_tables;
                const std::int64_t t = turned ? number - given.num_tables : number;
                const bool rows_are_mine = pair.flipped != turned;  // whether rows of the table are this node's labels
                const std::int64_t by_mine = rows_are_mine ? width : 1, by_theirs = rows_are_mine ? 1 : width;
                const auto gather = [&](const auto* table, auto&& put) {
                    for (std::int32_t b = 0; b < other.states; ++b)
                        for (std::int32_t a = 0; a < step.states; ++a)
                            put(out[b * step.states + a], table[theirs[b] * by_theirs + mine[a] * by_mine]);
                };
                if (shared) {
                    gather(whole.data.get() + t * size, [](double& x, double value) { x = value; });
                    found = ranges[t];
                    continue;
                }
                const double weight = given.weight ? given.weight[pair.edge * given.terms + j] : 1.0;
                if (j == 0)
                    gather(given.tables + t * size, [&](double& x, double value) { x = weight * value; });
                else
                    gather(given.tables + t * size, [&](double& x, double value) { x += weight * value; });
            }
            if (!shared) found = shifted({out, static_cast<std::size_t>(other.states * step.states)});
            if (!found.sound) return false;
            pair_ranges_[k] = found.range;
            total[plan_.owner[step.node]] += found.largest;
        }
    }
    if (!shared) exponentials({pairs_.data.get(), static_cast<std::size_t>(pairs_.size)});
    return true;
}

/// Whether all labels and numbers of tables are valid, so that nothing outside the tables is read.
template <typename Real>
bool Run::fits(const PairwiseTables<Real>& given) const {
    const auto inside = [](std::int64_t x, std::int64_t size) { return x >= 0 && x < size; };
    const std::int64_t numbers = std::ssize(plan_.first) * given.terms;
    return std::ranges::all_of(plan_.labels, [&](std::int64_t x) { return x <= given.width; }) &&
           std::ranges::all_of(plan_.fixed, [&](Vertex v) { return inside(given.known[v], given.width); }) &&
           std::all_of(given.index, given.index + numbers, [&](auto x) { return inside(x, 2 * given.num_tables); });
}

template <typename Real>
bool Run::load(const PairwiseTables<Real>& given, double* total) {
    if (!fits(given)) return false;
    for (const Vertex v : plan_.fixed)
        total[plan_.owner[v]] += static_cast<double>(given.unary[v * given.width + given.known[v]]);
    for (const std::int64_t e : plan_.settled)
        total[plan_.owner[plan_.first[e]]] += entry(given, e, given.known[plan_.first[e]], given.known[plan_.last[e]]);
    return load_nodes(given, total) && load_pairs(given, total);
}

/// The factors of a step besides its own potentials, those that are constant along the last axis of the separator
/// first; returns how many these are.
int Run::factors(std::size_t i, bool with_pairs, double* messages) {
    const auto& step = plan_.steps[i];
    const auto& next = plan_.steps[i + 1];
    const std::int64_t* strides = plan_.strides.data() + step.axes;
    factors_.clear();
    const auto add = [&](double* data) {
        factors_.push_back({data, strides, step.depth ? strides[step.depth - 1] : 0});
    };
    for (std::int64_t k = step.pairs; k < next.pairs; ++k, strides += step.depth)
        if (with_pairs) add(pairs_.data.get() + plan_.pairs[k].at);
    for (std::int64_t k = step.children; k < next.children; ++k, strides += step.depth)
        add(messages + plan_.steps[plan_.children[k]].message);
    const auto inner = std::ranges::stable_partition(factors_, [](const Factor& f) { return f.inner == 0; });
    return static_cast<int>(inner.begin() - factors_.begin());
}

/// Weights of the rows of a table: their probabilities over their sums, which have been multiplied by `scale`.
NEURALTREES_CLONES void divide(std::span<double> belief, const double* sums, double scale) {
    for (std::size_t r = 0; r < belief.size(); ++r) belief[r] = sums[r] > 0 ? belief[r] * scale / sums[r] : 0;
}

bool Run::up(double* total) {
    for (std::size_t i = 0; i + 1 < plan_.steps.size(); ++i) {
        const auto& step = plan_.steps[i];
        const auto& next = plan_.steps[i + 1];
        double range = ranges_[i];
        for (std::int64_t k = step.pairs; k < next.pairs; ++k) range += pair_ranges_[k];
        for (std::int64_t k = step.children; k < next.children; ++k) range += ranges_[plan_.children[k]];
        if (!(range < most_range)) return false;
        const int outer = factors(i, true, messages_.data.get());
        Visit visit(plan_, step);
        const std::span<double> message(messages_.data.get() + step.message, step.rows);
        fill_table(unary_.data.get() + step.states_at, factors_, outer, visit, step.states,
                   tables_.data.get() + step.table, message.data());
        const Range found = range_of(message);
        if (!found.sound) return false;
        total[plan_.owner[step.node]] += std::log(found.largest);
        ranges_[i] = found.range;
        scales_[i] = 1 / found.largest;
        for (double& x : message) x *= scales_[i];
    }
    return true;
}

template <typename Real>
void Run::down(std::int64_t width, Real* marginals) {
    const BufferOf<double> beliefs(plan_.message_entries);
    std::fill_n(beliefs.data.get(), beliefs.size, 0.0);
    std::vector<double> own;
    for (std::size_t i = plan_.steps.size() - 1; i-- > 0;) {
        const auto& step = plan_.steps[i];
        const std::span<double> belief(beliefs.data.get() + step.message, step.rows);
        if (step.depth == 0) belief[0] = 1;
        divide(belief, messages_.data.get() + step.message, scales_[i]);
        const int outer = factors(i, false, beliefs.data.get());
        Visit visit(plan_, step);
        own.assign(step.states, 0.0);
        spread_table(belief.data(), factors_, outer, visit, step.states, tables_.data.get() + step.table, own.data());
        Real* row = marginals + step.node * width;
        for (std::int32_t s = 0; s < step.states; ++s) row[kept_[step.states_at + s]] = static_cast<Real>(own[s]);
    }
}

}  // namespace

template <typename Real>
bool run_pairwise(const PairwisePlan& plan, const PairwiseTables<Real>& given, double* log_partition, Real* marginals) {
    Run run(plan);
    std::fill_n(log_partition, plan.num_graphs, 0.0);
    if (!run.load(given, log_partition) || !run.up(log_partition)) return false;
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
