#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuraltrees/graph.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

/// The rows of the matrix of random walks on a graph, one per node, in the order of a breadth-first search from one end
/// of the graph, in which neighbours are near each other: what a walk reaches in some steps then lies between two rows
/// that are not far apart.
class WalkRows {
public:
    std::vector<std::int64_t> start;      // of the neighbours of each row, and the end of the last
    std::vector<Vertex> neighbour;        // as rows
    std::vector<Vertex> node;             // of each row
    std::vector<Vertex> lowest, highest;  // of this row and all rows with an edge to it or from it
    std::vector<double> share;            // the probability of each edge of a row
    std::vector<Vertex> inner;            // rows that are no leaves
    bool symmetric = true;                // whether every edge is listed as often in both directions

    explicit WalkRows(Watch watch) : watch_(watch) {}

    /// Reads another graph, in the same memory.
    void read(std::span<const std::int64_t> source, std::span<const std::int64_t> target, std::int64_t num_nodes);

    /// Whether a row has one edge only, in both directions, to a row that is not a leaf. What is known of walks from
    /// that row tells how often walks return to the leaf.
    bool is_leaf(Vertex row) const {
        if (!symmetric || degree(row) != 1) return false;
        const Vertex other = neighbour[start[row]];
        return degree(other) > 1 || other < row;
    }

private:
    std::int64_t degree(Vertex row) const { return start[row + 1] - start[row]; }
    std::span<const Vertex> targets(Vertex v) const {
        return std::span(target_).subspan(first_[v], first_[v + 1] - first_[v]);
    }

    void sort_edges(std::span<const std::int64_t> source, std::span<const std::int64_t> target);
    bool find_symmetry();
    void order();
    void search(Vertex from, std::vector<std::uint8_t>& known, std::vector<Vertex>& found);
    void write();

    Watch watch_;
    // By the numbers of nodes.
    std::vector<std::int64_t> first_, place_;
    std::vector<Vertex> target_, queue_, row_;
    std::vector<std::uint8_t> seen_, placed_;
};

}  // namespace neuraltrees
