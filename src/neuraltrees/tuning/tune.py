"""Hyper-parameter tuning as in the paper: rounds, size and learning rate first, then dropout and regularisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

import torch

from neuraltrees.data.task import Task
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.training.runs import Run
from neuraltrees.training.spec import NetworkSpec, TrainingSpec
from neuraltrees.tuning.study import Study, open_study, subject_of
from neuraltrees.tuning.trials import PAPER_GRID, Grid, Point, TrialDone, Tuned, select
from neuraltrees.tuning.workers import Job, Workers

OnTrial = Callable[[TrialDone], None]


def tune(
    task: Task,
    runs: Sequence[Run],
    network: NetworkSpec,
    training: TrainingSpec,
    grid: Grid = PAPER_GRID,
    *,
    folder: PathLike,
    workers: int = 1,
    device: torch.device | str = "cpu",
    on_trial: OnTrial | None = None,
) -> Tuned:
    """Finds the hyper-parameters of the highest mean validation accuracy, in two grid searches.

    The first tries all rounds, sizes and learning rates with the lowest dropout and regularisation; the second all
    dropouts and regularisations with the best of the first. Of equal accuracies the network with fewer weights wins,
    then the first in the order of the grid. Test accuracies are kept, and play no part.

    The folder keeps every trial that is done. After an interruption of any kind the same call finishes what is missing,
    and gives what an unbroken one gives.

    Args:
        task: the graphs.
        runs: seed and split of each run; all runs of a trial are trained at once.
        network, training: all that is not tuned.
        grid: the values to try.
        folder: where the study is kept; one with another study is refused.
        workers: processes to train in. With several, a script calls this under `if __name__ == "__main__":`.
        device: where to train; all workers share it.
        on_trial: told of every trial, those that the folder already holds included.
    """
    if workers < 1:
        raise InputError(f"Expected at least one worker; got {workers}.")
    if not runs:
        raise InputError("Expected at least one run; got none.")
    for run in runs:
        task.check_split(run.split)
    try:
        kind = torch.device(device).type
    except RuntimeError:
        raise InputError(f"Expected a device such as cpu or cuda; got {device!r}.") from None
    subject = subject_of(task, runs, network, training, grid, kind)
    grown = task.with_trees() if network.model == "neural-tree" else task
    tell = on_trial or (lambda trial: None)

    def weights(point: Point) -> int:
        with torch.device("meta"):
            built = point.applied(network, training)[0].build(task)
        return sum(parameter.numel() for parameter in built.parameters())

    job = Job(grown, list(runs), network, training, str(device))
    with open_study(folder, subject) as study, Workers(job, workers) as pool:
        first = _finish(study, 1, grid.first(), pool, tell)
        best_of_first = select(first, weights)
        stage = grid.second(best_of_first.point)
        tried = replace(best_of_first, stage=2, seconds=0.0)  # its dropout and regularisation are the lowest
        second = _finish(study, 2, stage, pool, tell, tried)
        best = select(second, weights)
    return Tuned(*best.point.applied(network, training), grid, (*first, *second), best_of_first, best)


def _finish(
    study: Study, stage: int, grid: Grid, pool: Workers, tell: OnTrial, tried: TrialDone | None = None
) -> list[TrialDone]:
    """The trials of a stage in the order of its grid, after running those that are missing."""
    done = study.done(stage)
    if tried is not None and tried.point not in done:
        study.add(tried, grid)
        done[tried.point] = tried
    points = grid.points()
    for point in points:
        if point in done:
            tell(done[point])
    with closing(pool.attempt([point for point in points if point not in done])) as outcomes:
        for point, outcome in outcomes:
            done[point] = TrialDone(stage, point, outcome.val, outcome.test, outcome.seconds)
            study.add(done[point], grid)
            tell(done[point])
    return [done[point] for point in points]
