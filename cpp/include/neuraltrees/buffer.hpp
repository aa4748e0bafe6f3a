#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace neuraltrees {

/// An array that is written once, in full, by its maker: no zeros first. The first touch of fresh pages is what writing
/// a tree costs most, so large arrays ask for large pages, and the memory of small ones is kept for the next tree.
struct Buffer {
    struct Free {
        void operator()(std::int64_t* p) const;
    };
    std::unique_ptr<std::int64_t[], Free> data;
    std::int64_t size = 0;

    Buffer() = default;
    explicit Buffer(std::int64_t n);
    std::int64_t& operator[](std::int64_t i) { return data[i]; }
    std::span<const std::int64_t> view() const { return {data.get(), static_cast<std::size_t>(size)}; }
};

}  // namespace neuraltrees
