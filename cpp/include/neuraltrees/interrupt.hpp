#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace neuraltrees {

struct Interrupted {};

/// Lets long work on several threads be stopped from outside: only the thread that made it asks, all threads obey.
class Interrupt {
public:
    explicit Interrupt(std::function<bool()> asked = {}) : asked_(std::move(asked)), owner_(std::this_thread::get_id()) {}

    void check() {
        if (asked_ && std::this_thread::get_id() == owner_ && asked_()) stopped_ = true;
        if (stopped_) throw Interrupted{};
    }

private:
    std::function<bool()> asked_;
    std::thread::id owner_;
    std::atomic<bool> stopped_{false};
};

}  // namespace neuraltrees
