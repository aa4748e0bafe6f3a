#include <cmath>
#include <limits>

#include "check.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/nearby.hpp"
#include "neuraltrees/row_sums.hpp"
#include "neuraltrees/typed_part.hpp"

using namespace neuraltrees;

namespace {

using Ids = std::vector<std::int64_t>;

}  // namespace

TEST(a_bag_of_two_leaves_has_its_columns) {
    const Ids types{0, 1}, ends{0, 1}, parent{-1, 0, 0}, kappa{-1, 0, 1}, ptr{0, 2, 3, 4}, nodes{0, 1, 0, 1};
    const std::vector<double> position{0, 0, 0, 2, 4, 6};
    const TypedPieces pieces{2, types, position, ends, parent, kappa, ptr, nodes, {}, {}};
    const TypedPart part = typed_part(pieces);
    CHECK_EQ(part.kind, (Ids{5, 0, 1}));
    CHECK_EQ(part.child, (Ids{1, 2}));
    CHECK_EQ(part.up_offset, (std::vector<float>{-1, -2, -3, 1, 2, 3}));
    CHECK_EQ(part.first_root, (Ids{0, 0}));
    CHECK_EQ(part.home, (Ids{0}));
    CHECK_EQ(part.up_relation, (Ids{(0 * 3 + 1) * 6 + 5, (1 * 3 + 1) * 6 + 5}));
    const Ids apart{-1, 0, 0}, wrong{2, 0};
    CHECK_THROWS(typed_part({2, wrong, position, ends, apart, kappa, ptr, nodes, {}, {}}), InputError, "do not fit");
}

TEST(objects_are_on_under_and_near_each_other) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> position{0, 0, 0.5, 0, 0, 1.1, 1.5, 0, 0.5, 9, 9, 9, nan, 0, 0};
    const std::vector<double> size{1, 1, 1, 0.2, 0.2, 0.2, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const Ids group{0, 0, 0, 0, 0};
    const NearbyPairs pairs = nearby_pairs(position, size, group, {0.2, 2.0, 2.0});
    CHECK_EQ(pairs.source, (Ids{0, 1}));
    CHECK_EQ(pairs.target, (Ids{2, 0}));
    CHECK_EQ(pairs.relation, (Ids{2, 0}));
    CHECK_THROWS(nearby_pairs(position, size, Ids{0}, {0.2, 2.0, 2.0}), InputError, "per object");
}

TEST(means_are_gated_by_relation) {
    const Ids source{0, 1, 1}, relation{0, 1, 0}, start{0, 2, 2, 3};
    const std::vector<float> h{1, 2, 3, 4}, gates{1, 1, 0, 2};
    std::vector<float> out(6, -1);
    check_messages({source, relation, start}, 2, 2);
    gated_means({source, relation, start}, h.data(), gates.data(), out.data(), 2);
    CHECK_EQ(out, (std::vector<float>{0.5, 5, 0, 0, 3, 4}));
    CHECK_THROWS(check_messages({source, relation, start}, 1, 2), InputError, "sources");
    const std::vector<float> weight{0.5, 2, 1};
    std::vector<float> sums(2, 0);
    add_rows(Ids{1, 1, 0}, weight, std::vector<float>{2, 3, 4}.data(), sums.data(), 1);
    CHECK_EQ(sums, (std::vector<float>{4, 7}));
}

TEST(states_of_edges_are_those_of_their_relation) {
    const std::vector<float> geometry(13, 0.0F);
    std::vector<float> weight(2 * edge_numbers * 2, 0.0F), out(2, -1);
    weight[(edge_numbers + edge_numbers - 1) * 2] = 3;       // the constant of relation 1
    weight[(edge_numbers + edge_numbers - 1) * 2 + 1] = -3;  // which ReLU cuts off
    edge_states(Ids{1}, geometry.data(), weight.data(), out.data(), 2);
    CHECK_EQ(out, (std::vector<float>{3, 0}));
}
