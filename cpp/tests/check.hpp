#pragma once

#include <algorithm>
#include <concepts>
#include <cstdio>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace check {

/// Ends a test at its first broken expectation; the runner prints it.
struct Failure {
    std::string what;
};

struct Test {
    const char* file;
    const char* name;
    void (*run)();
};

inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

struct Register {
    Register(const char* file, const char* name, void (*run)()) { tests().push_back({file, name, run}); }
};

template <typename T>
concept Text = std::convertible_to<const T&, std::string_view>;
template <typename T>
concept List = std::ranges::input_range<const T> && !Text<T>;
template <typename T>
concept Whole = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;
template <typename T>
concept Maybe = requires(const T& x) {
    x.has_value();
    *x;
};

template <typename T>
std::string shown(const T& x) {
    if constexpr (Text<T>) {
        return "\"" + std::string(std::string_view(x)) + "\"";
    } else if constexpr (std::same_as<T, bool>) {
        return x ? "true" : "false";
    } else if constexpr (std::is_enum_v<T>) {
        return std::to_string(static_cast<long long>(x));
    } else if constexpr (std::is_arithmetic_v<T>) {
        return std::to_string(x);
    } else if constexpr (std::is_pointer_v<T>) {
        char text[32];
        std::snprintf(text, sizeof text, "%p", static_cast<const void*>(x));
        return text;
    } else if constexpr (List<T>) {
        std::string out = "[";
        int count = 0;
        for (const auto& item : x) {
            if (++count > 200) return out + ", ...]";
            out += (count > 1 ? ", " : "") + shown(item);
        }
        return out + "]";
    } else if constexpr (Maybe<T>) {
        return x.has_value() ? shown(*x) : "nothing";
    } else if constexpr (requires { describe(x); }) {
        return describe(x);
    } else {
        return "a value";
    }
}

/// Equal lists may have different types (a span and a vector), equal integers different signs.
template <typename A, typename B>
bool equal(const A& a, const B& b) {
    if constexpr (List<A> && List<B>)
        return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return equal(x, y); });
    else if constexpr (Whole<A> && Whole<B>)
        return std::cmp_equal(a, b);
    else
        return a == b;
}

/// What the test is looking at, for the report of a failure inside a sweep. Nested notes are all shown.
class Note {
public:
    template <typename... Ts>
    explicit Note(const Ts&... parts) {
        std::string line;
        ((line += (line.empty() ? "" : " ") + piece(parts)), ...);
        notes().push_back(std::move(line));
    }
    ~Note() { notes().pop_back(); }
    Note(const Note&) = delete;
    Note& operator=(const Note&) = delete;

    static std::vector<std::string>& notes() {
        static std::vector<std::string> stack;
        return stack;
    }

private:
    template <typename T>
    static std::string piece(const T& x) {
        if constexpr (Text<T>)
            return std::string(std::string_view(x));
        else
            return shown(x);
    }
};

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
    std::string text = std::string(file) + ":" + std::to_string(line) + ": " + what;
    for (const auto& note : Note::notes()) text += "\n      where " + note;
    throw Failure{std::move(text)};
}

template <typename A, typename B>
void expect_equal(const char* file, int line, const char* code, const char* expected, const A& a, const B& b) {
    if (equal(a, b)) return;
    const std::string right = shown(b), wanted = expected == right ? right : std::string(expected) + " = " + right;
    fail(file, line, std::string(code) + " is " + shown(a) + ", expected " + wanted);
}

template <typename Error, typename F>
void throws(const char* file, int line, const char* code, const char* type, std::string_view message, F&& f) {
    std::optional<std::string> what;
    try {
        f();
    } catch (const Error& error) {
        if constexpr (requires { error.what(); })
            what = error.what();
        else
            what = "";
    }
    if (!what) fail(file, line, std::string(code) + " did not throw " + type);
    if (what->find(message) == std::string::npos)
        fail(file, line, std::string(code) + " threw " + shown(*what) + ", expected " + shown(message) + " in it");
}

}  // namespace check

#ifndef __FILE_NAME__
#define __FILE_NAME__ __FILE__
#endif

#define TEST(name)                                                               \
    static void name();                                                          \
    static const check::Register name##_registered{__FILE_NAME__, #name, &name}; \
    static void name()

#define CHECK(condition)                                                                \
    do {                                                                                \
        if (!(condition)) check::fail(__FILE_NAME__, __LINE__, #condition " is false"); \
    } while (false)

#define CHECK_EQ(left, right) check::expect_equal(__FILE_NAME__, __LINE__, #left, #right, left, right)

/// The message of the exception must hold `message`; "" accepts any.
#define CHECK_THROWS(code, Error, message) \
    check::throws<Error>(__FILE_NAME__, __LINE__, #code, #Error, message, [&] { (void)(code); })
