#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace neuraltrees {

/// Many short lists in one block of memory. A list that outgrows its place moves to the end with twice the room.
template <typename T>
class Rows {
public:
    std::size_t count() const { return place_.size(); }
    void reserve(std::size_t rows, std::size_t entries) {
        place_.reserve(rows);
        pool_.reserve(entries);
    }

    /// Adds an empty list with room for `room` entries.
    void add(std::int64_t room) {
        place_.push_back({static_cast<std::int64_t>(pool_.size()), 0, static_cast<std::int32_t>(room)});
        pool_.resize(pool_.size() + static_cast<std::size_t>(room));
    }

    std::span<T> operator[](std::size_t i) {
        return {pool_.data() + place_[i].begin, static_cast<std::size_t>(place_[i].size)};
    }
    std::span<const T> operator[](std::size_t i) const {
        return {pool_.data() + place_[i].begin, static_cast<std::size_t>(place_[i].size)};
    }
    std::int32_t size(std::size_t i) const { return place_[i].size; }

    void push(std::size_t i, T value) {
        Place& place = place_[i];
        if (place.size == place.room) {
            const auto begin = static_cast<std::int64_t>(pool_.size());
            place.room = std::max(4, 2 * place.room);
            pool_.resize(pool_.size() + static_cast<std::size_t>(place.room));
            std::copy_n(pool_.begin() + place.begin, place.size, pool_.begin() + begin);
            place.begin = begin;
        }
        pool_[place.begin + place.size++] = value;
    }

    /// Shortens a list.
    void cut(std::size_t i, std::size_t size) { place_[i].size = static_cast<std::int32_t>(size); }

private:
    struct Place {
        std::int64_t begin;
        std::int32_t size, room;
    };
    std::vector<Place> place_;
    std::vector<T> pool_;
};

}  // namespace neuraltrees
