#include "neuraltrees/products.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "neuraltrees/clones.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/parallel.hpp"

namespace neuraltrees {
namespace {

constexpr std::int64_t lanes = 16, vectors = 4;  // a panel has up to 4 vectors of columns
constexpr std::int64_t tile_rows = 6;            // with 4 vectors each they fill 24 of the 32 registers
constexpr std::int64_t block_depth = 256;        // a packed panel stays in the second cache
constexpr std::int64_t far = 24;                 // rows
constexpr std::int64_t chunk_rows = 1536;        // rows that one thread computes with a packed panel

using Vector = float __attribute__((vector_size(lanes * sizeof(float))));

NEURALTREES_INLINE void load(const float* from, Vector& into) { std::memcpy(&into, from, sizeof(into)); }

/// Some rows of a run, and a panel of columns.
struct Part {
    const float* a;
    const float* b;
    float* out;
    std::int64_t rows, columns;
};

/// R rows times a packed block of W vectors per row of the right factor.
template <int R, int W>
NEURALTREES_INLINE void tile(const float* a, std::int64_t row, std::int64_t column, const float* packed,
                             std::int64_t depth, float* out, std::int64_t out_row, std::int64_t columns, bool add) {
    const bool ahead = column != 1;  // rows of the left factor that the processor does not foresee
    Vector sums[R][W] = {};
    for (std::int64_t k = 0; k < depth; ++k) {
        Vector right[W];
#pragma GCC unroll 8
        for (int w = 0; w < W; ++w) load(packed + (k * W + w) * lanes, right[w]);
        if (R == tile_rows && ahead) __builtin_prefetch(a + (k + far) * column);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
            const float left = a[r * row + k * column];
#pragma GCC unroll 8
            for (int w = 0; w < W; ++w) sums[r][w] += left * right[w];
        }
    }
    const bool whole = columns == W * lanes;
    for (int r = 0; r < R; ++r) {
        float* to = out + r * out_row;
        if (whole) {
#pragma GCC unroll 8
            for (int w = 0; w < W; ++w) {
                Vector before = {};
                if (add) load(to + w * lanes, before);
                before += sums[r][w];
                std::memcpy(to + w * lanes, &before, sizeof(before));
            }
            continue;
        }
        float rest[W * lanes];
        std::memcpy(rest, sums[r], sizeof(rest));
        for (std::int64_t c = 0; c < columns; ++c) to[c] = add ? to[c] + rest[c] : rest[c];
    }
}

template <int W>
NEURALTREES_INLINE void rows_of_tiles(const Part& part, const Matrices<const float>& a, const float* packed,
                                      std::int64_t depth, std::int64_t out_row, bool add) {
    std::int64_t i = 0;
    for (; i + tile_rows <= part.rows; i += tile_rows)
        tile<tile_rows, W>(part.a + i * a.row, a.row, a.column, packed, depth, part.out + i * out_row, out_row,
                           part.columns, add);
    for (; i + 2 <= part.rows; i += 2)
        tile<2, W>(part.a + i * a.row, a.row, a.column, packed, depth, part.out + i * out_row, out_row, part.columns,
                   add);
    for (; i < part.rows; ++i)
        tile<1, W>(part.a + i * a.row, a.row, a.column, packed, depth, part.out + i * out_row, out_row, part.columns,
                   add);
}

/// The block of the right factor with zeros for missing columns, row by row.
NEURALTREES_INLINE void pack(const float* b, const Matrices<const float>& like, std::int64_t depth,
                             std::int64_t columns, std::int64_t width, float* packed) {
    for (std::int64_t k = 0; k < depth; ++k) std::fill_n(packed + k * width + columns, width - columns, 0.0f);
    if (like.column == 1) {
        for (std::int64_t k = 0; k < depth; ++k) std::copy_n(b + k * like.row, columns, packed + k * width);
        return;
    }
    for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t k = 0; k < depth; ++k) packed[k * width + c] = b[k * like.row + c * like.column];
}

std::int64_t divided(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

NEURALTREES_CLONES void multiply_part(const Part& part, const Matrices<const float>& a, const Matrices<const float>& b,
                                      std::int64_t depth, std::int64_t out_row, float* packed) {
    const std::int64_t blocks = std::max<std::int64_t>(1, divided(depth, block_depth));
    const std::int64_t each = divided(depth, blocks), used = divided(part.columns, lanes);
    for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t first = block * each, length = std::min(each, depth - first);
        pack(part.b + first * b.row, b, length, part.columns, used * lanes, packed);
        const Part now{part.a + first * a.column, part.b, part.out, part.rows, part.columns};
        switch (used) {
            case 1: rows_of_tiles<1>(now, a, packed, length, out_row, block > 0); break;
            case 2: rows_of_tiles<2>(now, a, packed, length, out_row, block > 0); break;
            case 3: rows_of_tiles<3>(now, a, packed, length, out_row, block > 0); break;
            default: rows_of_tiles<4>(now, a, packed, length, out_row, block > 0);
        }
    }
}

}  // namespace

bool multiplies_faster() {
#if NEURALTREES_CLONED
    __builtin_cpu_init();
    return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

void multiply(const ProductShape& shape, const Matrices<const float>& a, const Matrices<const float>& b,
              const Matrices<float>& out, int threads, Watch watch) {
    if (out.column != 1 && shape.columns > 1)
        throw InputError("Expected results whose columns are neighbours; got another layout.");
    const std::int64_t chunks = divided(shape.rows, chunk_rows), all = divided(shape.columns, lanes);
    const std::int64_t panels = divided(all, vectors), width = panels ? divided(all, panels) * lanes : 0;
    parallel_chunks(
        shape.runs * chunks * panels, 1, threads,
        [&](std::int64_t begin, std::int64_t end, int) {
            static thread_local std::vector<float> packed(block_depth * vectors * lanes);
            for (std::int64_t number = begin; number < end; ++number) {
                const std::int64_t run = number / (chunks * panels), chunk = number / panels % chunks;
                const std::int64_t row = chunk * chunk_rows, column = number % panels * width;
                const Part part{a.data + run * a.run + row * a.row, b.data + run * b.run + column * b.column,
                                out.data + run * out.run + row * out.row + column,
                                std::min(chunk_rows, shape.rows - row), std::min(width, shape.columns - column)};
                multiply_part(part, a, b, shape.depth, out.row, packed.data());
            }
        },
        watch);
}

}  // namespace neuraltrees
