"""Checks of the arguments of a training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuraltrees.data.task import Task
from neuraltrees.errors import InputError
from neuraltrees.training.executors import Executor
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.runs import Run
from neuraltrees.training.training_spec import TrainingSpec


def check_on_epoch(on_epoch: Any) -> None:
    if on_epoch is not None and not callable(on_epoch):
        raise InputError(f"Expected on_epoch as a function of an Epoch; got {on_epoch!r}.")


def check_arguments(task: Any, network: Any, training: Any, runs: Any, executor: Any = None) -> None:
    """Raises `InputError` unless all arguments have the right types."""
    kinds = {"task": (task, Task), "network": (network, NetworkSpec), "training": (training, TrainingSpec)}
    if executor is not None:
        kinds["executor"] = (executor, Executor)
    for name, (given, kind) in kinds.items():
        if not isinstance(given, kind):
            raise InputError(f"Expected {name} as {kind.__name__}; got {type(given).__name__}.")
    if not isinstance(runs, Sequence) or not runs:
        raise InputError(f"Expected a list of at least one Run; got {runs!r}.")
    if network.views and training.compile:
        raise InputError(
            "Expected views without compile, since every batch has another number of views; got both. Leave one of "
            "them out."
        )
    for run in runs:
        if not isinstance(run, Run):
            raise InputError(f"Expected runs as Run(seed, split); got {type(run).__name__}.")
