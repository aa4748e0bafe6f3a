#include "neuraltrees/nearby.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "neuraltrees/error.hpp"

namespace neuraltrees {
namespace {

constexpr double slack = 1e-6;  // metres; pairs within reach are compared exactly afterwards
constexpr std::int64_t on = 0, under = 1, near = 2;

struct Objects {
    const double *position, *size;

    double at(std::int64_t i, int axis) const { return position[3 * i + axis]; }
    double half(std::int64_t i, int axis) const { return size[3 * i + axis] / 2; }
    bool known(std::int64_t i) const {
        for (int axis = 0; axis < 3; ++axis)
            if (std::isnan(at(i, axis)) || std::isnan(size[3 * i + axis])) return false;
        return true;
    }
};

double reach(double mean, const NearbyRules& rules) {
    return std::min(rules.near_factor * mean, mean + rules.near_gap);
}

/// Adds the pair if it is related; first < second.
void add_related(const Objects& objects, std::int64_t first, std::int64_t second, const NearbyRules& rules,
                 std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>& found) {
    double distance[3];
    bool is_near = true, over_first = true, over_second = true;
    for (int axis = 0; axis < 3; ++axis) {
        const double one = objects.half(first, axis), other = objects.half(second, axis);
        distance[axis] = std::abs(objects.at(first, axis) - objects.at(second, axis));
        is_near &= distance[axis] <= reach(one + other, rules);
        if (axis == 2) continue;
        over_first &= distance[axis] <= one;
        over_second &= distance[axis] <= other;
    }
    const double height = objects.at(first, 2) - objects.at(second, 2);
    const double mean = objects.half(first, 2) + objects.half(second, 2);
    const bool is_on = (height > 0 ? over_second : over_first) && distance[2] <= rules.on_gap + mean;
    const bool is_under = (over_first || over_second) && height != 0;
    if (!is_on && !is_under && !is_near) return;
    // On: the upper one first; level objects count as the first below. Under: the lower one first.
    const bool turn = is_on ? height <= 0 : is_under && height > 0;
    if (turn) std::swap(first, second);
    found.emplace_back(first, second, is_on ? on : is_under ? under : near);
}

}  // namespace

NearbyPairs nearby_pairs(std::span<const double> position, std::span<const double> size,
                         std::span<const std::int64_t> group, const NearbyRules& rules, Watch watch) {
    const auto count = static_cast<std::int64_t>(group.size());
    if (position.size() != 3 * group.size() || size.size() != 3 * group.size())
        throw InputError("Expected a position, a size and a group per object; got other numbers of them.");
    const Objects objects{position.data(), size.data()};
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < count; ++i)
        if (objects.known(i)) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return std::tuple(group[a], objects.at(a, 0), a) < std::tuple(group[b], objects.at(b, 0), b);
    });
    std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> found;
    for (std::size_t begin = 0, end; begin < order.size(); begin = end) {
        double largest = 0;
        for (end = begin; end < order.size() && group[order[end]] == group[order[begin]]; ++end)
            largest = std::max(largest, objects.half(order[end], 0));
        for (std::size_t i = begin; i < end; ++i) {
            const double own = objects.half(order[i], 0);
            const double most = std::max({reach(own + largest, rules), own, largest}) + slack;
            std::size_t j = i + 1;
            for (; j < end && objects.at(order[j], 0) - objects.at(order[i], 0) <= most; ++j)
                add_related(objects, std::min(order[i], order[j]), std::max(order[i], order[j]), rules, found);
            watch.check(static_cast<std::int64_t>(j - i));
        }
    }
    std::sort(found.begin(), found.end());
    NearbyPairs pairs;
    for (const auto& [source, target, relation] : found) {
        pairs.source.push_back(source);
        pairs.target.push_back(target);
        pairs.relation.push_back(relation);
    }
    return pairs;
}

}  // namespace neuraltrees
