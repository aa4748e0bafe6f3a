#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace neuraltrees {

struct Interrupted {};

/// Lets long work on several threads be stopped from outside: only the thread that made it asks, all threads obey. It
/// can wait between questions, for an answer may cost time (Python's interpreter lock).
class Interrupt {
public:
    explicit Interrupt(std::function<bool()> asked = {}, std::chrono::milliseconds pause = {})
        : asked_(std::move(asked)), pause_(pause), owner_(std::this_thread::get_id()) {}

    void check() {
        if (asked_ && std::this_thread::get_id() == owner_) {
            if (Time::now() >= next_) {
                if (asked_()) stopped_ = true;
                next_ = Time::now() + pause_;
            }
        }
        if (stopped_) throw Interrupted{};
    }

private:
    using Time = std::chrono::steady_clock;

    std::function<bool()> asked_;
    std::chrono::milliseconds pause_;
    std::thread::id owner_;
    Time::time_point next_{};
    std::atomic<bool> stopped_{false};
};

}  // namespace neuraltrees
