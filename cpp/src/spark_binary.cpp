#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "declined.hpp"
#include "json_reader.hpp"
#include "neuraltrees/spark.hpp"
#include "spark_values.hpp"

namespace neuraltrees {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The tags in front of values, which are little-endian.
enum Tag : std::uint8_t {
    begin_list = 0x00,
    end_list = 0x01,
    no = 0xc2,
    yes = 0xc3,
    float32 = 0xca,
    float64 = 0xcb,
    uint8 = 0xcc,
    uint32 = 0xce,
    uint64 = 0xcf,
    int32 = 0xd2,
    int64 = 0xd3,
    array = 0xdd,
};

/// How the attributes of a node go on after those that all nodes have.
struct Layout {
    std::string_view type;
    bool semantic;          // name, colour, box, label and embedding follow
    bool place, room;       // then the distance to the nearest obstacle; probabilities of labels
    std::string_view rest;  // then values that are skipped, a letter each; see `Reader::skip`
};
constexpr std::array layouts{
    Layout{"NodeAttributes", false, false, false, ""},
    Layout{"SemanticNodeAttributes", true, false, false, ""},
    Layout{"ObjectNodeAttributes", true, false, false, "Ubq"},
    Layout{"RoomNodeAttributes", true, false, true, ""},
    Layout{"PlaceNodeAttributes", true, true, false, "weUBUbbdddqbub"},
    Layout{"AgentNodeAttributes", false, false, false, "lquWF"},
};

/// Metadata, which are JSON.
class Metadata : public JsonReader {
public:
    explicit Metadata(std::string_view text) : JsonReader(text) {}

    /// Declines text that the package spark-dsg might refuse.
    void check() {
        if (text_ == "{}" || text_ == "null") return;
        for (const char letter : text_)
            if (static_cast<unsigned char>(letter) >= 0x80) decline();
        if (text_.find_first_of("\\") != std::string_view::npos) decline();  // halves of surrogate pairs
        members([&](std::string_view) { plain_value(); });
        if (at_ != text_.size()) decline();
    }

private:
    /// Skips a value whose numbers a double can hold.
    void plain_value() {
        switch (peek()) {
            case '{': return members([&](std::string_view) { plain_value(); });
            case '[': return elements([&] { plain_value(); });
            case '"':
            case 't':
            case 'f':
            case 'n': return value();
            default: number().value();
        }
    }
};

class Reader {
public:
    explicit Reader(std::string_view message) : bytes_(message) {}

    SparkColumns read() {
        repeat([&] { found_.layers.push_back(layer_key().first); });
        repeat([&] { found_.types.push_back(string()); });
        for (const Span& type : found_.types) {
            const std::string_view name = letters(type);
            const auto* known =
                std::find_if(layouts.begin(), layouts.end(), [name](const Layout& each) { return each.type == name; });
            layout_.push_back(known == layouts.end() ? nullptr : known);
        }
        std::vector<bool> plain;  // types of edges that are known
        repeat([&] { plain.push_back(letters(string()) == "EdgeAttributes"); });
        repeat([&] {
            found_.layer_name.push_back(string());
            const auto [layer, partition] = layer_key();
            found_.layer_of_name.push_back(layer);
            found_.partition_of_name.push_back(partition);
        });
        metadata();
        list([&] { node(); });
        list([&] {
            expect_array(3);
            found_.source.push_back(get<std::uint64_t>(uint64));
            found_.target.push_back(get<std::uint64_t>(uint64));
            const auto type = get<std::uint8_t>(uint8);
            if (type >= plain.size() || !plain[type]) decline();
            metadata();
            boolean();
            get<double>(float64);
        });
        if (boolean() || at_ != bytes_.size()) decline();  // with a mesh
        return std::move(found_);
    }

private:
    std::string_view bytes_;
    std::size_t at_ = 0;
    std::vector<const Layout*> layout_;
    SparkColumns found_;

    std::int64_t here() const { return static_cast<std::int64_t>(at_); }
    std::string_view letters(Span span) const { return bytes_.substr(span.begin, span.end - span.begin); }

    template <typename T>
    T raw() {
        T value;
        if (bytes_.size() - at_ < sizeof(T)) decline();
        std::memcpy(&value, bytes_.data() + at_, sizeof(T));
        at_ += sizeof(T);
        return value;
    }
    template <typename T>
    T get(Tag tag) {
        if (raw<std::uint8_t>() != tag) decline();
        return raw<T>();
    }
    bool boolean() {
        const auto tag = raw<std::uint8_t>();
        if (tag != no && tag != yes) decline();
        return tag == yes;
    }
    std::uint32_t length() { return get<std::uint32_t>(array); }
    void expect_array(std::uint32_t count) {
        if (length() != count) decline();
    }
    template <typename Each>
    void repeat(Each each) {
        for (std::uint32_t left = length(); left > 0; --left) each();
    }
    template <typename Each>
    void list(Each each) {
        if (raw<std::uint8_t>() != begin_list) decline();
        while (at_ < bytes_.size() && static_cast<std::uint8_t>(bytes_[at_]) != end_list) each();
        if (raw<std::uint8_t>() != end_list) decline();
    }
    Span string() {
        const std::size_t size = length();
        if (bytes_.size() - at_ < size) decline();
        const std::int64_t begin = here();
        at_ += size;
        return {begin, here()};
    }
    std::pair<std::int64_t, std::int64_t> layer_key() {
        expect_array(2);
        const auto layer = get<std::int64_t>(int64);
        return {layer, get<std::uint32_t>(uint32)};
    }
    void metadata() { Metadata(letters(string())).check(); }

    /// Skips a value of the kind of a letter.
    void skip(char kind) {
        switch (kind) {
            case 'b': return void(boolean());
            case 'd': return void(get<double>(float64));
            case 'w': return void(get<std::uint32_t>(uint32));
            case 'u': return void(get<std::uint64_t>(uint64));
            case 'l': return void(get<std::int64_t>(int64));
            case 'q':
                expect_array(4);
                for (int i = 0; i < 4; ++i) get<double>(float64);
                return;
            case 'e': return expect_array(0);  // pairs of numbers in older maps: left to the package
            case 'U': return repeat([&] { get<std::uint64_t>(uint64); });
            case 'B': return repeat([&] { get<std::uint8_t>(uint8); });
            case 'W': return column<std::uint32_t>(uint32);
            case 'F': return column<float>(float32);
            default: decline();
        }
    }

    void node() {
        expect_array(4);
        found_.layer.push_back(get<std::int64_t>(int64));
        found_.id.push_back(get<std::uint64_t>(uint64));
        found_.partition.push_back(get<std::uint32_t>(uint32));
        const auto type = get<std::uint8_t>(uint8);
        if (type >= layout_.size() || layout_[type] == nullptr) decline();
        const Layout& layout = *layout_[type];
        found_.type.push_back(type);
        found_.agent.push_back(layout.type == "AgentNodeAttributes");
        found_.prefix.push_back(0);
        metadata();
        for (int i = 0; i < 3; ++i) {
            const auto x = get<double>(float64);
            if (!(std::abs(x) <= farthest)) decline();
            found_.position.push_back(x);
        }
        get<std::uint64_t>(uint64);
        boolean();
        boolean();
        for (auto* rows : {&found_.size, &found_.centre}) rows->insert(rows->end(), 3, nan);
        for (auto* spans :
             {&found_.name, &found_.attributes, &found_.name_value, &found_.label_value, &found_.probabilities_value})
            spans->emplace_back();
        found_.box.push_back(Box::none);
        found_.label.push_back(label_absent);
        found_.distance.push_back(nan);
        if (layout.semantic) semantic_attributes();
        found_.embedding_ptr.push_back(static_cast<std::int64_t>(found_.embedding.size()));
        if (layout.place) found_.distance.back() = get<double>(float64);
        if (layout.room) {
            const std::int64_t begin = here();
            repeat([&] {
                string();
                get<double>(float64);
            });
            found_.probabilities_value.back() = {begin, here()};
        }
        for (const char kind : layout.rest) skip(kind);
    }

    void semantic_attributes() {
        std::int64_t begin = here();
        const Span name = string();
        found_.name_value.back() = {begin, here()};
        if (name.end > name.begin) found_.name.back() = name;
        for (int i = 0; i < 4; ++i) get<std::uint8_t>(uint8);
        bounding_box();
        begin = here();
        const auto label = get<std::uint32_t>(uint32);
        found_.label.back() = label == unlabelled ? label_unknown : static_cast<std::int64_t>(label);
        found_.label_value.back() = {begin, here()};
        matrix<float>(float32, [&](float x) {
            if (!(std::abs(x) <= std::numeric_limits<float>::max())) decline();
            found_.embedding.push_back(x);
        });
    }

    void bounding_box() {
        expect_array(4);
        const auto type = get<std::int32_t>(int32);
        std::array<double, 6> numbers;  // size, centre
        for (double& x : numbers) x = get<float>(float32);
        int place = 0;
        bool turned = false;
        const auto shape = matrix<float>(float32, [&](float x) { turned |= x != (place++ % 4 == 0 ? 1.0F : 0.0F); });
        if (shape != std::pair<std::int64_t, std::int64_t>(3, 3)) decline();
        found_.box.back() = Box::invalid;
        if (type == 0) return;
        if (type < 0 || type > 3 || (type > 1 && turned)) decline();
        const auto good = [](double x) { return std::abs(x) <= farthest; };
        if (!std::all_of(numbers.begin(), numbers.end(), good)) decline();
        const double least = *std::min_element(numbers.begin(), numbers.begin() + 3);
        if (least < 0) decline();
        if (least == 0) return;  // a flat box is invalid, says the package
        found_.box.back() = Box::valid;
        std::copy_n(numbers.begin(), 3, found_.size.end() - 3);
        std::copy_n(numbers.begin() + 3, 3, found_.centre.end() - 3);
    }

    /// A matrix: its numbers of rows and columns, which are returned, then its entries.
    template <typename T, typename Each>
    std::pair<std::int64_t, std::int64_t> matrix(Tag tag, Each each) {
        const std::uint64_t count = length();
        if (count < 2) decline();
        const auto rows = get<std::int64_t>(int64), columns = get<std::int64_t>(int64);
        const auto most = static_cast<std::int64_t>(bytes_.size());
        if (rows < 0 || columns < 0 || rows > most || columns > most) decline();
        if (static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns) != count - 2) decline();
        for (std::uint64_t i = 2; i < count; ++i) each(get<T>(tag));
        return {rows, columns};
    }
    /// A matrix of one column.
    template <typename T>
    void column(Tag tag) {
        if (matrix<T>(tag, [](T) {}).second != 1) decline();
    }
};

}  // namespace

std::optional<SparkColumns> read_spark_binary(std::string_view message) {
    return unless_declined([&] { return Reader(message).read(); });
}

}  // namespace neuraltrees
