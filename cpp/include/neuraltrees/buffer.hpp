#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace neuraltrees {

/// Blocks of more bytes than this have huge pages.
constexpr std::size_t largest_block_of_small_pages = std::size_t{1} << 25;

/// Uninitialised memory, aligned to a cache line; large blocks use huge pages, and some freed blocks are reused.
void* take_block(std::size_t bytes);
void give_block_back(void* data);

/// An uninitialised array, which its creator fills completely. Most of the time of writing a tree is spent on the first
/// access to newly mapped pages, so large arrays use huge pages, and freed memory is reused.
template <typename T>
struct BufferOf {
    struct Free {
        void operator()(T* p) const { give_block_back(p); }
    };
    std::unique_ptr<T[], Free> data;
    std::int64_t size = 0;

    BufferOf() = default;
    explicit BufferOf(std::int64_t n)
        : data(static_cast<T*>(take_block(static_cast<std::size_t>(n) * sizeof(T)))), size(n) {}
    T& operator[](std::int64_t i) { return data[i]; }
    std::span<const T> view() const { return {data.get(), static_cast<std::size_t>(size)}; }
};

using Buffer = BufferOf<std::int64_t>;

}  // namespace neuraltrees
