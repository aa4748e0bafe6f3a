#include <algorithm>

#include "neuraltrees/error.hpp"
#include "neuraltrees/htree.hpp"

namespace neuraltrees {

std::vector<std::int64_t> diameters(const HTreeView& t, Watch watch) {
    const std::int64_t n = t.num_nodes(), m = t.num_edges();
    // The arrays may come from a file: whatever is used as an index is checked first.
    if (static_cast<std::int64_t>(t.component.size()) != n || static_cast<std::int64_t>(t.edge_index.size()) != 2 * m)
        throw InputError("Expected an H-tree; got arrays of different lengths.");
    std::int64_t components = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        watch.check(4);
        if (t.parent[i] < -1 || t.parent[i] >= i || t.component[i] < 0 || t.component[i] >= n)
            throw InputError("Expected an H-tree; got parent " + std::to_string(t.parent[i]) + " and component " +
                             std::to_string(t.component[i]) + " at node " + std::to_string(i) + ".");
        components = std::max(components, t.component[i] + 1);
    }
    for (std::int64_t e = 0; e < m; ++e)
        if (std::min(t.edge_index[e], t.edge_index[m + e]) < 0 || std::max(t.edge_index[e], t.edge_index[m + e]) >= n)
            throw InputError("Expected an H-tree; edge " + std::to_string(e) + " names a node that is not there.");
    std::vector<std::int64_t> longest(components, 0), height(n, 0);
    auto hang = [&](std::int64_t below, std::int64_t above) {
        watch.check(4);
        auto& best = longest[t.component[above]];
        best = std::max(best, height[above] + height[below] + 1);
        height[above] = std::max(height[above], height[below] + 1);
    };
    for (std::int64_t i = n; i-- > 0;)
        if (t.parent[i] >= 0) hang(i, t.parent[i]);

    // The same over the roots, in the reverse of a breadth-first order of their tree.
    std::vector<std::int64_t> ptr(n + 1, 0), neighbour;
    const std::int64_t edges = t.num_edges();
    for (std::int64_t e = 0; e < edges; ++e)
        if (t.edge_type[e] == 0) ++ptr[t.edge_index[e] + 1];
    for (std::int64_t i = 0; i < n; ++i) ptr[i + 1] += ptr[i];
    neighbour.resize(ptr[n]);
    std::vector<std::int64_t> next(ptr.begin(), ptr.end() - 1);
    for (std::int64_t e = 0; e < edges; ++e)
        if (t.edge_type[e] == 0) neighbour[next[t.edge_index[e]]++] = t.edge_index[edges + e];
    std::vector<std::int64_t> order, above(n, -2);
    for (std::int64_t r = 0; r < n; ++r) {
        if (t.parent[r] >= 0 || above[r] != -2) continue;
        above[r] = -1;
        std::size_t head = order.size();
        order.push_back(r);
        for (; head < order.size(); ++head)
            for (std::int64_t e = ptr[order[head]]; e < ptr[order[head] + 1]; ++e)
                if (above[neighbour[e]] == -2) {
                    above[neighbour[e]] = order[head];
                    order.push_back(neighbour[e]);
                }
    }
    for (std::size_t i = order.size(); i-- > 0;)
        if (above[order[i]] >= 0) hang(order[i], above[order[i]]);
    return longest;
}

}  // namespace neuraltrees
