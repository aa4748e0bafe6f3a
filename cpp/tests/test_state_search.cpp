#include <cmath>

#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/state_search.hpp"

using namespace neuraltrees;

TEST(least_states_gives_a_valid_decomposition_and_counts_its_states) {
    Rng rng(5);
    for (int turn = 0; turn < 300; ++turn) {
        const int n = turn == 0 ? 1100 : rng.below(40);  // once beyond the bitset rows
        Edges edges;
        for (int i = 0; n > 1 && i < n * (turn == 0 ? 1 : rng.below(4)); ++i)
            edges.push_back({rng.below(n), rng.below(n)});
        const Graph g = graph(n, edges);
        std::vector<double> bits;
        for (int v = 0; v < n; ++v) bits.push_back(std::log2(2 + rng.below(5)));
        Watch watch;
        const auto found = least_states(g.view(), bits, turn % 3, watch);
        CHECK_EQ(first_violation(g, found.decomposition), std::optional<std::string>());
        double states = 0;
        for (std::int64_t b = 0; b < found.decomposition.view().num_bags(); ++b) {
            double size = 0;
            for (Vertex v : found.decomposition.view().bag(b)) size += bits[v];
            states += std::exp2(size);
        }
        CHECK(std::abs(states - found.states) <= 1e-9 * states);
        CHECK_EQ(least_states(g.view(), bits, turn % 3, watch).decomposition.bag_nodes, found.decomposition.bag_nodes);
    }
}

TEST(least_states_prefers_the_chord_between_vertices_of_few_states) {
    const Graph cycle = graph(4, {{0, 1}, {1, 2}, {2, 3}, {0, 3}});
    Watch watch;
    CHECK(std::abs(least_states(cycle.view(), std::vector{5.0, 1.0, 5.0, 1.0}, 0, watch).states - 256) < 1e-9);
    CHECK(std::abs(least_states(cycle.view(), std::vector{1.0, 5.0, 1.0, 5.0}, 0, watch).states - 256) < 1e-9);
}

TEST(least_states_counts_more_states_than_a_double_holds_as_infinity) {
    Watch watch;
    const Graph square = cycle(4);
    const auto found = least_states(square.view(), std::vector{600.0, 600.0, 600.0, 600.0}, 0, watch);
    CHECK_EQ(first_violation(square, found.decomposition), std::optional<std::string>());
    CHECK(std::isinf(found.states));
}

TEST(least_states_wants_the_states_of_every_node) {
    Watch watch;
    CHECK_THROWS(least_states(complete(3).view(), std::vector<double>{1.0}, 0, watch), InputError,
                 "Expected the states of every node.");
}

TEST(least_states_can_be_stopped) {
    const Graph cycle = graph(4, {{0, 1}, {1, 2}, {2, 3}, {0, 3}});
    Caller caller([](int, int) { return false; }, std::chrono::milliseconds(0));
    Watch watch(caller);
    bool stopped = false;
    try {
        least_states(cycle.view(), std::vector<double>(4, 1.0), 0, watch);
    } catch (const Interrupted&) {
        stopped = true;
    }
    CHECK(stopped);
}
