#pragma once

#include <cstdint>
#include <span>

namespace neuraltrees {

/// Messages that are sorted by the row that receives them: those of row v are start[v] … start[v + 1] - 1.
struct SortedMessages {
    std::span<const std::int64_t> source, relation, start;

    std::int64_t rows() const { return static_cast<std::int64_t>(start.size()) - 1; }
};

/// Throws InputError if the arrays do not fit together, to `sources` rows of states and to `relations` rows of gates.
void check_messages(const SortedMessages& messages, std::int64_t sources, std::int64_t relations);

/// out_v = mean over the messages of row v of gates_r h_u, channel by channel, where u is the source and r the relation
/// of a message; zero for a row without messages. Without gates (null) all are one, and `relation` is not read.
void gated_means(const SortedMessages& messages, const float* h, const float* gates, float* out, std::int64_t channels);

/// out_t += weight_e h_e for every row e of h, where t = target[e].
void add_rows(std::span<const std::int64_t> target, std::span<const float> weight, const float* h, float* out,
              std::int64_t channels);

/// Numbers per edge of a scene graph, of which a geometry has the first 13; see `by_relation` in Python.
constexpr std::int64_t geometry_numbers = 13, edge_numbers = 23;

/// out_e = ReLU(x_e W_r) for every edge e, where x_e are the numbers of its geometry (signed logarithms of lengths, and
/// what follows from the boxes of both ends), and W_r the 23 rows of `weight` of its relation r.
void edge_states(std::span<const std::int64_t> relation, const float* geometry, const float* weight, float* out,
                 std::int64_t channels);

}  // namespace neuraltrees
