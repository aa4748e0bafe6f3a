#pragma once

#include <optional>

namespace neuraltrees {

/// Thrown by a reader for what it leaves to another one.
struct Declined {};

[[noreturn]] inline void decline() { throw Declined{}; }

/// What a reader reads; nothing if it declines.
template <typename Read>
auto unless_declined(Read read) -> std::optional<decltype(read())> {
    try {
        return read();
    } catch (const Declined&) {
        return std::nullopt;
    }
}

}  // namespace neuraltrees
