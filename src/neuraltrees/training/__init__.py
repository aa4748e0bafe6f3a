"""Training: R runs at once, checkpoints and bundles."""

from typing import TYPE_CHECKING

from neuraltrees.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from neuraltrees.data.scaling import Scaling as Scaling
    from neuraltrees.data.task import Task as Task
    from neuraltrees.training.bundle import Bundle as Bundle
    from neuraltrees.training.config import TrainConfig as TrainConfig
    from neuraltrees.training.config import load_config as load_config
    from neuraltrees.training.fitting import fit as fit
    from neuraltrees.training.network_spec import NetworkSpec as NetworkSpec
    from neuraltrees.training.problem import Problem as Problem
    from neuraltrees.training.problem import load_problem as load_problem
    from neuraltrees.training.runs import Epoch as Epoch
    from neuraltrees.training.runs import Fitted as Fitted
    from neuraltrees.training.runs import Run as Run
    from neuraltrees.training.trainer import Trainer as Trainer
    from neuraltrees.training.training_spec import TrainingSpec as TrainingSpec

# The configuration is read without importing torch, so that the help of a command appears at once.
_LAZY = {
    "Bundle": "neuraltrees.training.bundle",
    "Epoch": "neuraltrees.training.runs",
    "Fitted": "neuraltrees.training.runs",
    "NetworkSpec": "neuraltrees.training.network_spec",
    "Problem": "neuraltrees.training.problem",
    "Run": "neuraltrees.training.runs",
    "Scaling": "neuraltrees.data.scaling",
    "Task": "neuraltrees.data.task",
    "TrainConfig": "neuraltrees.training.config",
    "Trainer": "neuraltrees.training.trainer",
    "TrainingSpec": "neuraltrees.training.training_spec",
    "fit": "neuraltrees.training.fitting",
    "load_config": "neuraltrees.training.config",
    "load_problem": "neuraltrees.training.problem",
}

__all__ = list(_LAZY)
__getattr__, __dir__ = _lazy_names(__name__, _LAZY)
