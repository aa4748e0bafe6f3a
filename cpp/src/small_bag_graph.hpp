#pragma once

#include <algorithm>
#include <bit>
#include <span>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/match.hpp"
#include "neuraltrees/small.hpp"

namespace neuraltrees {

/// G[bag] for a bag of at most 64 sorted vertices. Short rows are scanned; of two vertices with long rows, one is
/// looked up in the row of the other, so that a hub costs no more than another vertex. In a small bag a neighbour is
/// compared with all members at once, without a branch.
inline SmallGraph small_bag_graph(GraphView graph, std::span<const Vertex> bag) {
    SmallGraph out;
    out.n = static_cast<int>(bag.size());
    std::fill_n(out.row.begin(), out.n, 0);
    const bool few = bag.size() <= Members::most;
    const Members members(few ? bag : bag.first(0));
    const std::int64_t short_row = few ? 16 : 8 * out.n;
    for (int i = 0; i < out.n; ++i) {
        const auto row = graph.neighbours(bag[i]);
        std::uint64_t met = 0;
        if (static_cast<std::int64_t>(row.size()) > short_row) {
            for (int j = i + 1; j < out.n; ++j)
                if (graph.degree(bag[j]) > short_row && std::binary_search(row.begin(), row.end(), bag[j]))
                    met |= std::uint64_t{1} << j;
        } else if (few) {
            for (Vertex u : row) met |= members.match(u);
        } else {
            auto it = row.begin();
            for (int j = 0; j < out.n && it != row.end(); ++j) {
                while (it != row.end() && *it < bag[j]) ++it;
                if (it != row.end() && *it == bag[j]) met |= std::uint64_t{1} << j;
            }
        }
        out.row[i] |= met;
        for (std::uint64_t m = met; m != 0; m &= m - 1) out.row[std::countr_zero(m)] |= std::uint64_t{1} << i;
    }
    return out;
}

}  // namespace neuraltrees
