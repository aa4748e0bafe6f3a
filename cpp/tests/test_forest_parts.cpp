#include <algorithm>
#include <numeric>
#include <random>

#include "check.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/forest_parts.hpp"

using namespace neuraltrees;

namespace {

using Ids = std::vector<std::int64_t>;
using Numbers = std::vector<double>;
using Parts = std::vector<std::int32_t>;

Numbers weights_of(const Parts& part, const Numbers& weight, std::int64_t parts) {
    Numbers out(parts, 0.0);
    for (std::size_t v = 0; v < part.size(); ++v) out[part[v]] += weight[v];
    return out;
}

std::int64_t cuts(const Ids& parent, const Parts& part) {
    std::int64_t count = 0;
    for (std::size_t v = 0; v < parent.size(); ++v) count += parent[v] >= 0 && part[v] != part[parent[v]];
    return count;
}

}  // namespace

TEST(a_chain_is_cut_once_per_boundary) {
    Ids parent(1000);
    for (std::int64_t v = 0; v < 1000; ++v) parent[v] = v - 1;
    const Parts part = cut_forest(parent, Numbers(1000, 1.0), 7);
    CHECK_EQ(cuts(parent, part), 6);
    CHECK(std::is_sorted(part.begin(), part.end()));
}

TEST(parts_are_balanced_up_to_one_node) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 200; ++round) {
        const std::int64_t n = static_cast<std::int64_t>(random() % 400), parts = 1 + random() % 64;
        Ids parent(n, -1);
        Numbers weight(n);
        for (std::int64_t v = 0; v < n; ++v) {
            if (v > 0 && random() % 20 > 0)
                parent[v] = std::max<std::int64_t>(0, v - 1 - static_cast<std::int64_t>(random() % (1 + round % 9)));
            weight[v] = static_cast<double>(random() % 8);
        }
        const Parts part = cut_forest(parent, weight, parts);
        CHECK(std::all_of(part.begin(), part.end(), [&](auto p) { return p >= 0 && p < parts; }));
        const Numbers found = weights_of(part, weight, parts);
        const double mean = std::accumulate(weight.begin(), weight.end(), 0.0) / static_cast<double>(parts);
        const double heaviest = n ? *std::max_element(weight.begin(), weight.end()) : 0.0;
        CHECK(*std::max_element(found.begin(), found.end()) <= 1.08 * mean + heaviest + 1e-9);
    }
}

TEST(a_broom_is_cut_at_its_handle) {
    // A chain of 100 with 100 leaves at its end: the cut in the middle crosses one edge, not some of the leaves.
    Ids parent(200);
    for (std::int64_t v = 0; v < 200; ++v) parent[v] = v < 100 ? v - 1 : 99;
    CHECK_EQ(cuts(parent, cut_forest(parent, Numbers(200, 1.0), 2)), 1);
}

TEST(a_star_has_its_leaves_divided) {
    Ids parent(101, 0);
    parent[0] = -1;
    const Parts part = cut_forest(parent, Numbers(101, 1.0), 4);
    const Numbers found = weights_of(part, Numbers(101, 1.0), 4);
    CHECK(*std::max_element(found.begin(), found.end()) <= 27);
}

TEST(more_parts_than_nodes_and_no_nodes) {
    const Parts part = cut_forest(Ids{-1, 0, -1}, Numbers(3, 1.0), 8);
    const Numbers found = weights_of(part, Numbers(3, 1.0), 8);
    CHECK_EQ(*std::max_element(found.begin(), found.end()), 1.0);
    CHECK_EQ(cut_forest(Ids{}, Numbers{}, 3), Parts{});
    CHECK_EQ(cut_forest(Ids{-1, 0}, Numbers{0, 0}, 2).size(), std::size_t{2});
}

TEST(forests_that_cannot_be_cut_are_refused) {
    CHECK_THROWS(cut_forest(Ids{-1}, Numbers{1}, 0), InputError, "Expected at least one part; got 0");
    CHECK_THROWS(cut_forest(Ids{-1, 1}, Numbers{1, 1}, 2), InputError, "got 1 above place 1");
    CHECK_THROWS(cut_forest(Ids{-1}, Numbers{-1}, 2), InputError, "Expected weights that are finite");
    CHECK_THROWS(cut_forest(Ids{-1}, Numbers{}, 2), InputError, "Expected a weight for each of 1 nodes; got 0");
}
