#pragma once

#include <algorithm>
#include <chrono>
#include <functional>

namespace neuraltrees {

/// Called by an anytime search a few times per second; returning false asks it to stop.
using Report = std::function<bool(int lower_bound, int width)>;

/// A deadline that also reports progress to the caller, who may ask to stop.
class Clock {
public:
    using Time = std::chrono::steady_clock;

    explicit Clock(double seconds, const Report* report = nullptr)
        : end_(Time::now() +
               std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(std::min(seconds, 1e8)))),
          report_(report), next_report_(Time::now()) {}

    bool stop() {
        const auto now = Time::now();
        if (report_ && *report_ && now >= next_report_) {
            next_report_ = now + std::chrono::milliseconds(50);
            if (!(*report_)(lower_bound, width)) stopped_ = true;
        }
        return stopped_ || now >= end_;
    }
    double left() const { return std::chrono::duration<double>(end_ - Time::now()).count(); }

    /// A clock for a part of the work: it ends no later than this one and reports to the same caller. Pass it to
    /// `rejoin` afterwards, so that a request to stop reaches this clock too.
    Clock part(double seconds) {
        Clock clock(std::min(seconds, left()), report_);
        clock.lower_bound = lower_bound;
        clock.width = width;
        clock.next_report_ = next_report_;
        return clock;
    }
    void rejoin(const Clock& part) { stopped_ |= part.stopped_; }

    int lower_bound = -1, width = -1;

private:
    Time::time_point end_;
    const Report* report_;
    Time::time_point next_report_;
    bool stopped_ = false;
};

}  // namespace neuraltrees
