#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "neuraltrees/greedy.hpp"

namespace neuraltrees {

/// A heap of vertices by (score, tie) that lets scores change.
class VertexHeap {
public:
    VertexHeap(Vertex n, std::uint64_t seed) : key_(n, 0), place_(n, -1), seed_(seed) { heap_.reserve(n); }

    bool empty() const { return heap_.empty(); }
    Vertex top() const { return heap_.front(); }
    void pop() { remove(heap_.front()); }
    void remove(Vertex v) {
        const Vertex at = place_[v], moved = heap_.back();
        heap_.pop_back();
        place_[v] = -1;
        if (moved == v) return;
        put(at, moved);
        settle(at);
    }
    void set(Vertex v, std::uint64_t score) {
        const std::uint64_t key = score << 32 | tie_break(seed_, v);
        if (place_[v] < 0) {
            place_[v] = static_cast<Vertex>(heap_.size());
            heap_.push_back(v);
        } else if (key_[v] == key) {
            return;
        }
        key_[v] = key;
        settle(place_[v]);
    }

private:
    bool less(Vertex a, Vertex b) const { return key_[a] != key_[b] ? key_[a] < key_[b] : a < b; }
    void put(Vertex at, Vertex v) {
        heap_[at] = v;
        place_[v] = at;
    }
    void settle(Vertex at) {
        const Vertex v = heap_[at];
        for (; at > 0 && less(v, heap_[(at - 1) / 4]); at = (at - 1) / 4) put(at, heap_[(at - 1) / 4]);
        const auto size = static_cast<std::int64_t>(heap_.size());
        for (;;) {
            const std::int64_t first = 4 * static_cast<std::int64_t>(at) + 1;
            if (first >= size) break;
            std::int64_t least = first;
            for (std::int64_t c = first + 1; c < std::min(first + 4, size); ++c)
                if (less(heap_[c], heap_[least])) least = c;
            if (!less(heap_[least], v)) break;
            put(at, heap_[least]);
            at = static_cast<Vertex>(least);
        }
        put(at, v);
    }

    std::vector<std::uint64_t> key_;
    std::vector<Vertex> place_, heap_;
    std::uint64_t seed_;
};

}  // namespace neuraltrees
