#pragma once

#include <cstdint>

namespace neuraltrees {

constexpr double farthest = 1e9;                        // metres, of coordinates that are read
constexpr std::uint64_t unlabelled = (1ULL << 32) - 1;  // the number of no label

}  // namespace neuraltrees
