#include "neuraltrees/buffer.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace neuraltrees {
namespace {

constexpr std::size_t header = 64;  // in front of the data: the size of the block, and alignment to a cache line
constexpr std::size_t page = std::size_t{1} << 21, large = largest_block_of_small_pages;

/// How many bytes of freed blocks may be kept: a 32nd of the memory, at least 128 and at most 512 MiB.
std::size_t most_kept() {
    constexpr std::size_t least = std::size_t{1} << 27, most = std::size_t{1} << 29;
#ifdef __linux__
    static const std::size_t memory = static_cast<std::size_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L)) *
                                      static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return std::clamp(memory / 32, least, most);
#else
    return least;
#endif
}

/// Freed blocks by size.
struct Kept {
    std::mutex guard;
    std::map<std::size_t, std::vector<void*>> blocks;
    std::size_t bytes = 0;
};

/// Never destroyed: arrays may be freed after the static objects of the program are gone.
Kept& kept() {
    static Kept* const blocks = new Kept;
    return *blocks;
}

/// Rounds up to one of eight sizes between powers of two, so that a freed block fits later requests of similar size.
std::size_t block_size(std::size_t bytes) {
    bytes += header;
    const std::size_t step = std::bit_floor(std::max<std::size_t>(bytes, 4096)) / 8;  // of large ones, whole huge pages
    return (bytes + step - 1) / step * step;
}

}  // namespace

void* take_block(std::size_t wanted) {
    const std::size_t bytes = block_size(wanted);
    void* block = nullptr;
    if (bytes <= most_kept()) {
        const std::lock_guard lock(kept().guard);
        if (auto it = kept().blocks.find(bytes); it != kept().blocks.end() && !it->second.empty()) {
            block = it->second.back();
            it->second.pop_back();
            kept().bytes -= bytes;
        }
    }
    if (block == nullptr) {
        block = std::aligned_alloc(bytes > large ? page : header, bytes);
        if (block == nullptr) throw std::bad_alloc();
#ifdef __linux__
        if (bytes > large) madvise(block, bytes, MADV_HUGEPAGE);
#endif
    }
    *static_cast<std::size_t*>(block) = bytes;
    return static_cast<char*>(block) + header;
}

void give_block_back(void* data) {
    void* block = static_cast<char*>(data) - header;
    const std::size_t bytes = *static_cast<std::size_t*>(block);
    {
        const std::lock_guard lock(kept().guard);
        if (kept().bytes + bytes <= most_kept()) {
            kept().blocks[bytes].push_back(block);
            kept().bytes += bytes;
            return;
        }
    }
    std::free(block);
}

}  // namespace neuraltrees
