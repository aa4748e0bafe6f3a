"""From a configuration to a task and its runs."""

from __future__ import annotations

from dataclasses import dataclass

from neuraltrees.data.task import Task
from neuraltrees.datasets import load_task
from neuraltrees.training.config import TrainConfig
from neuraltrees.training.runs import Run, of_ensembles


@dataclass(frozen=True)
class Problem:
    """A task with the seed and split of each run; the runs of ensembles one after another."""

    task: Task
    runs: list[Run]


def load_problem(config: TrainConfig) -> Problem:
    """Loads the dataset of a configuration and draws the split of every run, or of every ensemble of runs."""
    task = load_task(config)
    return Problem(task, of_ensembles(task, range(config.seed, config.seed + config.runs), config.ensemble))
