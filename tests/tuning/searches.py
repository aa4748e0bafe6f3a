"""A small search for the tests of tuning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuraltrees.training import NetworkSpec, Run, Task, TrainingSpec
from neuraltrees.tuning.grid import Grid
from neuraltrees.tuning.trials import Tuned
from neuraltrees.tuning.tune import tune
from tests.training.tasks import small_runs, small_task

NETWORK, TRAINING = NetworkSpec(conv="sage", heads=2), TrainingSpec(epochs=3, batches=2)
GRID = Grid(layers=(1, 2), hidden=(4, 8), lr=(0.01, 0.05), dropout=(0.1, 0.5), weight_decay=(0, 0.01))
SIZE = 8 + 4
RESUMABLE = "Finished trials are saved; rerun the same command to continue."


def problem() -> tuple[Task, list[Run]]:
    task = small_task()
    return task, small_runs(task, [0, 1, 2])


def tuned_in(folder: Path, grid: Grid = GRID, **options: Any) -> Tuned:
    return tune(*problem(), NETWORK, TRAINING, grid, folder=folder, **options)
