#include <unistd.h>

#include <array>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "graphs.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

#ifdef __SANITIZE_ADDRESS__
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#endif

namespace {

using Input = std::vector<std::uint8_t>;

constexpr unsigned seconds_an_input = 60;
constexpr int kinds = 6;

Input current;  // what is being run, for the report of a crash

void print_current() {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text = "failing input: --hex ";
    for (std::uint8_t byte : current) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    text += "\n";
    for (std::size_t at = 0; at < text.size();) {
        const auto wrote = write(STDERR_FILENO, text.data() + at, text.size() - at);
        if (wrote <= 0) return;
        at += static_cast<std::size_t>(wrote);
    }
}

void on_signal(int signal) {
    constexpr std::string_view slow = "fuzz: an input takes too long\n";
    if (signal == SIGALRM && write(STDERR_FILENO, slow.data(), slow.size()) < 0) _exit(1);
    print_current();
    _exit(1);
}

void watch() {
    // A signal stack of its own: without it, a stack overflow by infinite recursion could not be reported.
    static std::array<char, 1 << 16> stack;
    stack_t other{};
    other.ss_sp = stack.data();
    other.ss_size = stack.size();
    sigaltstack(&other, nullptr);
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    std::vector<int> signals{SIGABRT, SIGALRM};
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_set_death_callback(print_current);  // the sanitizer reports the other signals itself, at more length
#else
    signals.insert(signals.end(), {SIGSEGV, SIGFPE, SIGBUS, SIGILL});
#endif
    for (int signal : signals) sigaction(signal, &action, nullptr);
}

Input text_input(int kind, std::string_view text) {
    Input out{static_cast<std::uint8_t>(kind)};
    out.insert(out.end(), text.begin(), text.end());
    return out;
}

/// Valid inputs of every kind to start from; the first byte says which.
std::vector<Input> seeds() {
    std::vector<Input> out{
        text_input(0, "c a triangle with a tail\np tw 4 4\n1 2\n2 3\n3 1\n3 4\n"),
        text_input(0, "p tw 0 0\n"),
        text_input(0, "p tw 999999 2\r\n1 999999\r\n\t2 2 \n"),
        text_input(1, "s td 3 3 5\nb 1 1 2 3\nb 2 2 3 4\nb 3 3 4 5\n1 2\n2 3\n"),
        text_input(1, "c\ns td 4 2 3\nb 4 3\nb 2 2 1\nb 1 2\nb 3\n1 2\n4 3\n3 1\n"),
        text_input(1, "s td 1 0 0\nb 1\n"),
    };
    // The paper's figure edge by edge, under every kind that begins with a graph.
    for (std::uint8_t kind = 2; kind < kinds; ++kind) {
        out.push_back({kind, 0, 4, 6, 0, 1, 0, 2, 1, 3,   2, 3, 2, 4, 3,  4,  // the edges
                       1,    2, 1, 3, 0, 9, 1, 2, 3, 200, 0, 0, 0, 0, 255});
        for (std::uint8_t n : {9, 30, 64, 65, 100})
            for (std::uint8_t density : {10, 60, 200})
                out.push_back({kind, 1, n, density, 0, n, 3, 2, 1, 4, 200, 0, 1, 3, 2, 255});
        for (std::uint8_t k : {1, 3, 7}) out.push_back({kind, 2, 100, k, 220, 1, k, 0, 3, 1, 2, 255, 2, 0, 1, 1, 255});
        out.push_back({kind, 3, 2, 40, 2, 230, 0, 1, 1, 20, 100, 0, 2, 1, 2, 1, 3, 100, 0, 0, 0, 0, 100});
        out.push_back({kind, 4, 2, 40, 7, 230, 0, 1, 6, 5, 0, 3, 0, 5, 200, 0, 0, 0, 0, 100});
    }
    return out;
}

Input random_input(neuraltrees::Rng& rng) {
    Input out(1 + rng.below(rng.chance(0.1) ? 300 : 60));
    for (auto& byte : out) byte = static_cast<std::uint8_t>(rng.next());
    out[0] = static_cast<std::uint8_t>(rng.below(kinds));
    return out;
}

void mutate(Input& input, const std::vector<Input>& pool, neuraltrees::Rng& rng) {
    static constexpr std::string_view words[] = {
        "p tw ", "s td ", "b 1 ", "c ", "\n", " ",          "\t",
        "\r\n",  "0",     "1",    "-1", "b",  "2147483648", "99999999999999999999",
        "1 2\n"};
    auto place = [&](std::size_t end) { return static_cast<std::size_t>(rng.below(static_cast<int>(end))); };
    auto gap = [&] { return input.begin() + static_cast<std::ptrdiff_t>(1 + place(input.size())); };
    switch (rng.below(7)) {
        case 0: input[place(input.size())] = static_cast<std::uint8_t>(rng.next()); break;
        case 1: input[place(input.size())] ^= static_cast<std::uint8_t>(1 << rng.below(8)); break;
        case 2: input.insert(gap(), static_cast<std::uint8_t>(rng.next())); break;
        case 3:
            if (input.size() > 2) input.erase(input.begin() + static_cast<std::ptrdiff_t>(1 + place(input.size() - 1)));
            break;
        case 4: {
            const auto word = words[rng.below(static_cast<int>(std::size(words)))];
            input.insert(gap(), word.begin(), word.end());
            break;
        }
        case 5: {  // another digit in the place of one, which keeps a text well-formed
            std::size_t at = place(input.size()), left = input.size();
            while (left > 0 && !std::isdigit(input[at])) at = (at + 1) % input.size(), --left;
            if (at > 0 && left > 0) input[at] = static_cast<std::uint8_t>('0' + rng.below(10));
            break;
        }
        default: {  // the end of another input
            const Input& other = pool[place(pool.size())];
            input.resize(1 + place(input.size()));
            input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(place(other.size())), other.end());
        }
    }
    input[0] %= kinds;
    if (input.size() > 4096) input.resize(4096);
}

void run(const Input& input) {
    current = input;
    alarm(seconds_an_input);
    LLVMFuzzerTestOneInput(current.data(), current.size());
}

bool parse_hex(std::string_view text, Input& out) {
    if (text.size() % 2 != 0) return false;
    for (std::size_t i = 0; i < text.size(); i += 2) {
        char* end = nullptr;
        const std::string pair(text.substr(i, 2));
        out.push_back(static_cast<std::uint8_t>(std::strtoul(pair.c_str(), &end, 16)));
        if (end != pair.c_str() + 2) return false;
    }
    return true;
}

int usage(const char* name) {
    std::fprintf(stderr, "usage: %s [--seconds S] [--seed N] | --hex BYTES\n", name);
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    double seconds = 20;
    std::uint64_t seed = 1;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) return usage(argv[0]);
        if (std::strcmp(argv[i], "--seconds") == 0) {
            seconds = std::atof(argv[i + 1]);
        } else if (std::strcmp(argv[i], "--seed") == 0) {
            seed = std::strtoull(argv[i + 1], nullptr, 10);
        } else if (std::strcmp(argv[i], "--hex") == 0) {
            Input input;
            if (!parse_hex(argv[i + 1], input)) return usage(argv[0]);
            watch();
            run(input);
            std::printf("1 input\n");
            return 0;
        } else {
            return usage(argv[0]);
        }
    }
    watch();
    const std::vector<Input> pool = seeds();
    neuraltrees::Rng rng(seed);
    std::array<std::int64_t, kinds> count{};
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    std::size_t next = 0;
    while (std::chrono::steady_clock::now() < end) {
        Input input;
        if (next < pool.size()) {
            input = pool[next++];
        } else if (rng.chance(0.3)) {
            input = random_input(rng);
        } else {
            const int kind = rng.below(kinds);
            do input = pool[static_cast<std::size_t>(rng.below(static_cast<int>(pool.size())))];
            while (input[0] != kind);
            for (int i = 1 + rng.below(6); i > 0; --i) mutate(input, pool, rng);
        }
        run(input);
        ++count[input[0]];
    }
    alarm(0);
    std::int64_t total = 0;
    for (std::int64_t c : count) total += c;
    std::printf("%lld inputs (", static_cast<long long>(total));
    for (int k = 0; k < kinds; ++k) std::printf("%s%lld", k > 0 ? ", " : "", static_cast<long long>(count[k]));
    std::printf(" of each kind)\n");
    return 0;
}
