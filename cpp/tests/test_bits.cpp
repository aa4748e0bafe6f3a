#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/bits.hpp"

using namespace neuraltrees;

TEST(mix_is_splitmix64) {
    // The reference generator of Vigna, seeded with 0, begins with these three.
    CHECK_EQ(mix(0), 0xe220a8397b1dcdafULL);
    CHECK_EQ(mix(0x9e3779b97f4a7c15ULL), 0x6e789e6aa1b965f4ULL);
    CHECK_EQ(mix(2 * 0x9e3779b97f4a7c15ULL), 0x06c45d188009454fULL);
    CHECK(mix(1, 2) != mix(2, 1));
}

TEST(bits_of_a_row_come_in_order) {
    std::vector<std::uint64_t> row(3, 0);
    for (std::int32_t i : {191, 0, 64, 63, 5}) set_bit(row, i);
    clear_bit(row, 5);
    std::vector<std::int32_t> seen;
    for_each_bit(row, [&](std::int32_t i) { seen.push_back(i); });
    CHECK_EQ(seen, (std::vector{0, 63, 64, 191}));
    CHECK(test_bit(row, 63) && !test_bit(row, 62) && !test_bit(row, 5));
}

TEST(vertex_sets_behave_like_sets) {
    using Set = VertexSet<3>;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Rng rng(seed);
        std::vector<char> x(192, 0), y(192, 0);
        Set a, b;
        for (int i = 0; i < 192; ++i) {
            if (rng.chance(0.1)) x[i] = 1, a.insert(i);
            if (rng.chance(seed % 2 ? 0.1 : 0.9)) y[i] = 1, b.insert(i);
        }
        int size = 0, first = -1;
        bool inside = true, meet = false;
        for (int i = 0; i < 192; ++i) {
            size += x[i];
            if (first < 0 && x[i]) first = i;
            inside &= !x[i] || y[i];
            meet |= x[i] && y[i];
            CHECK_EQ((a | b).contains(i), static_cast<bool>(x[i] | y[i]));
            CHECK_EQ((a & b).contains(i), static_cast<bool>(x[i] & y[i]));
            CHECK_EQ((a - b).contains(i), x[i] && !y[i]);
        }
        CHECK_EQ(a.size(), size);
        CHECK_EQ(a.empty(), size == 0);
        if (size > 0) CHECK_EQ(a.min(), first);
        CHECK_EQ(a.subset_of(b), inside);
        CHECK_EQ(a.intersects(b), meet);
        CHECK((a & b).subset_of(a));
    }
    CHECK_EQ(Set::first(70).size(), 70);
    CHECK(!Set::first(70).contains(70) && Set::first(70).contains(69));
}
