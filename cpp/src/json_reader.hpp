#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include "declined.hpp"

namespace neuraltrees {

/// A number as it is written.
struct Number {
    std::string_view text;
    bool whole;  // without a fraction and an exponent

    double value() const {
        double found = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found);
        if (error != std::errc() || end != text.data() + text.size()) decline();
        return found;
    }
};

/// Reads JSON from the front to the back, without building values: a derived class says what it wants of each. Declines
/// text that is not JSON or is nested too deep, and keys with escapes.
class JsonReader {
public:
    explicit JsonReader(std::string_view text) : text_(text) {}

protected:
    std::string_view text_;
    std::size_t at_ = 0;

    std::int64_t here() const { return static_cast<std::int64_t>(at_); }
    char peek() const {
        if (at_ >= text_.size()) decline();
        return text_[at_];
    }
    void take(char letter) {
        if (peek() != letter) decline();
        ++at_;
    }
    void take(std::string_view word) {
        if (text_.substr(at_, word.size()) != word) decline();
        at_ += word.size();
    }
    void skip_space() {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
            ++at_;
    }

    /// Reads an object: calls each(key) where the value of a key begins. Space after the outermost object is skipped,
    /// outside of the spans of values.
    template <typename Each>
    void members(Each each) {
        separated('{', '}', [&] {
            const std::string_view key = plain_string();
            skip_space();
            take(':');
            skip_space();
            each(key);
        });
        if (depth_ == 0) skip_space();
    }
    /// Reads an array: calls each() where an element begins.
    template <typename Each>
    void elements(Each each) {
        separated('[', ']', each);
    }

    /// Skips a value of any kind.
    void value() {
        switch (peek()) {
            case '{': members([&](std::string_view) { value(); }); break;
            case '[': elements([&] { value(); }); break;
            case '"': string(); break;
            case 't': take("true"); break;
            case 'f': take("false"); break;
            case 'n': take("null"); break;
            default: number();
        }
    }

    /// Skips a string; whether it has escapes.
    bool string() {
        take('"');
        bool escaped = false;
        while (true) {
            const char letter = peek();
            ++at_;
            if (letter == '"') return escaped;
            if (static_cast<unsigned char>(letter) < 0x20) decline();
            if (letter != '\\') continue;
            escaped = true;
            const char kind = peek();
            ++at_;
            if (kind == 'u') {
                for (int i = 0; i < 4; ++i, ++at_)
                    if (!is_hex(peek())) decline();
            } else if (std::string_view("\"\\/bfnrt").find(kind) == std::string_view::npos) {
                decline();
            }
        }
    }
    static bool is_hex(char x) { return ('0' <= x && x <= '9') || ('a' <= x && x <= 'f') || ('A' <= x && x <= 'F'); }

    std::string_view plain_string() {
        const std::size_t begin = at_ + 1;
        if (string()) decline();
        return text_.substr(begin, at_ - 1 - begin);
    }

    void digits() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && '0' <= text_[at_] && text_[at_] <= '9') ++at_;
        if (at_ == begin) decline();
    }
    Number number() {
        const std::size_t begin = at_;
        if (peek() == '-') ++at_;
        if (peek() == '0')
            ++at_;
        else
            digits();
        bool whole = true;
        if (at_ < text_.size() && text_[at_] == '.') {
            whole = false;
            ++at_;
            digits();
        }
        if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
            whole = false;
            ++at_;
            if (peek() == '-' || peek() == '+') ++at_;
            digits();
        }
        return {text_.substr(begin, at_ - begin), whole};
    }
    template <typename Whole>
    Whole whole() {
        const Number found = number();
        Whole result{};
        const char* end = found.text.data() + found.text.size();
        if (!found.whole || found.text[0] == '-') decline();
        const auto [stop, error] = std::from_chars(found.text.data(), end, result);
        if (error != std::errc() || stop != end) decline();
        return result;
    }

private:
    static constexpr int deepest = 200;  // nested brackets
    int depth_ = 0;

    template <typename Each>
    void separated(char open, char close, Each each) {
        take(open);
        if (++depth_ > deepest) decline();
        skip_space();
        if (peek() != close) {
            while (true) {
                each();
                skip_space();
                if (peek() == close) break;
                take(',');
                skip_space();
            }
        }
        ++at_;
        --depth_;
    }
};

}  // namespace neuraltrees
