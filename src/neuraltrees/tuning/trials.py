"""Trials: the training of all runs at one point of a grid, and the rule for choosing the best one."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neuraltrees.errors import InputError
from neuraltrees.tuning.grid import Grid, Point

# Accuracies are ratios in single precision: means that differ by less are equal up to rounding.
TIE = 1e-6


@dataclass(frozen=True)
class Trial:
    """The result of training at one point of a grid. Trials are compared without `seconds` and `resumed`.

    Args:
        point: the hyper-parameters.
        val, test: metrics of every run at its best validation epoch.
        parameters: number of weights of the network.
        stage: the stage of the search, from 1.
        seconds: duration of the training; 0 for a point that an earlier stage has tried.
        resumed: whether it comes from the store instead of being trained now.
    """

    point: Point
    val: tuple[float, ...]
    test: tuple[float, ...]
    parameters: int
    stage: int = 1
    seconds: float = field(default=0.0, compare=False)
    resumed: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, point: Point, record: Mapping[str, Any], stage: int = 1, resumed: bool = False) -> Trial:
        """The trial that a record of a store holds."""
        val, test = ([_number(run.get(kind)) for run in record["runs"]] for kind in ("val", "test"))
        seconds = record.get("seconds", 0.0)
        return cls(point, tuple(val), tuple(test), record["parameters"], stage, seconds, resumed)

    @property
    def val_mean(self) -> float:
        return statistics.fmean(self.val)

    @property
    def val_std(self) -> float | None:
        """The standard deviation over the runs; None for a single run."""
        if len(self.val) < 2:
            return None
        return statistics.stdev(self.val) if all(map(math.isfinite, self.val)) else math.nan

    @property
    def test_mean(self) -> float:
        return statistics.fmean(self.test)


def select(trials: Iterable[Trial], higher_is_better: bool = True) -> Trial:
    """The trial with the best mean of the validation metric.

    Among means within 1e-6 of the best, the network with the fewest weights is chosen, then the first in the given
    order. Test metrics are not used; a trial whose mean is not finite is never chosen.

    >>> small, large = (Trial(Point(hidden=h), (0.5,), (0.5,), parameters=100 * h) for h in (4, 8))
    >>> select([large, small]).point
    Point(hidden=4)
    """
    listed = list(trials)
    finite = [trial for trial in listed if math.isfinite(trial.val_mean)]
    if not finite:
        raise InputError(
            f"Expected a trial with a finite validation metric; got {len(listed)} without. Lower the learning rates."
        )
    best = (max if higher_is_better else min)(trial.val_mean for trial in finite)
    return min((t for t in finite if abs(best - t.val_mean) <= TIE), key=lambda t: t.parameters)


@dataclass(frozen=True)
class Tuned:
    """The outcome of a search.

    Args:
        grid: what was tried.
        stages: the hyper-parameters that each stage varied.
        trials: all trials, stage after stage, in the order of the grid.
        chosen: the chosen trial of every stage; the last one is the result.
        higher_is_better: whether higher values of the metric are better.
        metric: the name of the metric.
        percent: whether it is shown as a percentage.
    """

    grid: Grid
    stages: tuple[tuple[str, ...], ...]
    trials: tuple[Trial, ...]
    chosen: tuple[Trial, ...]
    higher_is_better: bool = True
    metric: str = "accuracy"
    percent: bool = True

    @property
    def best(self) -> Trial:
        return self.chosen[-1]

    def ranked(self) -> list[Trial]:
        """Every point once, the chosen one first and then by the validation metric."""
        once = {trial.point: trial for trial in reversed(self.trials)}
        sign = -1 if self.higher_is_better else 1
        return sorted(once.values(), key=lambda t: (t.point != self.best.point, _rank(sign * t.val_mean)))

    def table(self) -> list[dict[str, Any]]:
        """Every trial as a row of plain values."""
        return [
            {
                "stage": trial.stage,
                **trial.point,
                "val_mean": trial.val_mean,
                "val_std": trial.val_std,
                "test_mean": trial.test_mean,
                "parameters": trial.parameters,
                "seconds": trial.seconds,
                "chosen": trial in self.chosen,
            }
            for trial in self.trials
        ]


def of_stage(trials: Sequence[Trial], stage: int) -> list[Trial]:
    return [trial for trial in trials if trial.stage == stage]


def _number(value: float | None) -> float:
    """JSON has null for a metric that is not finite."""
    return math.nan if value is None else value


def _rank(value: float) -> float:
    return value if math.isfinite(value) else math.inf
