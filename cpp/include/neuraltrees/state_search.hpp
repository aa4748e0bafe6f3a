#pragma once

#include <cstdint>
#include <span>

#include "neuraltrees/decomposition.hpp"
#include "neuraltrees/junction_plan.hpp"
#include "neuraltrees/watch.hpp"

namespace neuraltrees {

struct LeastStates {
    TreeDecomposition decomposition;
    double states;
};

/// The decomposition with the smallest sum of its bags' numbers of states among many: several greedy rules on numbers
/// of states and fill, repeatedly with random ties, as long as the search costs little compared with the tables that it
/// may save. `log_states` are the logarithms to base 2 of the vertices' numbers of states. The same seed gives the same
/// answer: the cost of runs is counted, not timed.
LeastStates least_states(GraphView graph, std::span<const double> log_states, std::uint64_t seed, Watch& watch);

/// The same for the graph that joins the open variables of every scope: those that are not observed and have several
/// states. Bags have the variables' own numbers.
LeastStates least_states(ModelView model, std::span<const std::int64_t> observed, std::uint64_t seed, Watch& watch);

/// The sum over the bags of the number of their states.
double count_states(ModelView model, DecompositionView bags);

}  // namespace neuraltrees
