#include <algorithm>
#include <cmath>
#include <limits>

#include "json_reader.hpp"
#include "neuraltrees/spark.hpp"
#include "spark_values.hpp"

namespace neuraltrees {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class Reader : JsonReader {
public:
    using JsonReader::JsonReader;

    SparkColumns read() {
        bool has_nodes = false, has_edges = false;
        skip_space();
        members([&](std::string_view key) {
            const std::int64_t begin = here();
            if (key == "nodes") {
                once(has_nodes);
                elements([&] { node(); });
                found_.nodes = {begin, here()};
            } else if (key == "edges") {
                once(has_edges);
                elements([&] { edge(); });
                found_.edges = {begin, here()};
            } else {
                value();
            }
        });
        if (!has_nodes || !has_edges || at_ != text_.size()) decline();
        return std::move(found_);
    }

private:
    SparkColumns found_;

    static void once(bool& seen) {
        if (seen) decline();
        seen = true;
    }

    /// Three coordinates, as `triple` in Python reads them; false for another value.
    bool triple(double* out) {
        int count = 0;
        bool good = peek() == '[';
        if (!good) {
            value();
            return false;
        }
        elements([&] {
            const char letter = peek();
            if (letter != '-' && (letter < '0' || letter > '9')) {
                value();
                good = false;
            } else {
                const double x = number().value();
                good = good && count < 3 && std::abs(x) <= farthest;
                if (good) out[count] = x;
            }
            ++count;
        });
        return good && count == 3;
    }

    void node() {
        bool id = false, layer = false, partition = false, attributes = false, prefix = false;
        if (peek() != '{') decline();
        found_.partition.push_back(0);
        found_.agent.push_back(0);
        found_.prefix.push_back(0);
        found_.box.push_back(Box::none);
        found_.label.push_back(label_absent);
        for (auto* rows : {&found_.position, &found_.size, &found_.centre}) rows->insert(rows->end(), 3, nan);
        for (auto* spans :
             {&found_.name, &found_.attributes, &found_.name_value, &found_.label_value, &found_.probabilities_value})
            spans->emplace_back();
        members([&](std::string_view key) {
            if (key == "id") {
                once(id);
                found_.id.push_back(whole<std::uint64_t>());
            } else if (key == "layer") {
                once(layer);
                found_.layer.push_back(whole<std::int64_t>());
            } else if (key == "partition") {
                once(partition);
                found_.partition.back() = whole<std::int64_t>();
            } else if (key == "prefix") {
                once(prefix);
                found_.prefix.back() = 1;
                value();
            } else if (key == "attributes") {
                once(attributes);
                const std::int64_t begin = here();
                node_attributes();
                found_.attributes.back() = {begin, here()};
            } else {
                value();
            }
        });
        if (!id || !layer || !attributes) decline();
        found_.embedding_ptr.push_back(static_cast<std::int64_t>(found_.embedding.size()));
    }

    void node_attributes() {
        bool type = false, position = false, box = false, name = false, label = false, feature = false, shares = false;
        members([&](std::string_view key) {
            const std::int64_t begin = here();
            if (key == "type") {
                once(type);
                if (peek() == '"')
                    found_.agent.back() = plain_string() == "AgentNodeAttributes";
                else
                    value();
            } else if (key == "position") {
                once(position);
                if (!triple(&found_.position[found_.position.size() - 3])) decline();
            } else if (key == "bounding_box") {
                once(box);
                bounding_box();
            } else if (key == "name") {
                once(name);
                if (peek() == '"')
                    plain_string();
                else
                    take("null");
                found_.name_value.back() = {begin, here()};
                if (here() - begin > 2 && text_[begin] == '"') found_.name.back() = {begin + 1, here() - 1};
            } else if (key == "semantic_label") {
                once(label);
                const auto given = whole<std::uint64_t>();
                if (given > unlabelled) decline();
                found_.label.back() = given == unlabelled ? label_unknown : static_cast<std::int64_t>(given);
                found_.label_value.back() = {begin, here()};
            } else if (key == "semantic_class_probabilities") {
                once(shares);
                value();
                found_.probabilities_value.back() = {begin, here()};
            } else if (key == "semantic_feature") {
                once(feature);
                embedding();
            } else {
                value();
            }
        });
        if (!position) decline();
    }

    /// A box that is not turned, or one that is not valid.
    void bounding_box() {
        double size[3], centre[3];
        bool type = false, sized = false, centred = false, turned = false, good_size = false, good_centre = false;
        std::string_view kind;
        if (peek() != '{') decline();
        members([&](std::string_view key) {
            if (key == "type") {
                once(type);
                kind = plain_string();
            } else if (key == "dimensions") {
                once(sized);
                good_size = triple(size);
            } else if (key == "world_P_center") {
                once(centred);
                good_centre = triple(centre);
            } else if (key == "world_R_center") {
                once(turned);
                value();
            } else {
                value();
            }
        });
        if (kind == "RAABB" || kind == "OBB") decline();
        found_.box.back() = Box::invalid;
        if (kind != "AABB") return;
        if (!sized) decline();
        if (!good_size || !good_centre || *std::min_element(size, size + 3) < 0) return;
        found_.box.back() = Box::valid;
        std::copy_n(size, 3, found_.size.end() - 3);
        std::copy_n(centre, 3, found_.centre.end() - 3);
    }

    void embedding() {
        const std::size_t before = found_.embedding.size();
        if (peek() == 'n') return take("null");
        if (peek() == '[') return vector();
        if (peek() != '{') decline();
        bool data = false, rows = false, columns = false;
        std::uint64_t high = 0, wide = 0;
        members([&](std::string_view key) {
            if (key == "data") {
                once(data);
                if (peek() == 'n')
                    take("null");
                else
                    vector();
            } else if (key == "rows") {
                once(rows);
                high = whole<std::uint32_t>();
            } else if (key == "cols") {
                once(columns);
                wide = whole<std::uint32_t>();
            } else {
                value();
            }
        });
        const std::size_t count = found_.embedding.size() - before;
        if (count > 0 && (!rows || !columns || high * wide != count)) decline();
    }
    void vector() {
        elements([&] {
            const double x = number().value();
            if (!(std::abs(x) <= std::numeric_limits<float>::max())) decline();
            found_.embedding.push_back(static_cast<float>(x));
        });
    }

    void edge() {
        bool source = false, target = false;
        if (peek() != '{') decline();
        members([&](std::string_view key) {
            if (key == "source") {
                once(source);
                found_.source.push_back(whole<std::uint64_t>());
            } else if (key == "target") {
                once(target);
                found_.target.push_back(whole<std::uint64_t>());
            } else {
                value();
            }
        });
        if (!source || !target) decline();
    }
};

}  // namespace

std::optional<SparkColumns> read_spark_json(std::string_view text) {
    return unless_declined([&] { return Reader(text).read(); });
}

}  // namespace neuraltrees
