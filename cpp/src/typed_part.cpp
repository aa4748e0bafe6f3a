#include "neuraltrees/typed_part.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "neuraltrees/error.hpp"

namespace neuraltrees {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t root = 0, up = 1, down = 2, most_types = 16;

void expect(bool good) {
    if (!good) throw InputError("Expected the pieces of a typed graph and their H-trees; got arrays that do not fit.");
}

bool within(std::span<const std::int64_t> values, std::int64_t low, std::int64_t stop) {
    return std::all_of(values.begin(), values.end(), [=](std::int64_t x) { return low <= x && x < stop; });
}

void check(const TypedPieces& p) {
    const std::int64_t members = p.num_members(), nodes = p.num_tree_nodes();
    const auto size = [](const auto& values) { return static_cast<std::int64_t>(values.size()); };
    expect(0 < p.num_types && p.num_types <= most_types && within(p.node_type, 0, p.num_types));
    expect(size(p.position) == 3 * members && size(p.ends) % 2 == 0);
    expect(size(p.kappa) == nodes && size(p.bag_ptr) == nodes + 1 && p.bag_ptr.front() == 0);
    expect(p.bag_ptr.back() == size(p.bag_nodes) && std::is_sorted(p.bag_ptr.begin(), p.bag_ptr.end()));
    expect(p.root_source.size() == p.root_target.size());
    expect(within(p.ends, 0, members) && within(p.kappa, -1, members) && within(p.bag_nodes, 0, members));
    expect(within(p.parent, -1, nodes) && within(p.root_source, 0, nodes) && within(p.root_target, 0, nodes));
}

float known_or_zero(double x) { return std::isnan(x) ? 0.0F : static_cast<float>(x); }

/// The means of the members' known positions, in the bag of every tree node.
std::vector<double> centres(const TypedPieces& p) {
    std::vector<double> found(3 * p.parent.size());
    for (std::int64_t b = 0; b < p.num_tree_nodes(); ++b) {
        double sum[3] = {0, 0, 0}, known = 0;
        for (std::int64_t k = p.bag_ptr[b]; k < p.bag_ptr[b + 1]; ++k) {
            const double* at = &p.position[3 * p.bag_nodes[k]];
            if (std::isnan(at[0])) continue;
            ++known;
            for (int i = 0; i < 3; ++i) sum[i] += at[i];
        }
        for (int i = 0; i < 3; ++i) found[3 * b + i] = known > 0 ? sum[i] / known : nan;
    }
    return found;
}

/// The leaves' bags of every member, sorted: those of member v are bag[start[v]] … bag[start[v + 1] - 1].
struct Bags {
    std::vector<std::int64_t> start, bag;
};

Bags bags_of_members(const TypedPieces& p) {
    Bags found{std::vector<std::int64_t>(p.node_type.size() + 1, 0), {}};
    for (std::int64_t v : p.kappa)
        if (v >= 0) ++found.start[v + 1];
    for (std::size_t v = 0; v < p.node_type.size(); ++v) found.start[v + 1] += found.start[v];
    found.bag.resize(found.start.back());
    std::vector<std::int64_t> next(found.start.begin(), found.start.end() - 1);
    for (std::int64_t b = 0; b < p.num_tree_nodes(); ++b)
        if (p.kappa[b] >= 0) found.bag[next[p.kappa[b]]++] = p.parent[b];
    for (std::size_t v = 0; v < p.node_type.size(); ++v)
        std::sort(found.bag.begin() + found.start[v], found.bag.begin() + found.start[v + 1]);
    return found;
}

std::int64_t first_common(const Bags& bags, std::int64_t u, std::int64_t v) {
    auto one = bags.bag.begin() + bags.start[u], other = bags.bag.begin() + bags.start[v];
    const auto one_end = bags.bag.begin() + bags.start[u + 1], other_end = bags.bag.begin() + bags.start[v + 1];
    while (one != one_end && other != other_end) {
        if (*one == *other && *one >= 0) return *one;
        if (*one < *other)
            ++one;
        else
            ++other;
    }
    expect(false);
    return -1;
}

}  // namespace

TypedPart typed_part(const TypedPieces& p) {
    check(p);
    const std::int64_t nodes = p.num_tree_nodes(), members = p.num_members(), edges = p.num_edges();
    const std::int64_t kinds = p.num_types + (std::int64_t{1} << p.num_types);
    TypedPart found;
    found.kind.resize(nodes);
    found.first_root.assign(members, -1);
    for (std::int64_t b = 0; b < nodes; ++b) {
        std::int64_t types = 0;
        for (std::int64_t k = p.bag_ptr[b]; k < p.bag_ptr[b + 1]; ++k) {
            const std::int64_t v = p.bag_nodes[k];
            types |= std::int64_t{1} << p.node_type[v];
            if (p.parent[b] < 0 && found.first_root[v] < 0) found.first_root[v] = b;
        }
        found.kind[b] = p.kappa[b] >= 0 ? p.node_type[p.kappa[b]] : p.num_types + types;
    }
    const std::vector<double> centre = centres(p);
    const auto code = [&](std::int64_t source, std::int64_t direction, std::int64_t target) {
        return (found.kind[source] * 3 + direction) * kinds + found.kind[target];
    };
    const auto add_offset = [&](std::vector<float>& offsets, std::int64_t source, std::int64_t target) {
        for (int i = 0; i < 3; ++i) offsets.push_back(known_or_zero(centre[3 * source + i] - centre[3 * target + i]));
    };
    for (std::size_t r = 0; r < p.root_source.size(); ++r) {
        found.root_relation.push_back(code(p.root_source[r], root, p.root_target[r]));
        add_offset(found.root_offset, p.root_source[r], p.root_target[r]);
    }
    for (std::int64_t b = 0; b < nodes; ++b) {
        const std::int64_t above = p.parent[b];
        if (above < 0) continue;
        found.child.push_back(b);
        found.up_relation.push_back(code(b, up, above));
        found.down_relation.push_back(code(above, down, b));
        add_offset(found.up_offset, b, above);
    }
    for (std::int64_t v = 0; v < members; ++v) {
        expect(found.first_root[v] >= 0);
        for (int i = 0; i < 3; ++i) found.anchor.push_back(centre[3 * found.first_root[v] + i]);
    }
    const Bags bags = bags_of_members(p);
    found.home.resize(edges);
    for (std::int64_t e = 0; e < edges; ++e) found.home[e] = first_common(bags, p.ends[2 * e], p.ends[2 * e + 1]);
    return found;
}

}  // namespace neuraltrees
