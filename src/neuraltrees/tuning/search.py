"""The search over a grid, in one or several stages; finished trials are saved, so that it can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import Any, TypeAlias

from neuraltrees.pools.pool import Pool
from neuraltrees.tuning.grid import Grid, Point, Stages
from neuraltrees.tuning.store import Name, Record, Results, Settings, Store
from neuraltrees.tuning.trials import Trial, Tuned, select

OnTrial: TypeAlias = Callable[[Trial], None]


def search(
    grid: Grid,
    stages: Stages,
    pool: Pool[Point, Record],
    store: Store,
    *,
    name: Name | None = None,
    settings: Callable[[Point], Settings] | None = None,
    higher_is_better: bool = True,
    on_trial: OnTrial | None = None,
) -> Tuned:
    """Tries the points of a grid and chooses the best by the mean of the validation metric; see `select`.

    Every stage varies some hyper-parameters: those of earlier stages have their best values, those of later stages
    their first values. One stage is a plain grid search.

    Args:
        grid: the values to try.
        stages: the hyper-parameters that each stage varies; those that no stage names belong to the first.
        pool: runs the trials.
        store: holds the finished trials; new ones are added.
        name: distinguishes this search from others in the same store.
        settings: the settings of a trial, if the store's subject does not contain them.
        higher_is_better: whether higher values of the metric are better.
        on_trial: called with every trial, including those already in the store.
    """
    tell = on_trial or (lambda trial: None)

    def finish(number: int, points: list[Point], tried: Mapping[Point, Name]) -> Iterable[Trial]:
        """The trials of a stage, after running those that are missing."""
        names = {point: _name(name, number, point) for point in points}
        extra = {point: {} if settings is None else settings(point) for point in points}
        done, missing = dict[Point, Trial](), list[Point]()
        for point in points:
            record = store.get(names[point], extra[point])
            if record is None and point in tried:
                before = store.get(tried[point])
                assert before is not None
                values = {key: value for key, value in before.items() if key not in ("name", "settings")}
                record = store.add(names[point], values | {"seconds": 0.0}, extra[point])
            if record is None:
                missing.append(point)
            else:
                done[point] = Trial.of(point, record, number, resumed=True)
                tell(done[point])
        with closing(pool.attempt(missing)) as outcomes:
            for point, values in outcomes:
                record = store.add(names[point], values, extra[point])
                done[point] = Trial.of(point, record, number)
                tell(done[point])
        return [done[point] for point in points]

    tuned = _staged(grid, stages, finish, name, higher_is_better)
    store.arrange([_name(name, trial.stage, trial.point) for trial in tuned.trials])
    return tuned


def finished_search(
    results: Results, grid: Grid, stages: Stages, *, name: Name | None = None, higher_is_better: bool = True
) -> Tuned:
    """The outcome of a finished search, from its results; `InputError` if a trial is missing."""

    def finish(number: int, points: list[Point], _: Mapping[Point, Name]) -> Iterable[Trial]:
        records = ((point, results.one(**_name(name, number, point))) for point in points)
        return [Trial.of(point, record, number, resumed=True) for point, record in records]

    return _staged(grid, stages, finish, name, higher_is_better)


Finish: TypeAlias = Callable[[int, list[Point], Mapping[Point, Name]], Iterable[Trial]]


def _staged(grid: Grid, stages: Stages, finish: Finish, name: Name | None, higher_is_better: bool) -> Tuned:
    """Runs one stage after another; each gets the points tried before, with the names of their records."""
    listed = grid.stages(stages)
    best: Mapping[str, Any] = {}
    trials, chosen, tried = list[Trial](), list[Trial](), dict[Point, Name]()
    for number, names in enumerate(listed, start=1):
        points = grid.stage(names, best).points()
        found = list(finish(number, points, tried))
        trials += found
        chosen.append(select(found, higher_is_better))
        best = chosen[-1].point
        tried |= {point: _name(name, number, point) for point in points}
    return Tuned(grid, tuple(listed), tuple(trials), tuple(chosen), higher_is_better)


def _name(name: Name | None, stage: int, point: Point) -> dict[str, Any]:
    return {**(name or {}), "stage": stage, **point}
