#include "neuraltrees/row_sums.hpp"

#include <algorithm>
#include <cmath>

#include "neuraltrees/clones.hpp"
#include "neuraltrees/error.hpp"

namespace neuraltrees {
namespace {

void expect(bool good, const char* what) {
    if (!good) throw InputError(what);
}

bool all_below(std::span<const std::int64_t> values, std::int64_t count) {
    return std::all_of(values.begin(), values.end(), [count](std::int64_t x) { return 0 <= x && x < count; });
}

constexpr float farthest = 1e9F;  // metres, of sizes

float signed_log(float length) { return std::copysign(std::log1p(std::abs(length)), length); }

/// The numbers of an edge from its geometry.
void numbers_of_edge(const float* geometry, float* out) {
    const float* offset = geometry;
    const float known = geometry[10] * geometry[11] * geometry[12];
    float half[3], grown[3];
    for (int i = 0; i < 3; ++i) {
        const float source = std::min(std::exp(geometry[4 + i]), farthest);
        const float target = std::min(std::exp(geometry[7 + i]), farthest);
        half[i] = (source - target) / 2;
        grown[i] = (source + target) / 2;
    }
    for (int i = 0; i < 4; ++i) out[i] = signed_log(geometry[i]);
    out[4] = signed_log(std::sqrt(offset[0] * offset[0] + offset[1] * offset[1]));
    out[5] = signed_log((offset[2] - half[2]) * known);
    out[6] = signed_log((offset[2] + half[2]) * known);
    for (int i = 0; i < 3; ++i) {
        out[7 + i] = signed_log((std::abs(offset[i]) - grown[i]) * known);
        out[10 + i] = signed_log((std::abs(half[i]) - std::abs(offset[i])) * known);
    }
    std::copy_n(geometry + 4, 9, out + 13);
    out[22] = 1.0F;
}

}  // namespace

void check_messages(const SortedMessages& messages, std::int64_t sources, std::int64_t relations) {
    const auto count = static_cast<std::int64_t>(messages.source.size());
    const auto& start = messages.start;
    expect(!start.empty() && start.front() == 0 && start.back() == count && std::is_sorted(start.begin(), start.end()),
           "Expected start to rise from 0 to the number of messages; got other numbers.");
    expect(all_below(messages.source, sources), "Expected sources of messages as rows of states; got other numbers.");
    if (relations < 0) return;
    expect(messages.relation.size() == messages.source.size() && all_below(messages.relation, relations),
           "Expected a relation per message, as a row of gates; got other numbers.");
}

NEURALTREES_CLONES void gated_means(const SortedMessages& messages, const float* h, const float* gates, float* out,
                                    std::int64_t channels) {
    const std::int64_t rows = messages.rows();
    for (std::int64_t v = 0; v < rows; ++v) {
        float* __restrict sum = out + v * channels;
        const std::int64_t first = messages.start[v], stop = messages.start[v + 1];
        std::fill_n(sum, channels, 0.0F);
        for (std::int64_t e = first; e < stop; ++e) {
            const float* __restrict state = h + messages.source[e] * channels;
            if (gates == nullptr) {
                for (std::int64_t c = 0; c < channels; ++c) sum[c] += state[c];
                continue;
            }
            const float* __restrict gate = gates + messages.relation[e] * channels;
            for (std::int64_t c = 0; c < channels; ++c) sum[c] += gate[c] * state[c];
        }
        if (stop - first < 2) continue;
        const float share = 1.0F / static_cast<float>(stop - first);
        for (std::int64_t c = 0; c < channels; ++c) sum[c] *= share;
    }
}

NEURALTREES_CLONES void add_rows(std::span<const std::int64_t> target, std::span<const float> weight, const float* h,
                                 float* out, std::int64_t channels) {
    for (std::size_t e = 0; e < target.size(); ++e) {
        const float* __restrict row = h + static_cast<std::int64_t>(e) * channels;
        float* __restrict sum = out + target[e] * channels;
        const float by = weight[e];
        for (std::int64_t c = 0; c < channels; ++c) sum[c] += by * row[c];
    }
}

NEURALTREES_CLONES void edge_states(std::span<const std::int64_t> relation, const float* geometry, const float* weight,
                                    float* out, std::int64_t channels) {
    float numbers[edge_numbers];
    for (std::size_t e = 0; e < relation.size(); ++e) {
        numbers_of_edge(geometry + static_cast<std::int64_t>(e) * geometry_numbers, numbers);
        const float* rows = weight + relation[e] * edge_numbers * channels;
        float* __restrict sum = out + static_cast<std::int64_t>(e) * channels;
        std::fill_n(sum, channels, 0.0F);
        for (std::int64_t i = 0; i < edge_numbers; ++i) {
            const float* __restrict row = rows + i * channels;
            const float by = numbers[i];
            for (std::int64_t c = 0; c < channels; ++c) sum[c] += by * row[c];
        }
        for (std::int64_t c = 0; c < channels; ++c) sum[c] = std::max(sum[c], 0.0F);
    }
}

}  // namespace neuraltrees
