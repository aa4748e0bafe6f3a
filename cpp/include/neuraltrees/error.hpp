#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace neuraltrees {

/// The input breaks a rule that the caller can read and repair.
struct InputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A text file breaks its format; the message begins with the line's number.
struct ParseError : InputError {
    using InputError::InputError;
};

/// The H-tree would have more nodes than the caller allows: as many as `nodes` if that is exact, else more.
struct TreeTooLargeError : std::runtime_error {
    TreeTooLargeError(std::int64_t limit, int width, std::int64_t nodes, bool exact = false)
        : std::runtime_error("the H-tree exceeds " + std::to_string(limit) + " nodes"), limit(limit), width(width),
          nodes(nodes), exact(exact) {}
    std::int64_t limit;
    int width;
    std::int64_t nodes;
    bool exact;
};

}  // namespace neuraltrees
