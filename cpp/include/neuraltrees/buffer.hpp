#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace neuraltrees {

/// An array that is written once, in full, by its maker: no zeros first, and large pages where it is large, since the first
/// touch of every page is what writing a big tree costs most.
struct Buffer {
    struct Free {
        void operator()(std::int64_t* p) const { std::free(p); }
    };
    std::unique_ptr<std::int64_t[], Free> data;
    std::int64_t size = 0;

    Buffer() = default;
    explicit Buffer(std::int64_t n) : size(n) {
        constexpr std::size_t page = std::size_t{1} << 21;
        std::size_t bytes = static_cast<std::size_t>(n) * sizeof(std::int64_t);
        const bool large = bytes >= 4 * page;
        bytes = large ? (bytes + page - 1) / page * page : bytes + (bytes == 0);
        data.reset(static_cast<std::int64_t*>(large ? std::aligned_alloc(page, bytes) : std::malloc(bytes)));
        if (!data) throw std::bad_alloc();
#ifdef __linux__
        if (large) madvise(data.get(), bytes, MADV_HUGEPAGE);
#endif
    }
    std::int64_t& operator[](std::int64_t i) { return data[i]; }
    std::span<const std::int64_t> view() const { return {data.get(), static_cast<std::size_t>(size)}; }
};

}  // namespace neuraltrees
