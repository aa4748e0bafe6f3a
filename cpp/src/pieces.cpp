#include "neuraltrees/pieces.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "neuraltrees/error.hpp"

namespace neuraltrees {
namespace {

using Ids = std::vector<std::int64_t>;
constexpr std::int64_t none = -1;

/// The component of every node in the graph of some of the edges; components are numbered by their smallest node.
template <typename Chosen>
Ids components(std::int64_t n, std::span<const std::int64_t> edges, Chosen chosen) {
    Ids above(n);
    std::iota(above.begin(), above.end(), 0);
    const auto top = [&](std::int64_t v) {
        while (above[v] != v) v = above[v] = above[above[v]];
        return v;
    };
    for (std::size_t e = 0; 2 * e < edges.size(); ++e) {
        if (!chosen(edges[2 * e], edges[2 * e + 1])) continue;
        const std::int64_t a = top(edges[2 * e]), b = top(edges[2 * e + 1]);
        above[std::max(a, b)] = std::min(a, b);
    }
    Ids label(n);
    std::int64_t count = 0;
    for (std::int64_t v = 0; v < n; ++v) label[v] = above[v] == v ? count++ : label[top(v)];
    return label;
}

/// The piece of every node, by a key: its room; n + cluster for one without a room; 2 n + component for those of the
/// core. And the rooms that are in the core and in a piece of their own.
struct Keys {
    Ids key, joint;
    std::vector<bool> in_core;
};

Keys keys_of(std::span<const std::int64_t> edges, std::span<const std::uint8_t> is_room) {
    const auto n = static_cast<std::int64_t>(is_room.size());
    const Ids cluster = components(n, edges, [&](auto u, auto v) { return !is_room[u] && !is_room[v]; });
    // The room that a cluster touches, if it is one alone: the least and the greatest of them agree.
    Ids least(n, n), most(n, none);
    for (std::size_t e = 0; 2 * e < edges.size(); ++e) {
        std::int64_t room = edges[2 * e], other = edges[2 * e + 1];
        if (!is_room[room] == !is_room[other]) continue;
        if (!is_room[room]) std::swap(room, other);
        least[cluster[other]] = std::min(least[cluster[other]], room);
        most[cluster[other]] = std::max(most[cluster[other]], room);
    }
    Keys found{Ids(n, none), {}, std::vector<bool>(n)};
    std::vector<bool> has_piece(n);
    for (std::int64_t v = 0; v < n; ++v) {
        const std::int64_t c = cluster[v];
        if (!is_room[v]) found.key[v] = least[c] == most[c] ? least[c] : most[c] == none ? n + c : none;
        found.in_core[v] = found.key[v] == none;
        if (!found.in_core[v] && found.key[v] < n) has_piece[found.key[v]] = true;
    }
    const Ids core = components(n, edges, [&](auto u, auto v) { return found.in_core[u] && found.in_core[v]; });
    Ids count(n, 0);
    for (std::int64_t v = 0; v < n; ++v) count[core[v]] += found.in_core[v];
    for (std::int64_t v = 0; v < n; ++v) {
        if (!found.in_core[v]) continue;
        const bool own = is_room[v] && has_piece[v];
        const bool moved = own && count[core[v]] == 1;  // a room that is alone in the core
        found.key[v] = moved ? v : 2 * n + core[v];
        if (own && !moved) found.joint.push_back(v);
    }
    return found;
}

}  // namespace

Pieces take_apart(std::span<const std::int64_t> edges, std::span<const std::uint8_t> is_room) {
    const auto n = static_cast<std::int64_t>(is_room.size());
    if (edges.size() % 2 != 0 ||
        !std::all_of(edges.begin(), edges.end(), [n](std::int64_t v) { return 0 <= v && v < n; }))
        throw InputError("Expected edges between nodes of the graph; got other numbers.");
    const Keys keys = keys_of(edges, is_room);
    const Ids component = components(n, edges, [](auto, auto) { return true; });
    // Places: every node in its piece, then rooms a second time, in the pieces of their own.
    Ids nodes(n), key = keys.key, lowest(3 * n, n);
    std::iota(nodes.begin(), nodes.end(), 0);
    nodes.insert(nodes.end(), keys.joint.begin(), keys.joint.end());
    key.insert(key.end(), keys.joint.begin(), keys.joint.end());
    for (std::size_t i = 0; i < nodes.size(); ++i) lowest[key[i]] = std::min(lowest[key[i]], nodes[i]);
    Ids order(nodes.size());
    std::iota(order.begin(), order.end(), 0);
    const auto rank = [&](std::int64_t i) {
        return std::tuple(component[nodes[i]], key[i] < 2 * n, lowest[key[i]], nodes[i]);
    };
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return rank(a) < rank(b); });
    Pieces found;
    Ids first(n, none), second(n, none), of_place;
    for (std::size_t place = 0; place < order.size(); ++place) {
        const std::int64_t i = order[place], v = nodes[i];
        if (place == 0 || key[i] != key[order[place - 1]]) {
            found.ptr.push_back(static_cast<std::int64_t>(place));
            found.component.push_back(component[v]);
        }
        found.members.push_back(v);
        of_place.push_back(static_cast<std::int64_t>(found.ptr.size()) - 1);
        (i < n ? first : second)[v] = static_cast<std::int64_t>(place);
    }
    const std::size_t pieces = found.ptr.size(), count = edges.size() / 2;
    found.ptr.push_back(static_cast<std::int64_t>(order.size()));
    // An edge of the core joins first places; any other joins nodes of a piece, its room at the second place.
    Ids ends(edges.size());
    found.edge_ptr.assign(pieces + 1, 0);
    for (std::size_t e = 0; e < count; ++e) {
        const std::int64_t u = edges[2 * e], v = edges[2 * e + 1];
        const bool in_core = keys.in_core[u] && keys.in_core[v];
        ends[2 * e] = in_core || second[u] == none ? first[u] : second[u];
        ends[2 * e + 1] = in_core || second[v] == none ? first[v] : second[v];
        ++found.edge_ptr[of_place[ends[2 * e]] + 1];
    }
    std::partial_sum(found.edge_ptr.begin(), found.edge_ptr.end(), found.edge_ptr.begin());
    Ids next(found.edge_ptr.begin(), found.edge_ptr.end() - 1);
    found.edge_order.resize(count);
    found.ends.resize(edges.size());
    for (std::size_t e = 0; e < count; ++e) {
        const std::int64_t at = next[of_place[ends[2 * e]]]++;
        found.edge_order[at] = static_cast<std::int64_t>(e);
        found.ends[2 * at] = ends[2 * e];
        found.ends[2 * at + 1] = ends[2 * e + 1];
    }
    Ids joint = keys.joint;
    std::sort(joint.begin(), joint.end(), [&](std::int64_t a, std::int64_t b) { return second[a] < second[b]; });
    for (const std::int64_t v : joint) found.joints.insert(found.joints.end(), {first[v], second[v]});
    return found;
}

}  // namespace neuraltrees
