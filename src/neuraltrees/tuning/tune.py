"""Hyper-parameter tuning of a network on a task, by default over the paper's grid and in its two stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

from neuraltrees.data.task import Task
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.pools.execution import Execution, ExecutorName
from neuraltrees.training.arguments import check_arguments
from neuraltrees.training.device import check_device
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.runs import Run
from neuraltrees.training.training_spec import TrainingSpec
from neuraltrees.tuning.grid import PAPER_GRID, PAPER_STAGES, Grid, Stages
from neuraltrees.tuning.record import TrialJob
from neuraltrees.tuning.search import OnTrial, search
from neuraltrees.tuning.store import Results, open_store
from neuraltrees.tuning.trials import Tuned

FILE = "tuning.json"


def tune(
    task: Task,
    runs: Sequence[Run],
    network: NetworkSpec,
    training: TrainingSpec,
    grid: Grid = PAPER_GRID,
    *,
    folder: PathLike,
    stages: Stages = PAPER_STAGES,
    workers: int = 1,
    executor: ExecutorName = "processes",
    ray_address: str | None = None,
    device: torch.device | str = "cpu",
    on_trial: OnTrial | None = None,
) -> Tuned:
    """Finds the hyper-parameters with the best mean of the validation metric.

    By default as in the paper: the first stage tries all rounds, sizes and learning rates with the lowest dropout and
    regularisation, the second all dropouts and regularisations with the best values of the first. `select` defines
    which trial is chosen. Test metrics are stored, but not used.

    Finished trials are saved in the folder. After an interruption the same call runs the missing trials and returns
    what an uninterrupted one returns.

    Args:
        task: the graphs.
        runs: seed and split of each run; all runs of a trial are trained at once.
        network, training: all options that are not tuned.
        grid: the values to try.
        folder: where the trials are saved, in `tuning.json`; a folder with other trials is refused.
        stages: the hyper-parameters that each stage varies; those that no stage names belong to the first.
        workers: number of trials at a time. A script that uses several processes must call this under
            `if __name__ == "__main__":`.
        executor: what runs the trials: `processes` of this machine, or `ray`; the results are the same.
        ray_address: address of a Ray cluster; by default Ray is started on this machine and stopped after the search.
        device: the device to train on, shared by all workers.
        on_trial: called with every trial, including those already in the folder.
    """
    check_arguments(task, network, training, runs)
    execution = Execution(executor, workers, ray_address)
    execution.check()
    if not isinstance(grid, Grid):
        raise InputError(f"Expected grid as Grid(hidden=(32, 64), ...); got {type(grid).__name__}.")
    if on_trial is not None and not callable(on_trial):
        raise InputError(f"Expected on_trial as a function of a Trial; got {on_trial!r}.")
    for run in runs:
        task.check_split(run.split)
    kind, higher_is_better = check_device(device).type, task.objective.metric.higher_is_better

    def job() -> TrialJob:
        grown = task.with_trees() if network.needs_tree else task
        return TrialJob(grown, list(runs), network, training, str(device))

    pool = execution.pool(job)
    fixed = {part: _untuned(spec, grid) for part, spec in (("network", network), ("training", training))}
    subject = {
        "task": task.fingerprint(),
        "runs": _digest(runs),
        "device": kind,
        **fixed,
        "grid": dict(grid),
        "stages": grid.stages(stages),
        "higher_is_better": higher_is_better,
    }
    defaults = {"network": NetworkSpec().as_dict(), "training": TrainingSpec().as_dict(), "higher_is_better": True}
    with open_store(Path(folder) / FILE, "tune", subject, defaults) as store, pool:
        tuned = search(grid, stages, pool, store, higher_is_better=higher_is_better, on_trial=on_trial)
    metric = task.objective.metric
    return replace(tuned, metric=metric.name, percent=metric.percent)


def has_trials(folder: PathLike) -> bool:
    """Whether a folder has trials of a search, finished or not."""
    return (Path(folder) / FILE).exists()


def stored_grid(folder: PathLike) -> Grid:
    """The grid of the search in a folder."""
    return Grid(**Results.read(Path(folder) / FILE).subject["grid"])


def _untuned(spec: NetworkSpec | TrainingSpec, grid: Grid) -> dict[str, Any]:
    return {name: value for name, value in spec.as_dict().items() if name not in grid}


def _digest(runs: Sequence[Run]) -> str:
    """A hash of the seeds and splits."""
    digest = sha256()
    for run in runs:
        digest.update(repr((run.seed, len(run.split.train))).encode())
        for mask in (run.split.train, run.split.val, run.split.test):
            digest.update(mask.numpy().tobytes())
    return digest.hexdigest()
