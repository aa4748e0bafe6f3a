#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "neuraltrees/buffer.hpp"
#include "neuraltrees/junction_plan.hpp"

namespace neuraltrees {

/// The tables of a model's log-potentials, contiguous, all of one precision.
struct TablesView {
    std::span<const void* const> data;
    bool is_double = true;
};

/// One pass of the junction-tree algorithm to the roots, and one back.
///
/// Tables hold products, not their logarithms: potentials are divided by their largest entry, and every factor has
/// bounds on the exponents of its entries. A message is scaled by a power of two if a product could leave the range of
/// a double. If that is not enough, because the entries of one table differ too much, the table is computed from
/// logarithms. So nothing underflows to zero in the first pass.
class JunctionRun {
public:
    /// Called with the number of entries of a bag's table when it is done; may throw to stop.
    using Step = std::function<void(std::int64_t)>;

    /// `states` has the state of every variable that is in no bag of the plan; the tables are read here and not kept.
    JunctionRun(std::shared_ptr<const JunctionPlan> plan, TablesView tables, std::span<const std::int64_t> states);

    /// The log partition function: -inf if no assignment is possible, nan if a potential is nan or +inf.
    double collect(const Step& step);

    /// After `collect` with a finite result: writes the distributions of all variables into `marginals`, which must
    /// hold zeros.
    void distribute(std::span<double> marginals, const Step& step);

    /// After `distribute`: the joint distribution of the open variables of a potential, in the order of its axes.
    std::vector<double> joint(std::int64_t potential) const;

    const JunctionPlan& plan() const { return *plan_; }

private:
    /// Bounds on the exponents to base 2 of the entries above zero; `logs`: the entries are logarithms, at most 0.
    struct Scale {
        double low = 0, high = 0;
        bool logs = false;
        int shift = 0;  // a message holds 2^-shift times the sums of its node's table
    };

    std::shared_ptr<const JunctionPlan> plan_;
    std::vector<std::int64_t> states_;
    Buffer space_;
    std::vector<Scale> of_potential_, of_node_;
    std::vector<std::vector<double>> logs_;  // messages of nodes that were computed from logarithms
    std::vector<double> beliefs_;
    double log_total_ = 0;
    bool impossible_ = false;

    double* at(std::int64_t place) const { return reinterpret_cast<double*>(space_.data.get()) + place; }
    const double* source(const JunctionPlan::Factor& factor) const;
    const Scale& scale(const JunctionPlan::Factor& factor) const;
    void load(TablesView tables);
    template <typename T>
    void load(const T* table, std::size_t k);
    bool fits(const JunctionPlan::Node& node) const;
    void rescale(int c);
    void multiply(int c);
    void add_logarithms(int c);
    void set_message(int c, std::vector<double> message);
    void spread(int c, std::span<double> marginals);
    void receive(int c, double* belief, std::span<double> marginals);
};

}  // namespace neuraltrees
