#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <thread>
#include <utility>

namespace neuraltrees {

/// Thrown by work whose caller asked it to stop.
struct Interrupted {};

/// Called by long work several times per second; returning false ends the work with Interrupted. Both numbers are -1
/// until they are known.
using Report = std::function<bool(int lower_bound, int width)>;

/// The caller of some work, shared by all threads of the work. Only the thread that created it calls the report, since
/// Python handles signals in one thread; all threads stop when it returns false. The bounds never get worse.
class Caller {
public:
    explicit Caller(Report report = {}, std::chrono::milliseconds pause = std::chrono::milliseconds(50))
        : report_(std::move(report)), pause_(pause), owner_(std::this_thread::get_id()), next_(Time::now() + pause) {}

    void check() {
        if (!stopped_ && report_ && std::this_thread::get_id() == owner_ && Time::now() >= next_) {
            if (!report_(lower_bound_, width_)) stopped_ = true;
            next_ = Time::now() + pause_;
        }
        if (stopped_) throw Interrupted{};
    }
    void at_least(int bound) {
        for (int known = lower_bound_; known < bound && !lower_bound_.compare_exchange_weak(known, bound);) {
        }
    }
    void at_most(std::int64_t width) {
        const auto bound = static_cast<int>(width);
        for (int known = width_; (known < 0 || known > bound) && !width_.compare_exchange_weak(known, bound);) {
        }
    }

private:
    using Time = std::chrono::steady_clock;

    Report report_;
    std::chrono::milliseconds pause_;
    std::thread::id owner_;
    Time::time_point next_;
    std::atomic<bool> stopped_{false};
    std::atomic<int> lower_bound_{-1}, width_{-1};
};

/// The time limit of some work and its connection to the caller: a small value that is passed to every long loop, one
/// per thread. It reads the clock once in about ten thousand steps of work.
class Watch {
public:
    /// Without a caller and without a time limit.
    Watch() = default;
    explicit Watch(double seconds) : end_(after(seconds)) {}
    explicit Watch(Caller& caller, double seconds = std::numeric_limits<double>::infinity())
        : caller_(&caller), end_(after(seconds)) {}

    /// Whether the time is over. Throws Interrupted if the caller asked to stop.
    bool late() {
        work_ = 0;
        if (caller_) caller_->check();
        return late_ = limited() && Time::now() >= end_;
    }
    /// The same after `steps` more steps of work; reads the clock only now and then.
    bool late(std::int64_t steps) { return (work_ += steps) < interval ? late_ : late(); }
    /// For loops that must not end early.
    void check(std::int64_t steps = 1) { (void)late(steps); }

    bool limited() const { return end_ != Time::time_point::max(); }
    /// Seconds; infinite without a limit.
    double left() const {
        return limited() ? std::chrono::duration<double>(end_ - Time::now()).count()
                         : std::numeric_limits<double>::infinity();
    }
    /// A watch for a part of the work: it ends no later than this one and has the same caller.
    Watch part(double seconds) const {
        Watch out(*this);
        out.work_ = 0;
        out.late_ = false;
        out.end_ = std::min(end_, after(seconds));
        return out;
    }
    /// The same for a part of the graph, where `width` was reached outside of it and `open` vertices there have no bag
    /// yet.
    Watch inside(int width, std::int64_t open) const {
        Watch out(*this);
        out.width_outside_ = std::max(width_outside_, width);
        out.open_outside_ = open_outside_ + open;
        return out;
    }

    void at_least(int lower_bound) {
        if (caller_) caller_->at_least(lower_bound);
    }
    /// `width` was reached, and one bag can hold the `open` vertices that are left.
    void at_most(int width, std::int64_t open = 0) {
        if (caller_) caller_->at_most(std::max<std::int64_t>({width, width_outside_, open + open_outside_ - 1}));
    }

private:
    using Time = std::chrono::steady_clock;
    static constexpr std::int64_t interval = 1 << 14;

    static Time::time_point after(double seconds) {
        if (seconds > 1e8) return Time::time_point::max();
        return Time::now() + std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds));
    }

    Caller* caller_ = nullptr;
    Time::time_point end_ = Time::time_point::max();
    std::int64_t work_ = 0, open_outside_ = 0;
    int width_outside_ = -1;
    bool late_ = false;
};

}  // namespace neuraltrees
