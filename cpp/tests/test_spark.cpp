#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "check.hpp"
#include "neuraltrees/spark.hpp"

using namespace neuraltrees;

namespace {

const std::string scene =
    R"({"nodes": [{"id": 7, "layer": 2, "partition": 0, "attributes": {"type": "ObjectNodeAttributes", "name": "cup",)"
    R"( "position": [1, -2.5, 3e-1], "semantic_label": 4, "bounding_box": {"type": "AABB", "dimensions": [1, 2, 3],)"
    R"( "world_P_center": [0, 0, 0.5]}, "semantic_feature": {"rows": 1, "cols": 2, "data": [0.5, 1]}}},)"
    R"( {"id": 18446744073709551615, "layer": 4, "attributes": {"position": [0, 0, 0], "x": [{"a": "\""}, null, true]}}],)"
    R"( "edges": [{"source": 7, "target": 18446744073709551615, "info": {}}], "more": "\u00e4"} )";

/// The binary form: every value behind its tag, little-endian.
struct Message {
    std::string bytes;

    template <typename T>
    Message& put(int tag, T value) {
        bytes += static_cast<char>(tag);
        char raw[sizeof(T)];
        std::memcpy(raw, &value, sizeof(T));
        bytes.append(raw, sizeof(T));
        return *this;
    }
    Message& tag(int value) {
        bytes += static_cast<char>(value);
        return *this;
    }
    Message& array(std::uint32_t count) { return put(0xdd, count); }
    Message& text(const std::string& letters) {
        array(static_cast<std::uint32_t>(letters.size()));
        bytes += letters;
        return *this;
    }
    Message& key(std::int64_t layer) { return array(2).put(0xd3, layer).put(0xce, std::uint32_t{0}); }
};

Message room_message() {
    Message m;
    m.array(1).key(4).array(1).text("RoomNodeAttributes").array(1).text("EdgeAttributes");
    m.array(1).text("ROOMS").key(4).text("{}").tag(0x00);
    m.array(4).put(0xd3, std::int64_t{4}).put(0xcf, std::uint64_t{9}).put(0xce, std::uint32_t{0});
    m.put(0xcc, std::uint8_t{0}).text("{}").put(0xcb, 1.0).put(0xcb, 2.0).put(0xcb, 3.0);
    m.put(0xcf, std::uint64_t{0}).tag(0xc2).tag(0xc3).text("hall");
    for (int i = 0; i < 4; ++i) m.put(0xcc, std::uint8_t{1});
    m.array(4).put(0xd2, std::int32_t{1});
    for (int i = 0; i < 6; ++i) m.put(0xca, 0.5F);
    m.array(11).put(0xd3, std::int64_t{3}).put(0xd3, std::int64_t{3});
    for (int i = 0; i < 9; ++i) m.put(0xca, i % 4 == 0 ? 1.0F : 0.0F);
    m.put(0xce, std::uint32_t{0xffffffff}).array(2).put(0xd3, std::int64_t{0}).put(0xd3, std::int64_t{0});
    m.array(1).text("bath").put(0xcb, 0.25);
    m.tag(0x01).tag(0x00).tag(0x01).tag(0xc2);
    return m;
}

}  // namespace

TEST(json_is_read_into_columns) {
    const auto found = read_spark_json(scene);
    CHECK(found.has_value());
    CHECK_EQ(found->id, (std::vector<std::uint64_t>{7, ~std::uint64_t{0}}));
    CHECK_EQ(found->layer, (std::vector<std::int64_t>{2, 4}));
    CHECK_EQ(found->label, (std::vector<std::int64_t>{4, label_absent}));
    CHECK_EQ(found->position, (std::vector<double>{1, -2.5, 0.3, 0, 0, 0}));
    CHECK(found->box[0] == Box::valid && found->box[1] == Box::none && std::isnan(found->size[3]));
    CHECK_EQ(found->embedding, (std::vector<float>{0.5F, 1.0F}));
    CHECK_EQ(scene.substr(found->name[0].begin, 3), "cup");
    CHECK_EQ(found->target, (std::vector<std::uint64_t>{~std::uint64_t{0}}));
}

TEST(json_that_is_cut_or_changed_is_declined_or_read) {
    for (std::size_t end = 0; end + 1 < scene.size(); ++end) CHECK(!read_spark_json(scene.substr(0, end)).has_value());
    std::mt19937_64 random(1);
    for (int i = 0; i < 20000; ++i) {
        std::string changed = scene;
        for (int k = 0; k < 2; ++k) changed[random() % changed.size()] = "{}[]\",:0919eE+-.\\unt \n"[random() % 23];
        const auto found = read_spark_json(changed);
        if (found) CHECK_EQ(found->position.size(), 3 * found->id.size());
    }
    CHECK(!read_spark_json(std::string(100000, '[')).has_value());
}

TEST(binary_is_read_into_columns) {
    const std::string message = room_message().bytes;
    const auto found = read_spark_binary(message);
    CHECK(found.has_value());
    CHECK_EQ(found->id, (std::vector<std::uint64_t>{9}));
    CHECK_EQ(found->label, (std::vector<std::int64_t>{label_unknown}));
    CHECK_EQ(found->centre, (std::vector<double>{0.5, 0.5, 0.5}));
    CHECK_EQ(message.substr(found->name[0].begin, 4), "hall");
    CHECK_EQ(found->probabilities_value[0].end - found->probabilities_value[0].begin, std::int64_t{5 + 5 + 4 + 9});
}

TEST(binary_that_is_cut_or_changed_is_declined_or_read) {
    const std::string message = room_message().bytes;
    for (std::size_t end = 0; end < message.size(); ++end)
        CHECK(!read_spark_binary(message.substr(0, end)).has_value());
    std::mt19937_64 random(1);
    for (int i = 0; i < 20000; ++i) {
        std::string changed = message;
        for (int k = 0; k < 2; ++k) changed[random() % changed.size()] = static_cast<char>(random());
        const auto found = read_spark_binary(changed);
        if (found) CHECK_EQ(found->position.size(), 3 * found->id.size());
    }
}
