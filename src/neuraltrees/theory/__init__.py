"""The paper's theory as working code: compatible functions, the lemmas, the bounds and the approximation theorem."""

from typing import TYPE_CHECKING

from neuraltrees.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from neuraltrees.theory.aggregation import RootSum as RootSum
    from neuraltrees.theory.approximation import Approximation as Approximation
    from neuraltrees.theory.approximation import approximate as approximate
    from neuraltrees.theory.bounds import parameter_bound as parameter_bound
    from neuraltrees.theory.bounds import parameter_bound_by_treewidth as parameter_bound_by_treewidth
    from neuraltrees.theory.cliques import maximal_cliques as maximal_cliques
    from neuraltrees.theory.compatible import CompatibleFunction as CompatibleFunction
    from neuraltrees.theory.composition import Composition as Composition
    from neuraltrees.theory.factorisation import Factorisation as Factorisation
    from neuraltrees.theory.grid_resolution import naive_parameters as naive_parameters
    from neuraltrees.theory.hat_network import HatNetwork as HatNetwork
    from neuraltrees.theory.interpolated_table import InterpolatedTable as InterpolatedTable
    from neuraltrees.theory.invariance import ExpSum as ExpSum
    from neuraltrees.theory.invariance import homomorphisms as homomorphisms
    from neuraltrees.theory.ridge_network import RidgeNetwork as RidgeNetwork

_LAZY = {
    "RootSum": "neuraltrees.theory.aggregation",
    "Approximation": "neuraltrees.theory.approximation",
    "approximate": "neuraltrees.theory.approximation",
    "naive_parameters": "neuraltrees.theory.grid_resolution",
    "parameter_bound": "neuraltrees.theory.bounds",
    "parameter_bound_by_treewidth": "neuraltrees.theory.bounds",
    "CompatibleFunction": "neuraltrees.theory.compatible",
    "maximal_cliques": "neuraltrees.theory.cliques",
    "Composition": "neuraltrees.theory.composition",
    "Factorisation": "neuraltrees.theory.factorisation",
    "HatNetwork": "neuraltrees.theory.hat_network",
    "ExpSum": "neuraltrees.theory.invariance",
    "homomorphisms": "neuraltrees.theory.invariance",
    "RidgeNetwork": "neuraltrees.theory.ridge_network",
    "InterpolatedTable": "neuraltrees.theory.interpolated_table",
}

__all__ = list(_LAZY)
__getattr__, __dir__ = _lazy_names(__name__, _LAZY)
