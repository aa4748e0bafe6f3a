#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// Calls work(begin, end, worker) over [0, count) in chunks, on up to `threads` threads; rethrows the first exception.
/// Chunk borders depend only on `count` and `chunk`, so that results do not depend on the number of threads. The
/// calling thread works too, and then waits for the others while it checks the watch.
template <typename Work>
void parallel_chunks(std::int64_t count, std::int64_t chunk, int threads, Work&& work, Watch watch = {}) {
    const std::int64_t chunks = (count + chunk - 1) / chunk;
    threads = static_cast<int>(std::min<std::int64_t>(threads, chunks));
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    std::condition_variable ended;
    int running = threads - 1;
    auto attempt = [&](auto&& part) {
        try {
            part();
        } catch (...) {
            next = chunks;
            const std::lock_guard lock(guard);
            if (!failure) failure = std::current_exception();
        }
    };
    auto loop = [&](int worker) {
        attempt([&] {
            for (std::int64_t c = next++; c < chunks; c = next++)
                work(c * chunk, std::min(count, (c + 1) * chunk), worker);
        });
    };
    std::vector<std::thread> pool;
    for (int t = 1; t < threads; ++t)
        pool.emplace_back([&, t] {
            loop(t);
            const std::lock_guard lock(guard);
            if (--running == 0) ended.notify_one();
        });
    loop(0);
    for (bool all = pool.empty(); !all;) {
        attempt([&] { (void)watch.late(); });
        std::unique_lock lock(guard);
        all = ended.wait_for(lock, std::chrono::milliseconds(20), [&] { return running == 0; });
    }
    for (auto& thread : pool) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace neuraltrees
