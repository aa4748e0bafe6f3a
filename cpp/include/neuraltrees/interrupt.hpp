#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace neuraltrees {

struct Interrupted {};

/// Lets long work on several threads be stopped from outside: only the thread that made it asks, all threads obey. It asks a
/// few times a second, since the answer may have to wait for others (Python's interpreter lock).
class Interrupt {
public:
    explicit Interrupt(std::function<bool()> asked = {}) : asked_(std::move(asked)), owner_(std::this_thread::get_id()) {}

    void check() {
        if (asked_ && std::this_thread::get_id() == owner_) {
            if (const auto now = Time::now(); now >= next_) {
                if (asked_()) stopped_ = true;
                next_ = Time::now() + std::chrono::milliseconds(100);
            }
        }
        if (stopped_) throw Interrupted{};
    }

private:
    using Time = std::chrono::steady_clock;

    std::function<bool()> asked_;
    std::thread::id owner_;
    Time::time_point next_ = Time::now() + std::chrono::milliseconds(100);
    std::atomic<bool> stopped_{false};
};

}  // namespace neuraltrees
