#include <numeric>
#include <thread>

#include "check.hpp"
#include "graphs.hpp"
#include "neuraltrees/buffer.hpp"

using namespace neuraltrees;

TEST(a_buffer_holds_what_is_written) {
    for (std::int64_t n : {0, 1, 7, 500, 512, 513, 100'000, 1'048'576, 1'100'000, 3'000'000}) {
        Buffer buffer(n);
        CHECK_EQ(buffer.size, n);
        CHECK_EQ(buffer.view().size(), n);
        CHECK_EQ(reinterpret_cast<std::uintptr_t>(buffer.data.get()) % alignof(std::int64_t), 0);
        for (std::int64_t i = 0; i < n; ++i) buffer[i] = i * i;
        for (std::int64_t i = 0; i < n; i += 97) CHECK_EQ(buffer.view()[i], i * i);
    }
    CHECK_EQ(Buffer().size, 0);
}

TEST(buffers_that_live_together_do_not_overlap) {
    // Memory is used again after it is freed, by any thread, but never while it is held.
    auto work = [](std::uint64_t seed) {
        Rng rng(seed);
        std::vector<std::pair<Buffer, std::int64_t>> held;
        for (int step = 0; step < 600; ++step) {
            if (held.size() > 12 || (!held.empty() && rng.chance(0.4))) {
                std::swap(held.back(), held[rng.below(static_cast<int>(held.size()))]);
                for (std::int64_t x : held.back().first.view()) CHECK_EQ(x, held.back().second);
                held.pop_back();
            } else {
                Buffer fresh(rng.below(rng.chance(0.1) ? 60'000 : 2'000));
                const auto mark = static_cast<std::int64_t>(rng.next());
                for (std::int64_t i = 0; i < fresh.size; ++i) fresh[i] = mark;
                held.emplace_back(std::move(fresh), mark);
            }
        }
        for (const auto& [buffer, mark] : held)
            for (std::int64_t x : buffer.view()) CHECK_EQ(x, mark);
    };
    std::vector<std::thread> threads;
    std::vector<std::string> failures(4);
    for (std::uint64_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            try {
                work(t);
            } catch (const check::Failure& failure) {
                failures[t] = failure.what;
            }
        });
    for (auto& thread : threads) thread.join();
    CHECK_EQ(failures, std::vector<std::string>(4));
}
