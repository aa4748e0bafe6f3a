#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// A model with potentials on the nodes and the edges of one or many graphs: which nodes are known, the number of
/// labels of every node, the graph of every node, and both ends of every edge.
struct PairwiseView {
    std::span<const std::uint8_t> known;
    std::span<const std::int64_t> labels, owner, first, last;
    std::int64_t num_graphs = 1;

    std::int64_t num_nodes() const { return static_cast<std::int64_t>(known.size()); }
};

/// The elimination of the unknown nodes, for few operations per entry of a table. Steps are numbered in their order;
/// the separator of a step are its later neighbours, in descending order, so that its last one receives the message.
/// The table of a step has an axis per node of the separator, then that of the node itself.
struct PairwisePlan {
    /// An edge between unknown nodes, in the step of the earlier one; `flipped` if this is the edge's first end. Its
    /// table has a row per state of the later node or, if `by_own`, of the earlier one.
    struct Pair {
        std::int64_t edge;
        std::int32_t axis;  // of the later node
        bool flipped, by_own;
        std::int64_t at;  // of its table
    };
    /// A leaf reads no messages, and has one pair per node of its separator, in that order, the last one `by_own`; its
    /// table is not kept.
    struct Step {
        Vertex node;
        std::int32_t states;
        std::int32_t depth;                                     // axes of the separator
        std::int64_t separator, pairs, children, axes, halves;  // where those of the step begin
        std::int64_t rows;                                      // entries of the message
        std::int64_t table, message;                            // where its table and its message begin
        std::int64_t states_at;                                 // where its own states begin
        bool leaf;
    };
    /// An edge with one known end.
    struct Half {
        std::int64_t edge;
        Vertex known;
        bool from_first;  // whether the first end is known
    };
    /// An edge with two known ends.
    struct Settled {
        std::int64_t edge;
        Vertex first, last;
    };

    std::vector<Step> steps;              // one more at the end
    std::vector<std::int32_t> separator;  // steps
    std::vector<Pair> pairs;              // by step
    std::vector<std::int32_t> children;   // by step: the steps whose messages it reads
    std::vector<std::int64_t> strides;    // of the separator's axes: in the tables of pairs, then in messages
    std::vector<Half> halves;             // by step
    std::vector<Settled> settled;
    std::vector<Vertex> fixed;                // known nodes
    std::vector<std::int64_t> labels, owner;  // of the model
    std::int64_t num_graphs = 1, num_edges = 0, most_labels = 0;
    int width = -1;
    std::int64_t table_entries = 0, kept_entries = 0;  // of all tables, and of those that are kept
    std::int64_t message_entries = 0, pair_entries = 0, num_states = 0;
    std::int64_t leaf_scratch = 0;  // entries that the sums over a leaf need beside its message
};

inline constexpr int most_pairwise_axes = 64, most_pairwise_states = 512;

/// The plan by a min-fill order. Of every node, the `states` most probable labels are kept; 0 keeps all. No steps, not
/// even the last one, if the tables would have more than `most_entries` entries, or one of them too many axes or
/// states.
PairwisePlan plan_pairwise(const PairwiseView& model, std::int64_t states, std::int64_t most_entries, Watch watch = {});

/// Potentials of a pairwise model with D labels: those of nodes, N x D, and shared tables, T x D x D, of which the
/// potentials of edge e are the sum over j of weight[e, j] tables[index[e, j]]; numbers from T on are transposed
/// tables. No weights are weights of one.
template <typename Real>
struct PairwiseTables {
    std::int64_t width = 0, num_tables = 0, terms = 1;
    const Real* unary = nullptr;
    const Real* tables = nullptr;
    const std::int64_t* index = nullptr;
    const Real* weight = nullptr;
    const std::int64_t* known = nullptr;  // labels of the known nodes, -1 elsewhere
};

/// Log Z of every graph, and if `marginals` is not null the marginals of all nodes, N x D, one-hot at known ones.
///
/// Tables hold products, divided by their largest entries. False, with unspecified answers, if that could lose
/// precision because potentials differ too much, if no labelling is possible, if any entry of `unary` or `tables` is
/// nan or +inf, if a known label is not one of its node, or if other nodes are known than in the plan.
template <typename Real>
bool run_pairwise(const PairwisePlan& plan, const PairwiseTables<Real>& given, double* log_partition, Real* marginals);

}  // namespace neuraltrees
