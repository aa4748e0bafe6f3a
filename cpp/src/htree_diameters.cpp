#include <algorithm>

#include "neuraltrees/error.hpp"
#include "neuraltrees/htree.hpp"

namespace neuraltrees {

template <typename Index>
std::vector<std::int64_t> diameters(const HTreeViewOf<Index>& t, Watch watch) {
    const std::int64_t n = t.num_nodes(), m = t.num_edges();
    // The arrays may come from a file: all numbers are checked before they are used as indices.
    if (static_cast<std::int64_t>(t.component.size()) != n || static_cast<std::int64_t>(t.edge_index.size()) != 2 * m)
        throw InputError("Expected an H-tree; got arrays of different lengths.");
    std::int64_t components = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        watch.check(4);
        if (t.parent[i] < -1 || t.parent[i] >= i || t.component[i] < 0 || t.component[i] >= n)
            throw InputError("Expected an H-tree; got parent " + std::to_string(t.parent[i]) + " and component " +
                             std::to_string(t.component[i]) + " at node " + std::to_string(i) + ".");
        components = std::max<std::int64_t>(components, t.component[i] + 1);
    }
    for (std::int64_t e = 0; e < m; ++e)
        if (std::min(t.edge_index[e], t.edge_index[m + e]) < 0 || std::max(t.edge_index[e], t.edge_index[m + e]) >= n)
            throw InputError("Expected an H-tree; edge " + std::to_string(e) + " names a node that is not there.");
    // Paths are shorter than the tree is large, so that heights fit into an Index; of the roots there are few.
    std::vector<std::int64_t> longest(components, 0);
    std::vector<Index> height(n, 0), number(n, -1), root;
    auto hang = [&](std::int64_t below, std::int64_t above) {
        watch.check(4);
        auto& best = longest[t.component[above]];
        best = std::max<std::int64_t>(best, std::int64_t{height[above]} + height[below] + 1);
        height[above] = std::max<Index>(height[above], height[below] + 1);
    };
    for (std::int64_t i = n; i-- > 0;)
        if (t.parent[i] >= 0) hang(i, t.parent[i]);

    // The same over the roots, in the reverse of a breadth-first order of their tree.
    for (std::int64_t i = 0; i < n; ++i)
        if (t.parent[i] < 0) {
            number[i] = static_cast<Index>(root.size());
            root.push_back(static_cast<Index>(i));
        }
    const auto joins_roots = [&](std::int64_t e) {
        return t.edge_type[e] == 0 && number[t.edge_index[e]] >= 0 && number[t.edge_index[m + e]] >= 0;
    };
    std::vector<std::int64_t> ptr(root.size() + 1, 0);
    for (std::int64_t e = 0; e < m; ++e)
        if (joins_roots(e)) ++ptr[number[t.edge_index[e]] + 1];
    for (std::size_t i = 0; i < root.size(); ++i) ptr[i + 1] += ptr[i];
    std::vector<Index> neighbour(ptr.back());
    std::vector<std::int64_t> next(ptr.begin(), ptr.end() - 1);
    for (std::int64_t e = 0; e < m; ++e)
        if (joins_roots(e)) neighbour[next[number[t.edge_index[e]]]++] = number[t.edge_index[m + e]];
    std::vector<Index> order, above(root.size(), -2);
    for (std::size_t r = 0; r < root.size(); ++r) {
        if (above[r] != -2) continue;
        above[r] = -1;
        std::size_t head = order.size();
        order.push_back(static_cast<Index>(r));
        for (; head < order.size(); ++head)
            for (std::int64_t e = ptr[order[head]]; e < ptr[order[head] + 1]; ++e)
                if (above[neighbour[e]] == -2) {
                    above[neighbour[e]] = order[head];
                    order.push_back(neighbour[e]);
                }
    }
    for (std::size_t i = order.size(); i-- > 0;)
        if (above[order[i]] >= 0) hang(root[order[i]], root[above[order[i]]]);
    return longest;
}

template std::vector<std::int64_t> diameters(const HTreeViewOf<std::int32_t>&, Watch);
template std::vector<std::int64_t> diameters(const HTreeViewOf<std::int64_t>&, Watch);

}  // namespace neuraltrees
