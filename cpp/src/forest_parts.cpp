#include "neuraltrees/forest_parts.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "neuraltrees/error.hpp"

namespace neuraltrees {
namespace {

using Places = std::vector<std::int64_t>;

void check(std::span<const std::int64_t> parent, std::span<const double> weight, std::int64_t parts) {
    if (parts < 1) throw InputError("Expected at least one part; got " + std::to_string(parts) + ".");
    if (parent.size() != weight.size())
        throw InputError("Expected a weight for each of " + std::to_string(parent.size()) + " nodes; got " +
                         std::to_string(weight.size()) + ".");
    for (std::size_t k = 0; k < parent.size(); ++k) {
        if (parent[k] < -1 || parent[k] >= static_cast<std::int64_t>(k))
            throw InputError("Expected every parent before its children; got " + std::to_string(parent[k]) +
                             " above place " + std::to_string(k) + ".");
        if (!(weight[k] >= 0) || !std::isfinite(weight[k]))
            throw InputError("Expected weights that are finite and not negative; got " + std::to_string(weight[k]) +
                             " at place " + std::to_string(k) + ".");
    }
}

/// The position of every place in an order in which subtrees are intervals, with the heaviest child of a node last.
Places lined_up(std::span<const std::int64_t> parent, std::span<const double> weight, Watch watch) {
    const auto n = static_cast<std::int64_t>(parent.size());
    Places size(n, 1), heavy(n, -1), next(n), position(n);
    std::vector<double> below(weight.begin(), weight.end());
    for (std::int64_t k = n - 1; k >= 0; --k) {
        watch.check();
        const std::int64_t p = parent[k];
        if (p < 0) continue;
        size[p] += size[k];
        below[p] += below[k];
        if (heavy[p] < 0 || below[k] > below[heavy[p]]) heavy[p] = k;
    }
    std::int64_t start = 0;
    for (std::int64_t k = 0; k < n; ++k) {
        watch.check();
        const std::int64_t p = parent[k];
        if (p < 0) {
            position[k] = start;
            start += size[k];
        } else if (k == heavy[p]) {
            position[k] = position[p] + size[p] - size[k];
        } else {
            position[k] = next[p];
            next[p] += size[k];
        }
        next[k] = position[k] + 1;
    }
    return position;
}

}  // namespace

std::vector<std::int32_t> cut_forest(std::span<const std::int64_t> parent, std::span<const double> weight,
                                     std::int64_t parts, double slack, Watch watch) {
    check(parent, weight, parts);
    const auto n = static_cast<std::int64_t>(parent.size());
    const Places position = lined_up(parent, weight, watch);
    // The weight left of a cut before position i, and the number of edges that cross it.
    std::vector<double> left(n + 1, 0);
    Places crossing(n + 2, 0);
    for (std::int64_t k = 0; k < n; ++k) {
        watch.check();
        left[position[k] + 1] = weight[k];
        if (parent[k] < 0) continue;
        ++crossing[position[parent[k]] + 1];
        --crossing[position[k] + 1];
    }
    for (std::int64_t i = 0; i < n; ++i) {
        left[i + 1] += left[i];
        crossing[i + 1] += crossing[i];
    }
    const double share = left[n] / static_cast<double>(parts);
    Places ends(parts, n);
    std::int64_t from = 0;
    for (std::int64_t part = 0; part + 1 < parts; ++part) {
        const double aim = share * static_cast<double>(part + 1);
        const auto distance = [&](std::int64_t i) { return std::abs(left[i] - aim); };
        auto i = std::lower_bound(left.begin() + from, left.end(), aim - slack * share) - left.begin();
        i = std::min<std::int64_t>(i, n);
        std::int64_t best = i > from && distance(i - 1) < distance(i) ? i - 1 : i;  // if nothing is within the slack
        if (distance(best) > slack * share) {
            from = ends[part] = best;
            continue;
        }
        for (; i <= n && left[i] <= aim + slack * share; ++i) {
            watch.check();
            if (crossing[i] < crossing[best] || (crossing[i] == crossing[best] && distance(i) < distance(best)))
                best = i;
        }
        from = ends[part] = best;
    }
    std::vector<std::int32_t> part(n);
    std::vector<std::int32_t> at(n);
    for (std::int64_t p = 0, i = 0; p < parts; ++p)
        for (; i < ends[p]; ++i) at[i] = static_cast<std::int32_t>(p);
    for (std::int64_t k = 0; k < n; ++k) part[k] = at[position[k]];
    return part;
}

}  // namespace neuraltrees
