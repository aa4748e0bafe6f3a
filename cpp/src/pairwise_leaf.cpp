#include "pairwise_leaf.hpp"

#include <algorithm>
#include <array>

#include "entries.hpp"
#include "neuraltrees/clones.hpp"

namespace neuraltrees {
namespace {

constexpr auto ones = [] {
    std::array<double, most_pairwise_states> found{};
    found.fill(1.0);
    return found;
}();

/// The product of the node's potentials and the factors of all pairs but the last two, at one place after another.
/// Products of the first factors are kept, so that mostly one multiplication is left.
class Products {
public:
    NEURALTREES_INLINE explicit Products(const Leaf& leaf)
        : sizes_(leaf.sizes), scratch_(leaf.scratch), states_(leaf.states), axes_(std::max(leaf.depth - 2, 0)) {
        const double* table = leaf.pairs;
        for (int a = 0; a < axes_; ++a) {
            row_[a] = table;
            at_[a] = 0;
            table += std::int64_t{sizes_[a]} * states_;
        }
        std::copy(leaf.unary, leaf.unary + states_, scratch_);
        multiply(0);
    }
    NEURALTREES_INLINE const double* row() const { return scratch_ + axes_ * states_; }

    NEURALTREES_INLINE bool next() {
        for (int a = axes_ - 1; a >= 0; --a) {
            row_[a] += states_;
            if (++at_[a] < sizes_[a]) {
                multiply(a);
                return true;
            }
            row_[a] -= std::int64_t{sizes_[a]} * states_;
            at_[a] = 0;
        }
        return false;
    }

private:
    NEURALTREES_INLINE void multiply(int a) {
        for (; a < axes_; ++a) {
            double* const product = scratch_ + a * states_;
            for (int x = 0; x < states_; ++x) product[states_ + x] = product[x] * row_[a][x];
        }
    }

    const std::int32_t* sizes_;
    double* scratch_;
    int states_, axes_;
    const double* row_[most_pairwise_axes];
    std::int32_t at_[most_pairwise_axes];
};

/// For N states of the node and of the separator's last one; the next function is for any numbers of them.
template <int N>
NEURALTREES_INLINE void sum(const Leaf& leaf, double* message) {
    Products products(leaf);
    do {
        Entries<N> columns[N];
        for (int x = 0; x < N; ++x) columns[x].add(products.row()[x], Entries<N>(leaf.columns + x * N));
        for (int r = 0; r < leaf.num_rows; ++r, message += N) {
            const double* const row = leaf.rows + r * N;
            Entries<N> even, odd;  // two sums at a time
            for (int x = 0; x < N; x += 2) {
                even.add(row[x], columns[x]);
                odd.add(row[x + 1], columns[x + 1]);
            }
            even.add(odd);
            even.store(message);
        }
    } while (products.next());
}

template <>
NEURALTREES_INLINE void sum<0>(const Leaf& leaf, double* message) {
    const int n = leaf.states, m = leaf.num_columns;
    double* const columns = leaf.scratch + std::int64_t{leaf.depth} * n;
    Products products(leaf);
    do {
        for (int x = 0; x < n; ++x)
            for (int s = 0; s < m; ++s) columns[x * m + s] = products.row()[x] * leaf.columns[x * m + s];
        for (int r = 0; r < leaf.num_rows; ++r, message += m) {
            std::fill_n(message, m, 0.0);
            for (int x = 0; x < n; ++x) {
                const double factor = leaf.rows[r * n + x];
                for (int s = 0; s < m; ++s) message[s] += factor * columns[x * m + s];
            }
        }
    } while (products.next());
}

/// `joint` are the weights of rows of the table, their probabilities over their sums, times the factors of all pairs
/// but the last one, summed over the separator's nodes but the last one.
template <int N>
NEURALTREES_INLINE void spread(const Leaf& leaf, const double* message, double scale, const double* belief,
                               double* own) {
    Entries<N> joint[N];
    Products products(leaf);
    do {
        Entries<N> part[N];
        for (int r = 0; r < leaf.num_rows; ++r, belief += N, message += N) {
            const double* const row = leaf.rows + r * N;
            Entries<N> weight(belief);
            weight.multiply(scale);
            weight.divide(Entries<N>(message));
            for (int x = 0; x < N; ++x) part[x].add(row[x], weight);
        }
        for (int x = 0; x < N; ++x) joint[x].add(products.row()[x], part[x]);
    } while (products.next());
    for (int x = 0; x < N; ++x) {
        joint[x].multiply(Entries<N>(leaf.columns + x * N));
        own[x] = joint[x].total();
    }
}

template <>
NEURALTREES_INLINE void spread<0>(const Leaf& leaf, const double* message, double scale, const double* belief,
                                  double* own) {
    const int n = leaf.states, m = leaf.num_columns;
    double* const joint = leaf.scratch + std::int64_t{leaf.depth} * n;
    double* const part = joint + std::int64_t{n} * m;
    double weight[most_pairwise_states];
    std::fill_n(joint, n * m, 0.0);
    Products products(leaf);
    do {
        std::fill_n(part, n * m, 0.0);
        for (int r = 0; r < leaf.num_rows; ++r, belief += m, message += m) {
            for (int s = 0; s < m; ++s) weight[s] = message[s] > 0 ? belief[s] * scale / message[s] : 0;
            for (int x = 0; x < n; ++x) {
                const double factor = leaf.rows[r * n + x];
                for (int s = 0; s < m; ++s) part[x * m + s] += factor * weight[s];
            }
        }
        for (int x = 0; x < n; ++x)
            for (int s = 0; s < m; ++s) joint[x * m + s] += products.row()[x] * part[x * m + s];
    } while (products.next());
    for (int x = 0; x < n; ++x) {
        own[x] = 0;
        for (int s = 0; s < m; ++s) own[x] += joint[x * m + s] * leaf.columns[x * m + s];
    }
}

}  // namespace

Leaf::Leaf(const PairwisePlan& plan, const PairwisePlan::Step& step, const double* node, const double* tables,
           double* memory)
    : unary(node), pairs(tables), scratch(memory), states(step.states), depth(step.depth), rows(ones.data()),
      columns(tables), num_rows(1) {
    const std::int32_t* separator = plan.separator.data() + step.separator;
    for (int a = 0; a + 1 < depth; ++a) {
        num_rows = sizes[a] = plan.steps[separator[a]].states;
        rows = columns;
        columns += std::int64_t{num_rows} * states;
    }
    num_columns = plan.steps[separator[depth - 1]].states;
}

NEURALTREES_CLONES void sum_leaf(const Leaf& leaf, double* message) {
    switch (leaf.num_columns == leaf.states ? leaf.states : 0) {
        case 2: return sum<2>(leaf, message);
        case 4: return sum<4>(leaf, message);
        case 8: return sum<8>(leaf, message);
        default: return sum<0>(leaf, message);
    }
}

NEURALTREES_CLONES void spread_leaf(const Leaf& leaf, const double* message, double scale, const double* belief,
                                    double* own) {
    switch (leaf.num_columns == leaf.states ? leaf.states : 0) {
        case 2: return spread<2>(leaf, message, scale, belief, own);
        case 4: return spread<4>(leaf, message, scale, belief, own);
        case 8: return spread<8>(leaf, message, scale, belief, own);
        default: return spread<0>(leaf, message, scale, belief, own);
    }
}

}  // namespace neuraltrees
