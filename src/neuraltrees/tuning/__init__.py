"""Hyper-parameter tuning: a grid has points, a trial trains all runs at a point, a search tries them and chooses one.

Finished trials are saved in a store, a JSON file of named records, which the experiments use as well.
"""

from typing import TYPE_CHECKING

from neuraltrees.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from neuraltrees.tuning.grid import Grid as Grid
    from neuraltrees.tuning.grid import Point as Point
    from neuraltrees.tuning.trials import Trial as Trial
    from neuraltrees.tuning.trials import Tuned as Tuned

# The function is exported as `neuraltrees.tune`; here `tune` is the name of a module.
_LAZY = {
    "Grid": "neuraltrees.tuning.grid",
    "Point": "neuraltrees.tuning.grid",
    "Trial": "neuraltrees.tuning.trials",
    "Tuned": "neuraltrees.tuning.trials",
}

__all__ = list(_LAZY)
__getattr__, __dir__ = _lazy_names(__name__, _LAZY)
