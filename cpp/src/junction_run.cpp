#include "neuraltrees/junction_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace neuraltrees {
namespace {

using Node = JunctionPlan::Node;
using Factor = JunctionPlan::Factor;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double ln2 = 0.69314718055994530942;
constexpr double most_bits = 900;  // largest absolute exponent of a product of factors; a double has 1,021

/// other += table, for all of it.
void sum_table(const Axes& axes, const Walk& walk, const double* table, double* other) {
    const Walk* const walks[] = {&walk};
    BlockSteps steps(axes, walks);
    do {
        sum_block(walk.block, table, other + steps.places[0]);
        table += axes.block;
    } while (steps.next());
}

}  // namespace

JunctionRun::JunctionRun(std::shared_ptr<const JunctionPlan> plan, TablesView tables,
                         std::span<const std::int64_t> states)
    : plan_(std::move(plan)), states_(states.begin(), states.end()), space_(plan_->entries),
      of_potential_(plan_->potentials.size()), of_node_(plan_->nodes.size()), logs_(plan_->nodes.size()) {
    load(tables);
}

const double* JunctionRun::source(const Factor& factor) const {
    if (factor.is_potential) return at(plan_->potentials[factor.number].at);
    const auto& logs = logs_[factor.number];
    return logs.empty() ? at(plan_->nodes[factor.number].message_at) : logs.data();
}

const JunctionRun::Scale& JunctionRun::scale(const Factor& factor) const {
    return (factor.is_potential ? of_potential_ : of_node_)[factor.number];
}

void JunctionRun::load(TablesView tables) {
    for (std::size_t k = 0; k < plan_->potentials.size(); ++k) {
        if (tables.is_double)
            load(static_cast<const double*>(tables.data[k]), k);
        else
            load(static_cast<const float*>(tables.data[k]), k);
    }
    // One loop for all of them: most are short.
    if (std::none_of(of_potential_.begin(), of_potential_.end(), [](const Scale& s) { return s.logs; }))
        return exponentials({at(0), static_cast<std::size_t>(plan_->potential_entries)});
    for (std::size_t k = 0; k < plan_->potentials.size(); ++k) {
        const auto& potential = plan_->potentials[k];
        if (!of_potential_[k].logs) exponentials({at(potential.at), static_cast<std::size_t>(potential.size)});
    }
}

/// Copies the part of a table that agrees with the fixed states, divided by its largest entry.
template <typename T>
void JunctionRun::load(const T* table, std::size_t k) {
    const auto& potential = plan_->potentials[k];
    for (const auto& [v, step] : potential.fixed) table += states_[v] * step;
    double* const out = at(potential.at);
    double most = -infinity, least = infinity;
    bool bad = false;
    const std::size_t axes = potential.lengths.size();
    const std::int64_t inner = axes ? potential.lengths.back() : 1, step = axes ? potential.steps.back() : 1;
    std::int64_t at[64] = {};
    std::vector<std::int64_t> deep(axes > 64 ? axes : 0, 0);
    std::int64_t* const digit = axes > 64 ? deep.data() : at;
    for (std::int64_t place = 0; place < potential.size; place += inner) {
        for (std::int64_t i = 0; i < inner; ++i) {
            const double x = table[i * step];
            out[place + i] = x;
            bad |= !(x < infinity);
            most = x > most ? x : most;
            least = x < least && x > -infinity ? x : least;
        }
        for (std::size_t i = axes; i-- > 1;) {
            table += potential.steps[i - 1];
            if (++digit[i - 1] < potential.lengths[i - 1]) break;
            table -= potential.steps[i - 1] * potential.lengths[i - 1];
            digit[i - 1] = 0;
        }
    }
    if (bad) log_total_ = std::numeric_limits<double>::quiet_NaN();
    impossible_ |= most == -infinity;
    if (bad || most == -infinity) return;
    log_total_ += most;
    for (std::int64_t i = 0; i < potential.size; ++i) out[i] -= most;
    of_potential_[k].low = std::floor((least - most) / ln2);
    of_potential_[k].logs = of_potential_[k].low < -most_bits;
}

double JunctionRun::collect(const Step& step) {
    if (std::isnan(log_total_)) return log_total_;
    for (auto c = plan_->order.rbegin(); c != plan_->order.rend() && !impossible_; ++c) {
        const Node& node = plan_->nodes[*c];
        if (node.is_view) continue;
        if (!fits(node))
            for (const Factor& factor : node.factors)
                if (!factor.is_potential) rescale(factor.number);
        if (impossible_) break;
        fits(node) ? multiply(*c) : add_logarithms(*c);
        if (node.parent < 0 && !impossible_) {
            const Scale& own = of_node_[*c];
            const double sum = logs_[*c].empty() ? *at(node.message_at) : logs_[*c][0];
            if (own.logs)
                log_total_ += sum;
            else if (sum > 0)
                log_total_ += std::log(sum);
            else
                impossible_ = true;
        }
        if (node.is_bag) step(node.axes.size);
    }
    return impossible_ ? -infinity : log_total_;
}

/// Is the product of the factors in the range of a double, whatever their order?
bool JunctionRun::fits(const Node& node) const {
    double low = 0, high = std::log2(static_cast<double>(node.axes.size));
    for (const Factor& factor : node.factors) {
        const Scale& own = scale(factor);
        if (own.logs) return false;
        low += std::min(own.low, 0.0);
        high += std::max(own.high, 0.0);
    }
    return low >= -most_bits && high <= most_bits;
}

/// Bounds the exponents of a message by looking at it, and makes the largest 0.
void JunctionRun::rescale(int c) {
    Scale& own = of_node_[c];
    if (own.logs) return;
    const std::span<double> message =
        logs_[c].empty()
            ? std::span(at(plan_->nodes[c].message_at), static_cast<std::size_t>(plan_->nodes[c].separator.size))
            : std::span(logs_[c]);
    double least = infinity, most = 0;
    for (double x : message) {
        most = std::max(most, x);
        if (x > 0) least = std::min(least, x);
    }
    if (most == 0) {
        impossible_ = true;
        return;
    }
    const int shift = std::ilogb(most);
    const double factor = std::ldexp(1.0, -shift);
    for (double& x : message) x *= factor;
    own.low = std::ilogb(least) - shift;
    own.high = 1;
    if (logs_[c].empty()) own.shift += shift;
    log_total_ += shift * ln2;
}

/// The table of a node and its message, in one pass over blocks.
void JunctionRun::multiply(int c) {
    const Node& node = plan_->nodes[c];
    Scale& own = of_node_[c];
    own.low = 0;
    own.high = std::log2(static_cast<double>(node.axes.size / node.separator.size));
    const Walk* few[16];
    const double* few_sources[16];
    std::vector<const Walk*> many;
    std::vector<const double*> many_sources;
    const std::size_t count = node.factors.size();
    const Walk** walks = few;
    const double** sources = few_sources;
    if (count >= 16) {
        many.resize(count + 1);
        many_sources.resize(count + 1);
        walks = many.data();
        sources = many_sources.data();
    }
    for (std::size_t i = 0; i < count; ++i) {
        walks[i] = &node.factors[i].walk;
        sources[i] = source(node.factors[i]);
        own.low += scale(node.factors[i]).low;
        own.high += scale(node.factors[i]).high;
    }
    double* table = at(node.table_at);
    double* const message = at(node.message_at);
    if (node.sums) {
        walks[count] = &node.to_separator;
        std::fill_n(message, node.separator.size, 0.0);
    }
    BlockSteps steps(node.axes, {walks, count + node.sums});
    do {
        if (count == 0) std::fill_n(table, node.axes.block, 1.0);
        for (std::size_t i = 0; i < count; ++i) {
            const double* other = sources[i] + steps.places[i];
            i == 0 ? assign_block(walks[i]->block, table, other) : multiply_block(walks[i]->block, table, other);
        }
        if (node.sums) sum_block(node.to_separator.block, table, message + steps.places[count]);
        table += node.axes.block;
    } while (steps.next());
}

/// The same if the range of a double is too small: in logarithms, with the largest entry of every column subtracted.
void JunctionRun::add_logarithms(int c) {
    const Node& node = plan_->nodes[c];
    double* const table = at(node.table_at);
    std::fill_n(table, node.axes.size, 0.0);
    for (const Factor& factor : node.factors) {
        const double* const other = source(factor);
        const bool logs = scale(factor).logs;
        each_entry(node.axes, factor.walk,
                   [&](std::int64_t i, std::int64_t j) { table[i] += logs ? other[j] : std::log(other[j]); });
    }
    if (!node.sums) return set_message(c, {table, table + node.axes.size});
    std::vector<double> most(node.separator.size, -infinity);
    double* const sums = at(node.message_at);
    std::fill_n(sums, node.separator.size, 0.0);
    each_entry(node.axes, node.to_separator,
               [&](std::int64_t i, std::int64_t j) { most[j] = std::max(most[j], table[i]); });
    each_entry(node.axes, node.to_separator, [&](std::int64_t i, std::int64_t j) {
        table[i] = most[j] == -infinity ? 0.0 : std::exp(table[i] - most[j]);
        sums[j] += table[i];
    });
    for (std::int64_t j = 0; j < node.separator.size; ++j)
        most[j] = most[j] == -infinity ? -infinity : most[j] + std::log(sums[j]);
    set_message(c, std::move(most));
}

/// Keeps a message of logarithms, as numbers if their range allows it.
void JunctionRun::set_message(int c, std::vector<double> message) {
    double least = infinity, most = -infinity;
    for (double x : message) {
        most = std::max(most, x);
        if (x > -infinity) least = std::min(least, x);
    }
    if (most == -infinity) {
        impossible_ = true;
        return;
    }
    log_total_ += most;
    for (double& x : message) x -= most;
    Scale& own = of_node_[c];
    own = {std::floor((least - most) / ln2), 0, false, 0};
    own.logs = own.low < -most_bits;
    if (!own.logs)
        for (double& x : message) x = std::exp(x);
    logs_[c] = std::move(message);
}

void JunctionRun::distribute(std::span<double> marginals, const Step& step) {
    for (std::size_t v = 0; v < states_.size(); ++v)
        if (states_[v] >= 0) marginals[plan_->marginal_at[v] + states_[v]] = 1.0;
    for (int c : plan_->order) {
        const Node& node = plan_->nodes[c];
        if (node.parent < 0) {
            double whole = 1.0;
            receive(c, &whole, marginals);
        }
        spread(c, marginals);
        for (const auto& [v, walk] : node.of_table)
            sum_table(node.axes, walk, at(node.table_at), marginals.data() + plan_->marginal_at[v]);
        if (node.is_bag) step(node.axes.size);
    }
}

/// Receives the distribution of a node's separator: replaces its message by the factor that its table is multiplied by.
void JunctionRun::receive(int c, double* belief, std::span<double> marginals) {
    const Node& node = plan_->nodes[c];
    double* const message = at(node.message_at);
    if (!node.sums) {
        std::copy_n(belief, node.axes.size, message);
        return;
    }
    for (const auto& [v, walk] : node.of_separator)
        sum_table(node.separator, walk, belief, marginals.data() + plan_->marginal_at[v]);
    const double factor = std::ldexp(1.0, -of_node_[c].shift);
    for (std::int64_t j = 0; j < node.separator.size; ++j)
        message[j] = message[j] > 0 ? belief[j] / message[j] * factor : 0.0;
}

/// Converts a node's table to a distribution, and sends its marginals to the children, in one pass over blocks.
void JunctionRun::spread(int c, std::span<double> marginals) {
    const Node& node = plan_->nodes[c];
    std::vector<const Walk*> walks;
    std::vector<int> children;
    std::vector<double*> targets;
    std::int64_t entries = 0;
    auto add = [&](const Factor& factor) {
        if (factor.is_potential) return;
        walks.push_back(&factor.walk);
        children.push_back(factor.number);
        entries += plan_->nodes[factor.number].separator.size;
    };
    for (const Factor& factor : node.factors) add(factor);
    for (const Factor& factor : node.views) add(factor);
    if (children.empty() && !node.sums) return;
    beliefs_.assign(entries, 0.0);
    double* target = beliefs_.data();
    for (int child : children) {
        targets.push_back(target);
        target += plan_->nodes[child].separator.size;
    }
    if (node.sums) walks.push_back(&node.to_separator);
    const double* const weight = at(node.message_at);
    double* table = at(node.table_at);
    BlockSteps steps(node.axes, walks);
    do {
        if (node.sums) multiply_block(node.to_separator.block, table, weight + steps.places.back());
        for (std::size_t i = 0; i < children.size(); ++i)
            sum_block(walks[i]->block, table, targets[i] + steps.places[i]);
        table += node.axes.block;
    } while (steps.next());
    for (std::size_t i = 0; i < children.size(); ++i) receive(children[i], targets[i], marginals);
}

std::vector<double> JunctionRun::joint(std::int64_t k) const {
    const auto& potential = plan_->potentials[k];
    std::vector<double> sorted(potential.size, 0.0);
    if (potential.node < 0) return {1.0};
    const Node& node = plan_->nodes[potential.node];
    sum_table(node.axes, node.factors[potential.factor].walk, at(node.table_at), sorted.data());
    // Back to the order of the given axes: the open ones, by their steps.
    const std::size_t axes = potential.scope.size();
    std::vector<std::size_t> given(axes);
    std::iota(given.begin(), given.end(), 0);
    std::sort(given.begin(), given.end(), [&](auto a, auto b) { return potential.steps[a] > potential.steps[b]; });
    std::vector<std::int64_t> step(axes), at(axes, 0);
    std::int64_t inner = 1;
    for (std::size_t i = axes; i-- > 0; inner *= potential.lengths[given[i]]) step[given[i]] = inner;
    std::vector<double> out(potential.size);
    std::int64_t target = 0;
    for (double value : sorted) {
        out[target] = value;
        for (std::size_t i = axes; i-- > 0;) {
            target += step[i];
            if (++at[i] < potential.lengths[i]) break;
            target -= step[i] * potential.lengths[i];
            at[i] = 0;
        }
    }
    return out;
}

}  // namespace neuraltrees
