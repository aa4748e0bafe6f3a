#include "pairwise_factors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "largest_labels.hpp"
#include "neuraltrees/clones.hpp"
#include "neuraltrees/table_blocks.hpp"
#include "pairwise_rows.hpp"

namespace neuraltrees {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// The largest entry, and the logarithm of its ratio to the smallest one above zero.
struct Range {
    double largest = 0, range = 0;
    bool sound = true;  // no nan, no infinity, some entry above zero
};

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

/// A table of some rows and columns of another one.
NEURALTREES_INLINE void choose(const double* table, std::int64_t stride, const std::int32_t* rows, int num_rows,
                               const std::int32_t* columns, int num_columns, double* out) {
    for (int r = 0; r < num_rows; ++r) {
        const double* row = table + rows[r] * stride;
        for (int c = 0; c < num_columns; ++c) *out++ = row[columns[c]];
    }
}

/// Adds to the entries of an array; those to the same entry one after another in a register.
class Sums {
public:
    explicit Sums(double* total) : total_(total) {}
    Sums(const Sums&) = delete;
    ~Sums() { finish(); }

    void add(std::int64_t at, double value) {
        if (at != at_) finish();
        at_ = at;
        sum_ += value;
    }

private:
    void finish() {
        if (at_ >= 0) total_[at_] += sum_;
        sum_ = 0;
    }

    double* total_;
    std::int64_t at_ = -1;
    double sum_ = 0;
};

template <typename Real>
class Loading {
public:
    Loading(const PairwisePlan& plan, const PairwiseTables<Real>& given, PairwiseFactors& factors, double* total)
        : plan_(plan), given_(given), factors_(factors), total_(total),
          stride_((given.width + largest_lanes - 1) / largest_lanes * largest_lanes), rows_(stride_ * largest_lanes) {}

    bool run() { return fits() && share() && settle() && load_nodes() && load_pairs(); }

private:
    /// The table of a term of an edge, and whether it is transposed.
    struct Term {
        const Real* table;
        bool turned;
        double weight;
    };

    Term term(std::int64_t edge, std::int64_t j) const {
        const std::int64_t at = edge * given_.terms + j, number = given_.index[at];
        const bool turned = number >= given_.num_tables;
        const std::int64_t t = turned ? number - given_.num_tables : number;
        return {given_.tables + t * given_.width * given_.width, turned, given_.weight ? given_.weight[at] : 1.0};
    }
    void transpose(const double* from, double* to) const {
        for (std::int64_t r = 0; r < given_.width; ++r)
            for (std::int64_t c = 0; c < given_.width; ++c) to[c * stride_ + r] = from[r * stride_ + c];
    }
    /// A row of the table of an edge, or of its transpose; only of shared tables.
    const double* row_of(const BufferOf<double>& tables, std::int64_t edge, bool turned, std::int64_t row) const {
        const std::int64_t number = given_.index[edge], count = given_.num_tables;
        const std::int64_t t = !turned ? number : number < count ? number + count : number - count;
        return tables.data.get() + (t * given_.width + row) * stride_;
    }

    bool fits() const;
    bool share();
    bool settle();
    bool load_nodes();
    bool load_pairs();
    std::span<double> row_of_node(std::size_t i, double* row);
    bool keep_all(std::size_t i);
    bool keep_largest(std::span<const std::size_t> steps);
    bool place(std::size_t i, const double* row, double largest, double least);
    void choose_pair(const PairwisePlan::Pair& pair, std::span<const std::int32_t> rows,
                     std::span<const std::int32_t> columns, double* out) const;

    const PairwisePlan& plan_;
    const PairwiseTables<Real>& given_;
    PairwiseFactors& factors_;
    double* total_;
    std::int64_t stride_;  // of rows in double precision
    BufferOf<double> rows_;
    BufferOf<double> logs_, products_;  // shared tables and their transposes; empty if tables are read where they are
    std::vector<Range> ranges_;         // of the shared tables
    std::vector<const double*> added_;
};

/// Whether nothing outside the tables would be read, and all numbers are below infinity.
template <typename Real>
bool Loading<Real>::fits() const {
    const auto& [width, count, terms, unary, tables, index, weight, known] = given_;
    return plan_.most_labels <= width && count_known(known, plan_.labels) == std::ssize(plan_.fixed) &&
           std::ranges::all_of(plan_.fixed, [known](Vertex v) { return known[v] >= 0; }) &&
           all_inside(index, plan_.num_edges * terms, 2 * count) &&
           below_infinity(unary, std::ssize(plan_.labels) * width) && below_infinity(tables, count * width * width);
}

/// Prepares tables that many edges share: in double precision, as they are and transposed, with all rows aligned.
template <typename Real>
bool Loading<Real>::share() {
    const std::int64_t width = given_.width, count = given_.num_tables;
    const std::int64_t size = width * stride_, entries = 2 * count * size;
    const std::int64_t used = std::ssize(plan_.halves) * width + plan_.pair_entries;
    if (given_.terms != 1 || given_.weight || entries > used) return true;
    logs_ = BufferOf<double>(entries);
    products_ = BufferOf<double>(entries);
    std::fill_n(logs_.data.get(), entries, -infinite);
    for (std::int64_t t = 0; t < count; ++t) {
        double *const logs = logs_.data.get() + t * size, *const products = products_.data.get() + t * size;
        for (std::int64_t r = 0; r < width; ++r)
            std::copy_n(given_.tables + (t * width + r) * width, width, logs + r * stride_);
        std::copy_n(logs, size, products);
        ranges_.push_back(shifted({products, static_cast<std::size_t>(size)}));
        exponentials({products, static_cast<std::size_t>(size)});
        transpose(logs, logs + count * size);
        transpose(products, products + count * size);
    }
    return true;
}

/// Adds the potentials of known nodes and of edges between them.
template <typename Real>
bool Loading<Real>::settle() {
    const std::int64_t* known = given_.known;
    Sums sums(total_);
    for (const Vertex v : plan_.fixed)
        sums.add(plan_.owner[v], static_cast<double>(given_.unary[v * given_.width + known[v]]));
    for (const auto& [edge, first, last] : plan_.settled) {
        double sum = 0;
        if (logs_.size > 0) {
            sum = row_of(logs_, edge, false, known[first])[known[last]];
        } else {
            for (std::int64_t j = 0; j < given_.terms; ++j) {
                const auto [table, turned, weight] = term(edge, j);
                const std::int64_t a = known[turned ? last : first], b = known[turned ? first : last];
                sum += weight * table[a * given_.width + b];
            }
        }
        sums.add(plan_.owner[first], sum);
    }
    return true;
}

/// The potentials of a step's node and of its known neighbours; returns those of the labels that it has.
template <typename Real>
std::span<double> Loading<Real>::row_of_node(std::size_t i, double* row) {
    const auto& step = plan_.steps[i];
    const std::int64_t width = given_.width;
    const auto labels = static_cast<std::size_t>(plan_.labels[step.node]);
    const auto halves = std::span(plan_.halves).subspan(step.halves, plan_.steps[i + 1].halves - step.halves);
    const std::span<double> whole(row, stride_);
    std::size_t count = 0;
    if (logs_.size > 0) {
        if (added_.size() < halves.size()) added_.resize(2 * halves.size());
        for (const auto& half : halves)
            added_[count++] = row_of(logs_, half.edge, !half.from_first, given_.known[half.known]);
    }
    sum_rows(std::span(given_.unary + step.node * width, labels), {added_.data(), count}, whole);
    if (logs_.size > 0) return whole.first(labels);
    for (const auto& half : halves)
        for (std::int64_t j = 0; j < given_.terms; ++j) {
            const auto [table, turned, weight] = term(half.edge, j);
            const bool by_row = half.from_first != turned;
            const std::int64_t label = given_.known[half.known], by = by_row ? 1 : width;
            const Real* from = table + (by_row ? label * width : label);
            for (std::size_t s = 0; s < labels; ++s) row[s] += weight * from[s * by];
        }
    return whole.first(labels);
}

/// Puts the potentials of the labels that are kept in their place.
template <typename Real>
bool Loading<Real>::place(std::size_t i, const double* row, double largest, double least) {
    const auto& step = plan_.steps[i];
    const std::int32_t* kept = factors_.kept.data.get() + step.states_at;
    double* const mine = factors_.nodes.data.get() + step.states_at;
    if (!std::isfinite(largest)) return false;
    if (least == -infinite) {
        least = largest;
        for (std::int32_t s = 0; s < step.states; ++s)
            if (row[kept[s]] != -infinite) least = std::min(least, row[kept[s]]);
    }
    for (std::int32_t s = 0; s < step.states; ++s) mine[s] = row[kept[s]] - largest;
    factors_.node_ranges[static_cast<std::int64_t>(i)] = largest - least;
    total_[plan_.owner[step.node]] += largest;
    return true;
}

template <typename Real>
bool Loading<Real>::keep_all(std::size_t i) {
    const std::span<const double> row = row_of_node(i, rows_.data.get());
    double largest = -infinite, least = infinite;
    for (const double x : row) {
        if (std::isnan(x)) return false;
        largest = std::max(largest, x);
        least = std::min(least, x);
    }
    std::iota(factors_.kept.data.get() + plan_.steps[i].states_at,
              factors_.kept.data.get() + plan_.steps[i + 1].states_at, 0);
    return place(i, row.data(), largest, least);
}

template <typename Real>
bool Loading<Real>::keep_largest(std::span<const std::size_t> steps) {
    const int most = plan_.steps[steps[0]].states;
    const std::size_t words = static_cast<std::size_t>(stride_ + 63) / 64;
    const BufferOf<double> scratch((stride_ + most) * largest_lanes);
    std::vector<std::uint64_t> chosen(words * largest_lanes);
    std::fill_n(rows_.data.get(), rows_.size, -infinite);
    for (std::size_t first = 0; first < steps.size(); first += largest_lanes) {
        const auto group = steps.subspan(first, std::min<std::size_t>(largest_lanes, steps.size() - first));
        for (std::size_t lane = 0; lane < group.size(); ++lane)
            row_of_node(group[lane], rows_.data.get() + lane * stride_);
        const LargestLabels found =
            find_largest(rows_.view(), most, {scratch.data.get(), static_cast<std::size_t>(scratch.size)}, chosen);
        if (found.nan) return false;
        for (std::size_t lane = 0; lane < group.size(); ++lane) {
            const double* row = rows_.data.get() + lane * stride_;
            drop_last(row, found.least[lane], most, chosen, static_cast<int>(lane));
            std::int32_t* kept = factors_.kept.data.get() + plan_.steps[group[lane]].states_at;
            for (std::size_t w = 0; w < words; ++w)
                for (std::uint64_t bits = chosen[w * largest_lanes + lane]; bits != 0; bits &= bits - 1)
                    *kept++ = static_cast<std::int32_t>(64 * w + std::countr_zero(bits));
            if (!place(group[lane], row, found.largest[lane], found.least[lane])) return false;
        }
    }
    return true;
}

template <typename Real>
bool Loading<Real>::load_nodes() {
    std::vector<std::size_t> fewer;  // all of them keep as many labels
    fewer.reserve(plan_.steps.size());
    for (std::size_t i = 0; i + 1 < plan_.steps.size(); ++i) {
        if (plan_.labels[plan_.steps[i].node] > plan_.steps[i].states)
            fewer.push_back(i);
        else if (!keep_all(i))
            return false;
    }
    if (!fewer.empty() && !keep_largest(fewer)) return false;
    exponentials({factors_.nodes.data.get(), static_cast<std::size_t>(factors_.nodes.size)});
    return true;
}

/// The logarithms of a pair's table, which is not shared.
template <typename Real>
void Loading<Real>::choose_pair(const PairwisePlan::Pair& pair, std::span<const std::int32_t> rows,
                                std::span<const std::int32_t> columns, double* out) const {
    std::fill_n(out, rows.size() * columns.size(), 0.0);
    for (std::int64_t j = 0; j < given_.terms; ++j) {
        const auto [table, turned, weight] = term(pair.edge, j);
        const bool first_are_rows = (pair.flipped == pair.by_own) != turned;
        const std::int64_t by_row = first_are_rows ? given_.width : 1, by_column = first_are_rows ? 1 : given_.width;
        double* to = out;
        for (const std::int32_t r : rows)
            for (const std::int32_t c : columns) *to++ += weight * table[r * by_row + c * by_column];
    }
}

/// The tables of all pairs for the labels that are kept.
template <typename Real>
bool Loading<Real>::load_pairs() {
    const auto labels = [&](const PairwisePlan::Step& step) {
        return std::span<const std::int32_t>(factors_.kept.data.get() + step.states_at, step.states);
    };
    for (std::size_t i = 0; i + 1 < plan_.steps.size(); ++i) {
        const auto& step = plan_.steps[i];
        for (std::int64_t k = step.pairs; k < plan_.steps[i + 1].pairs; ++k) {
            const auto& pair = plan_.pairs[k];
            auto rows = labels(plan_.steps[plan_.separator[step.separator + pair.axis]]), columns = labels(step);
            if (pair.by_own) std::swap(rows, columns);
            double* out = factors_.pairs.data.get() + pair.at;
            Range found;
            if (logs_.size > 0) {
                const double* table = row_of(products_, pair.edge, pair.flipped != pair.by_own, 0);
                if (rows.size() == 8 && columns.size() == 8)
                    choose(table, stride_, rows.data(), 8, columns.data(), 8, out);
                else
                    choose(table, stride_, rows.data(), static_cast<int>(rows.size()), columns.data(),
                           static_cast<int>(columns.size()), out);
                found = ranges_[given_.index[pair.edge] % given_.num_tables];
            } else {
                choose_pair(pair, rows, columns, out);
                found = shifted({out, rows.size() * columns.size()});
            }
            if (!found.sound) return false;
            factors_.pair_ranges[k] = found.range;
            total_[plan_.owner[step.node]] += found.largest;
        }
    }
    if (logs_.size == 0) exponentials({factors_.pairs.data.get(), static_cast<std::size_t>(factors_.pairs.size)});
    return true;
}

}  // namespace

template <typename Real>
bool load_factors(const PairwisePlan& plan, const PairwiseTables<Real>& given, PairwiseFactors& factors,
                  double* total) {
    return Loading<Real>(plan, given, factors, total).run();
}

template bool load_factors(const PairwisePlan&, const PairwiseTables<float>&, PairwiseFactors&, double*);
template bool load_factors(const PairwisePlan&, const PairwiseTables<double>&, PairwiseFactors&, double*);

}  // namespace neuraltrees
