#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace neuraltrees {

/// Calls work(begin, end, worker) over [0, count) in chunks, on up to `threads` threads; rethrows the first exception.
/// Chunk borders depend on `count` and `chunk` alone, so that results never depend on the number of threads.
template <typename Work>
void parallel_chunks(std::int64_t count, std::int64_t chunk, int threads, Work&& work) {
    const std::int64_t chunks = (count + chunk - 1) / chunk;
    threads = static_cast<int>(std::min<std::int64_t>(threads, chunks));
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    auto loop = [&](int worker) {
        try {
            for (std::int64_t c = next++; c < chunks; c = next++)
                work(c * chunk, std::min(count, (c + 1) * chunk), worker);
        } catch (...) {
            next = chunks;
            const std::lock_guard lock(guard);
            if (!failure) failure = std::current_exception();
        }
    };
    std::vector<std::thread> pool;
    for (int t = 1; t < threads; ++t) pool.emplace_back(loop, t);
    loop(0);
    for (auto& thread : pool) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace neuraltrees
