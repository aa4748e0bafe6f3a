#include <cmath>
#include <random>

#include "check.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/random_walks.hpp"

using namespace neuraltrees;

namespace {

using Ids = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

struct Lists {
    Ids source, target, node_ptr{0}, edge_ptr{0};

    EdgeLists view() const { return {source, target, node_ptr, edge_ptr}; }
    void add(std::int64_t v, std::int64_t w, bool both) {
        source.push_back(v);
        target.push_back(w);
        if (both && v != w) source.push_back(w), target.push_back(v);
    }
    void end(std::int64_t nodes) {
        node_ptr.push_back(node_ptr.back() + nodes);
        edge_ptr.push_back(static_cast<std::int64_t>(source.size()));
    }
};

/// A tree with some more edges, self-loops, edges that are listed twice and nodes without edges.
void add_random(Lists& lists, std::int64_t nodes, std::int64_t back, bool both, std::mt19937_64& random) {
    for (std::int64_t v = 1; v < nodes; ++v) {
        if (random() % 10 == 0) continue;
        lists.add(v, v - 1 - static_cast<std::int64_t>(random() % std::min(back, v)), both);
        if (random() % 4 == 0) lists.add(v, static_cast<std::int64_t>(random() % nodes), both);
        if (random() % 20 == 0) lists.add(v, v, both);
    }
    lists.end(nodes);
}

Numbers found(const Lists& lists, std::int64_t steps, int threads = 1) {
    Numbers out(lists.node_ptr.back() * steps, -1.0);
    return_probabilities(lists.view(), steps, out.data(), threads);
    return out;
}

/// The diagonals of the powers of a dense matrix.
Numbers dense(const Lists& lists, std::int64_t steps) {
    Numbers out;
    for (std::size_t g = 0; g + 1 < lists.node_ptr.size(); ++g) {
        const std::int64_t n = lists.node_ptr[g + 1] - lists.node_ptr[g], first = lists.edge_ptr[g];
        Numbers walk(n * n, 0.0), degree(n, 0.0);
        for (std::int64_t e = first; e < lists.edge_ptr[g + 1]; ++e) ++degree[lists.source[e]];
        for (std::int64_t e = first; e < lists.edge_ptr[g + 1]; ++e)
            walk[lists.source[e] * n + lists.target[e]] += 1 / degree[lists.source[e]];
        for (std::int64_t v = 0; v < n; ++v) {
            Numbers now(n, 0.0);
            now[v] = 1;
            for (std::int64_t k = 0; k < steps; ++k) {
                Numbers next(n, 0.0);
                for (std::int64_t u = 0; u < n; ++u)
                    for (std::int64_t w = 0; w < n; ++w) next[w] += now[u] * walk[u * n + w];
                now = next;
                out.push_back(now[v]);
            }
        }
    }
    return out;
}

double distance(const Numbers& a, const Numbers& b) {
    double most = a.size() == b.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) most = std::max(most, std::abs(a[i] - b[i]));
    return most;
}

}  // namespace

TEST(walks_return_as_often_as_powers_of_the_matrix_say) {
    std::mt19937_64 random(3);
    for (const bool both : {true, false})
        for (const std::int64_t back : {1, 3, 50})
            for (const std::int64_t steps : {1, 2, 3, 8, 13}) {
                const check::Note note("both directions", both, "back", back, "steps", steps);
                Lists lists;
                for (const std::int64_t nodes : {0, 1, 2, 5, 16, 17, 60}) add_random(lists, nodes, back, both, random);
                CHECK(distance(found(lists, steps), dense(lists, steps)) < 1e-13);
            }
}

TEST(leaves_of_all_kinds) {
    Lists lists;
    lists.add(0, 1, true);  // one edge: each end is the leaf of the other
    lists.end(2);
    for (std::int64_t leaf = 1; leaf < 40; ++leaf) lists.add(0, leaf, true);
    lists.end(40);
    lists.add(0, 0, false);  // one edge, but to itself
    lists.end(1);
    lists.add(0, 1, true);  // one neighbour, but two edges
    lists.add(0, 1, true);
    lists.end(2);
    lists.add(0, 1, true);  // at a node with a self-loop
    lists.add(0, 0, false);
    lists.end(2);
    for (const std::int64_t steps : {1, 2, 3, 4, 9}) CHECK(distance(found(lists, steps), dense(lists, steps)) < 1e-14);
}

TEST(walks_do_not_depend_on_threads_or_other_graphs) {
    std::mt19937_64 random(5);
    Lists lists;
    for (int copies = 0; copies < 80; ++copies) add_random(lists, 3 + copies % 30, 4, copies % 3 > 0, random);
    add_random(lists, 5000, 3, true, random);
    const Numbers all = found(lists, 6);
    CHECK(found(lists, 6, 3) == all);
    std::size_t row = 0;
    for (std::size_t g = 0; g + 2 < lists.node_ptr.size(); ++g) {
        Lists alone;
        alone.source.assign(lists.source.begin() + lists.edge_ptr[g], lists.source.begin() + lists.edge_ptr[g + 1]);
        alone.target.assign(lists.target.begin() + lists.edge_ptr[g], lists.target.begin() + lists.edge_ptr[g + 1]);
        alone.end(lists.node_ptr[g + 1] - lists.node_ptr[g]);
        const Numbers part = found(alone, 6);
        CHECK(std::equal(part.begin(), part.end(), all.begin() + row));
        row += part.size();
    }
}

TEST(a_long_path_is_computed_near_every_node_only) {
    Lists lists;
    constexpr std::int64_t nodes = 200'000;  // of whose dense rows no computer could hold all
    for (std::int64_t v = 1; v < nodes; ++v) lists.add(v - 1, v, true);
    lists.end(nodes);
    const Numbers all = found(lists, 4, 2);
    CHECK_EQ(all[nodes / 2 * 4 + 3], 0.375);
    CHECK_EQ(all[4 + 1], 0.75);  // beside an end, from which every walk comes back
}

TEST(walks_can_be_interrupted) {
    Lists lists;
    for (std::int64_t v = 1; v < 3000; ++v) lists.add(0, v, false), lists.add(v, v - 1, false);
    lists.end(3000);
    Caller caller([](int, int) { return false; }, std::chrono::milliseconds(0));
    Numbers out(3000 * 50);
    CHECK_THROWS(return_probabilities(lists.view(), 50, out.data(), 1, Watch(caller)), Interrupted, "");
}

TEST(edge_lists_that_do_not_fit) {
    Lists lists;
    lists.add(0, 1, true);
    lists.end(2);
    check_edge_lists(lists.view());
    Lists beyond = lists;
    beyond.target[0] = 2;
    CHECK_THROWS(check_edge_lists(beyond.view()), InputError,
                 "Expected edges of graph 0 between the nodes 0 to 1; got one at node 2");
    for (const auto& change :
         {+[](Lists& each) { each.node_ptr = {}; }, +[](Lists& each) { each.edge_ptr = {0, 1}; },
          +[](Lists& each) { each.edge_ptr = {0, 3, 2}; }, +[](Lists& each) { each.node_ptr = {1, 2}; },
          +[](Lists& each) { each.target.pop_back(); }}) {
        Lists wrong = lists;
        change(wrong);
        CHECK_THROWS(check_edge_lists(wrong.view()), InputError, "Expected rising places");
    }
}
