#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace neuraltrees {

/// An array that its creator writes once, in full; it is not filled with zeros first. Most of the cost of writing a
/// tree is the first access to newly mapped pages, so large arrays ask for huge pages, and the memory of small ones is
/// kept for the next tree.
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
