"""The paper's theory as working code: compatible functions, the lemmas, the bounds, and what they promise."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

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
    from neuraltrees.theory.grids import naive_parameters as naive_parameters
    from neuraltrees.theory.hats import HatNetwork as HatNetwork
    from neuraltrees.theory.invariance import ExpSum as ExpSum
    from neuraltrees.theory.invariance import homomorphisms as homomorphisms
    from neuraltrees.theory.ridges import RidgeNetwork as RidgeNetwork
    from neuraltrees.theory.tables import Table as Table

_LAZY = {
    "RootSum": "aggregation",
    "Approximation": "approximation",
    "approximate": "approximation",
    "naive_parameters": "grids",
    "parameter_bound": "bounds",
    "parameter_bound_by_treewidth": "bounds",
    "CompatibleFunction": "compatible",
    "maximal_cliques": "cliques",
    "Composition": "composition",
    "Factorisation": "factorisation",
    "HatNetwork": "hats",
    "ExpSum": "invariance",
    "homomorphisms": "invariance",
    "RidgeNetwork": "ridges",
    "Table": "tables",
}

__all__ = list(_LAZY)


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(_import_module(f"neuraltrees.theory.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'neuraltrees.theory' has no attribute {name!r}")
