#include "neuraltrees/pace.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <unordered_set>

#include "neuraltrees/error.hpp"

namespace neuraltrees {
namespace {

/// Walks a text line by line and a line word by word.
class Lines {
public:
    explicit Lines(std::string_view text) : text_(text) {}

    /// Moves to the next line that is neither blank nor a comment.
    bool next() {
        while (at_ < text_.size()) {
            const std::size_t end = std::min(text_.find('\n', at_), text_.size());
            line_ = text_.substr(at_, end - at_);
            at_ = end + 1;
            ++number_;
            if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
            rest_ = line_;
            const auto first = word();
            rest_ = line_;
            if (!first.empty() && first != "c") return true;
        }
        return false;
    }
    std::string_view word() {
        const std::size_t begin = rest_.find_first_not_of(" \t");
        if (begin == std::string_view::npos) {
            rest_ = {};
            return {};
        }
        rest_.remove_prefix(begin);
        const std::size_t end = std::min(rest_.find_first_of(" \t"), rest_.size());
        const auto out = rest_.substr(0, end);
        rest_.remove_prefix(end);
        return out;
    }
    std::optional<std::int64_t> maybe_number(std::string_view what) {
        const auto w = word();
        if (w.empty()) return std::nullopt;
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), value);
        if (error != std::errc{} || end != w.data() + w.size())
            fail("expected " + std::string(what) + ", got '" + shown(w) + "'");
        return value;
    }
    /// `if_larger` ends the message about a value above `high`.
    std::int64_t number(std::string_view what, std::int64_t low, std::int64_t high, const char* if_larger = "") {
        const auto value = maybe_number(what);
        if (!value) fail("expected " + std::string(what) + ", got the end of the line");
        if (*value < low || *value > high)
            fail("expected " + std::string(what) + " between " + std::to_string(low) + " and " + std::to_string(high) +
                 ", got " + std::to_string(*value) + (*value > high ? if_larger : ""));
        return *value;
    }
    /// How many nodes or bags the header promises.
    std::int64_t count(std::string_view what) {
        return number(what, 0, max_graph_nodes, "; split the graph into smaller ones, one file per graph");
    }
    void expect(std::string_view wanted) {
        if (const auto w = word(); w != wanted) fail("expected '" + std::string(wanted) + "', got '" + shown(w) + "'");
    }
    void finish() {
        if (const auto w = word(); !w.empty()) fail("expected the end of the line, got '" + shown(w) + "'");
    }
    std::string_view peek() {
        const auto rest = rest_;
        const auto out = word();
        rest_ = rest;
        return out;
    }
    [[noreturn]] void fail(const std::string& why) const {
        throw ParseError("line " + std::to_string(std::max<std::int64_t>(1, number_)) + ": " + why + ".");
    }

private:
    static std::string shown(std::string_view w) {
        std::string out;
        for (char c : w.substr(0, 20)) out += c >= 32 && c < 127 ? c : '?';
        return w.size() > 20 ? out + "..." : out;
    }

    std::string_view text_, line_, rest_;
    std::size_t at_ = 0;
    std::int64_t number_ = 0;
};

}  // namespace

Graph parse_gr(std::string_view text, Watch watch) {
    Lines lines(text);
    if (!lines.next()) lines.fail("expected a header 'p tw NODES EDGES', got the end of the file");
    lines.expect("p");
    lines.expect("tw");
    const std::int64_t nodes = lines.count("the number of nodes");
    const std::int64_t edges = lines.number("the number of edges", 0, std::int64_t{1} << 40);
    lines.finish();
    std::vector<std::int64_t> source, target;
    while (lines.next()) {
        watch.check(16);
        if (static_cast<std::int64_t>(source.size()) == edges)
            lines.fail("expected " + std::to_string(edges) + " edges as the header says, got more");
        source.push_back(lines.number("a node", 1, nodes) - 1);
        target.push_back(lines.number("a node", 1, nodes) - 1);
        lines.finish();
    }
    if (static_cast<std::int64_t>(source.size()) != edges)
        lines.fail("expected " + std::to_string(edges) + " edges as the header says, got " +
                   std::to_string(source.size()));
    try {
        return graph_from_edges(source, target, nodes, watch);
    } catch (const InputError& error) {
        throw ParseError(std::string("the header: ") + error.what());
    }
}

ParsedDecomposition parse_td(std::string_view text, Watch watch) {
    Lines lines(text);
    if (!lines.next()) lines.fail("expected a header 's td BAGS MAXBAG NODES', got the end of the file");
    lines.expect("s");
    lines.expect("td");
    const std::int64_t bags = lines.count("the number of bags");
    const std::int64_t largest = lines.count("the size of the largest bag");
    const std::int64_t nodes = lines.count("the number of nodes");
    lines.finish();
    // Bags come in any order; a header may promise more than the file holds, so nothing is reserved on its word.
    std::vector<std::vector<Vertex>> bag;
    std::vector<std::int64_t> id;
    std::unordered_set<std::int64_t> seen;
    TreeDecomposition td;
    while (lines.next()) {
        watch.check(32);
        if (lines.peek() == "b") {
            lines.word();
            if (static_cast<std::int64_t>(id.size()) == bags)
                lines.fail("expected " + std::to_string(bags) + " bags as the header says, got more");
            id.push_back(lines.number("the number of a bag", 1, bags) - 1);
            if (!seen.insert(id.back()).second) lines.fail("bag " + std::to_string(id.back() + 1) + " is given twice");
            auto& members = bag.emplace_back();
            while (const auto v = lines.maybe_number("a node")) {
                watch.check(16);
                if (*v < 1 || *v > nodes)
                    lines.fail("expected a node between 1 and " + std::to_string(nodes) + ", got " +
                               std::to_string(*v));
                members.push_back(static_cast<Vertex>(*v - 1));
            }
            std::sort(members.begin(), members.end());
            // Some public files repeat a node.
            members.erase(std::unique(members.begin(), members.end()), members.end());
            if (static_cast<std::int64_t>(members.size()) > largest)
                lines.fail("expected bags of at most " + std::to_string(largest) + " nodes as the header says, got " +
                           std::to_string(members.size()));
            continue;
        }
        const std::int64_t a = lines.number("a bag", 1, bags) - 1, b = lines.number("a bag", 1, bags) - 1;
        lines.finish();
        td.edges.push_back({static_cast<Vertex>(a), static_cast<Vertex>(b)});
    }
    if (static_cast<std::int64_t>(bag.size()) != bags)
        lines.fail("expected " + std::to_string(bags) + " bags as the header says, got " + std::to_string(bag.size()));
    std::vector<std::int64_t> where(bags, -1);
    for (std::int64_t i = 0; i < bags; ++i) where[id[i]] = i;
    for (std::int64_t i = 0; i < bags; ++i) td.add_bag(bag[where[i]]);
    return {std::move(td), nodes};
}

}  // namespace neuraltrees
