#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace neuraltrees {

struct Interrupted {};

/// Lets work on several threads be stopped from outside: the thread that created it asks whether to stop, and all
/// threads stop after a yes. It waits `pause` between questions, since asking may be slow (Python's interpreter lock).
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
