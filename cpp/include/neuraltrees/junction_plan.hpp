#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/table_blocks.hpp"

namespace neuraltrees {

/// The variables of a model and the scopes of its potentials, seen through flat arrays.
struct ModelView {
    std::span<const std::int64_t> cardinalities;
    std::span<const std::int64_t> scope_ptr;
    std::span<const Vertex> scope_nodes;

    std::int64_t num_potentials() const { return static_cast<std::int64_t>(scope_ptr.size()) - 1; }
    std::span<const Vertex> scope(std::int64_t k) const {
        return scope_nodes.subspan(scope_ptr[k], scope_ptr[k + 1] - scope_ptr[k]);
    }
};

/// The steps of the junction-tree algorithm on single tables.
///
/// Every node has a table, the product of its factors: potentials and the messages of its children. Its message is the
/// sum of the table over the variables that the parent does not have. Nodes are the bags, and tables on some variables
/// of a bag, which save passes over a large table: *parts*, products of small factors, and *views*, which are not
/// factors and from which several marginals are computed. All tables have their axes in one common order of the
/// variables, so that no table is ever transposed.
struct JunctionPlan {
    struct Factor {
        bool is_potential;
        int number;  // of the potential or of the node
        Walk walk;
    };
    struct Reading {
        Vertex variable;
        Walk walk;
    };
    struct Node {
        int parent = -1;
        bool is_bag = true;
        bool is_view = false;
        bool sums = true;  // else the message is the table itself
        Axes axes, separator;
        Walk to_separator;
        std::vector<Factor> factors;
        std::vector<Factor> views;
        std::vector<Reading> of_table, of_separator;
        std::int64_t table_at = 0, message_at = 0;
    };
    struct Potential {
        int node = -1;    // -1: no variable is left
        int factor = -1;  // its place among those of the node
        std::vector<Vertex> scope;
        std::vector<std::int64_t> lengths, steps;            // of the given table, in the order of `scope`
        std::vector<std::pair<Vertex, std::int64_t>> fixed;  // the other variables and their steps
        std::int64_t size = 1, at = 0;                       // of the open part, here
        std::int64_t given = 1;                              // entries of the given table
    };

    std::vector<std::int64_t> cardinalities;
    std::vector<std::int64_t> marginal_at;  // where the marginal of every variable begins; the sum of all at the end
    std::vector<Node> nodes;
    std::vector<int> order;  // parents before children
    std::vector<Potential> potentials;
    std::int64_t potential_entries = 0, entries = 0;
};

/// The bags hold the open variables; all others are fixed, by evidence or because they have only one state.
JunctionPlan plan_junction(ModelView model, DecompositionView decomposition);

}  // namespace neuraltrees
