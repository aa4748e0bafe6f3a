// Random walks on graphs.
#include "neuraltrees/random_walks.hpp"

#include "arrays.hpp"
#include "neuraltrees/error.hpp"

using namespace bindings;

namespace {

template <typename T>
void bind_return_probabilities(nb::module_& m) {
    m.def(
        "return_probabilities",
        [](const Ids& source, const Ids& target, const Ids& node_ptr, const Ids& edge_ptr, const RowsOut<T>& out,
           int threads) {
            const nt::EdgeLists graphs{view(source), view(target), view(node_ptr), view(edge_ptr)};
            run([&](nt::Watch watch) {
                nt::check_edge_lists(graphs);
                if (static_cast<std::int64_t>(out.shape(0)) != graphs.node_ptr.back())
                    throw nt::InputError("Expected a row of results per node; got another number of rows.");
                nt::return_probabilities<T>(graphs, static_cast<std::int64_t>(out.shape(1)), out.data(), threads,
                                            watch);
            });
        },
        "source"_a.noconvert(), "target"_a.noconvert(), "node_ptr"_a.noconvert(), "edge_ptr"_a.noconvert(),
        "out"_a.noconvert(), "threads"_a);
}

}  // namespace

void bindings::bind_random_walks(nb::module_& m) {
    bind_return_probabilities<float>(m);
    bind_return_probabilities<double>(m);
}
