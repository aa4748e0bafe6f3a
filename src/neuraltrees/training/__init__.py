"""Stage 5: fit R runs at once; tune, keep and use what comes out."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraltrees.training.bundle import Bundle as Bundle
    from neuraltrees.training.config import TrainConfig as TrainConfig
    from neuraltrees.training.config import load_config as load_config
    from neuraltrees.training.engine import Epoch as Epoch
    from neuraltrees.training.engine import Fitted as Fitted
    from neuraltrees.training.engine import Run as Run
    from neuraltrees.training.engine import Trainer as Trainer
    from neuraltrees.training.engine import fit as fit
    from neuraltrees.training.problem import Problem as Problem
    from neuraltrees.training.problem import load_problem as load_problem
    from neuraltrees.training.scaling import Scaling as Scaling
    from neuraltrees.training.spec import NetworkSpec as NetworkSpec
    from neuraltrees.training.spec import TrainingSpec as TrainingSpec
    from neuraltrees.training.task import Task as Task

# The configuration is read before torch is, so that a command explains itself at once.
_LAZY = {
    "Bundle": "bundle",
    "TrainConfig": "config",
    "load_config": "config",
    "Epoch": "engine",
    "Fitted": "engine",
    "Run": "engine",
    "Trainer": "engine",
    "fit": "engine",
    "Problem": "problem",
    "load_problem": "problem",
    "Scaling": "scaling",
    "NetworkSpec": "spec",
    "TrainingSpec": "spec",
    "Task": "task",
}


__all__ = list(_LAZY)


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(_import_module(f"neuraltrees.training.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'neuraltrees.training' has no attribute {name!r}")
