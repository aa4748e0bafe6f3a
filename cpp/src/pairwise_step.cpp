#include "pairwise_step.hpp"

#include <algorithm>

#include "entries.hpp"
#include "neuraltrees/clones.hpp"

namespace neuraltrees {
namespace {

/// A row of a table with N entries, or with any number of them if N is 0; those with few stay in registers.
template <int N>
struct Row : Entries<N> {
    NEURALTREES_INLINE Row(const double* from, int) : Entries<N>(from) {}
    using Entries<N>::multiply;
    NEURALTREES_INLINE void multiply(const double* other) { multiply(Entries<N>(other)); }
};

template <>
struct Row<0> {
    int size;
    double entries[most_pairwise_states];

    Row(const double* from, int n) : size(n) { std::copy(from, from + n, entries); }
    Row(const Row& other) : Row(other.entries, other.size) {}
    void add(const Row& other) {
        for (int s = 0; s < size; ++s) entries[s] += other.entries[s];
    }
    void multiply(const double* other) {
        for (int s = 0; s < size; ++s) entries[s] *= other[s];
    }
    void multiply(double factor) {
        for (int s = 0; s < size; ++s) entries[s] *= factor;
    }
    void store(double* to) const { std::copy(entries, entries + size, to); }
    double total() const {
        double part[4] = {};
        const int whole = size / 4 * 4;
        for (int s = 0; s < whole; s += 4)
            for (int j = 0; j < 4; ++j) part[j] += entries[s + j];
        for (int s = whole; s < size; ++s) part[s - whole] += entries[s];
        return (part[0] + part[2]) + (part[1] + part[3]);
    }
};

/// All rows of a table and their sums.
template <int N>
NEURALTREES_INLINE void fill(const double* unary, std::span<Factor> factors, int outer, Visit& visit, int n,
                             double* table, double* message) {
    const std::int64_t inner = visit.inner();
    do {
        Row<N> base(unary, n);
        for (int f = 0; f < outer; ++f) base.multiply(factors[f].data);
        for (std::int64_t r = 0; r < inner; ++r, table += n) {
            Row<N> row = base;
            for (std::size_t f = outer; f < factors.size(); ++f) row.multiply(factors[f].data + r * factors[f].inner);
            row.store(table);
            *message++ = row.total();
        }
    } while (visit.next([&](int a, std::int64_t by) {
        for (Factor& f : factors) f.data += f.strides[a] * by;
    }));
}

/// The distributions of all rows, added to that of the node and to those of the children's separators.
template <int N>
NEURALTREES_INLINE void spread(const double* weight, std::span<Factor> children, int outer, Visit& visit, int n,
                               const double* table, double* own) {
    const std::int64_t inner = visit.inner();
    const auto add = [n](double* out, const Row<N>& row) {
        Row<N> sum(out, n);
        sum.add(row);
        sum.store(out);
    };
    double sum_of[most_pairwise_states];
    do {
        std::fill_n(sum_of, n, 0.0);
        Row<N> sum(sum_of, n);
        for (std::int64_t r = 0; r < inner; ++r, table += n) {
            Row<N> row(table, n);
            row.multiply(*weight++);
            sum.add(row);
            for (std::size_t f = outer; f < children.size(); ++f) add(children[f].data + r * children[f].inner, row);
        }
        add(own, sum);
        for (int f = 0; f < outer; ++f) add(children[f].data, sum);
    } while (visit.next([&](int a, std::int64_t by) {
        for (Factor& f : children) f.data += f.strides[a] * by;
    }));
}

}  // namespace

NEURALTREES_CLONES void fill_table(const double* unary, std::span<Factor> factors, int outer, Visit& visit, int n,
                                   double* table, double* message) {
    switch (n) {
        case 2: return fill<2>(unary, factors, outer, visit, n, table, message);
        case 4: return fill<4>(unary, factors, outer, visit, n, table, message);
        case 8: return fill<8>(unary, factors, outer, visit, n, table, message);
        default: return fill<0>(unary, factors, outer, visit, n, table, message);
    }
}

NEURALTREES_CLONES void spread_table(const double* weight, std::span<Factor> children, int outer, Visit& visit, int n,
                                     const double* table, double* own) {
    switch (n) {
        case 2: return spread<2>(weight, children, outer, visit, n, table, own);
        case 4: return spread<4>(weight, children, outer, visit, n, table, own);
        case 8: return spread<8>(weight, children, outer, visit, n, table, own);
        default: return spread<0>(weight, children, outer, visit, n, table, own);
    }
}

}  // namespace neuraltrees
