"""One rule chooses a trial: the best mean, then the fewest weights, then the first."""

from __future__ import annotations

import math

import pytest
import torch

from neuraltrees.errors import InputError
from neuraltrees.tuning.grid import Grid, Point
from neuraltrees.tuning.trials import Trial, Tuned, select


def trial(name: int, *val: float, parameters: int = 1) -> Trial:
    return Trial(Point(layers=name), val, tuple(1 - value for value in val), parameters)


def chosen(*trials: Trial, higher_is_better: bool = True) -> object:
    return select(trials, higher_is_better).point["layers"]


def test_the_best_mean_is_chosen() -> None:
    assert chosen(trial(1, 0.5, 0.6), trial(2, 0.1, 0.99), trial(3, 0.7, 0.2)) == 1
    assert chosen(trial(1, 0.5, 0.6), trial(2, 0.1, 0.99), trial(3, 0.7, 0.2), higher_is_better=False) == 3


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_of_equals_the_smallest_network_then_the_first(higher_is_better: bool) -> None:
    trials = [trial(1, 0.5, parameters=9), trial(2, 0.5, parameters=4), trial(3, 0.5, parameters=4)]
    assert chosen(*trials, higher_is_better=higher_is_better) == 2
    assert chosen(*trials[::-1], higher_is_better=higher_is_better) == 3
    worse = trial(4, 0.4 if higher_is_better else 0.6, parameters=1)
    assert chosen(*trials, worse, higher_is_better=higher_is_better) == 2


def test_means_that_differ_by_rounding_are_equal() -> None:
    thirds = torch.tensor([3 / 7, 5 / 7, 4 / 7, 4 / 7]).tolist()
    first, second = trial(1, *thirds[:2], parameters=2), trial(2, *thirds[2:], parameters=1)
    assert first.val_mean != second.val_mean
    assert chosen(first, second) == chosen(second, first) == 2
    assert chosen(trial(1, 0.5, parameters=2), trial(2, 0.5 - 2e-6, parameters=1)) == 1


def test_a_training_that_diverged_never_wins() -> None:
    assert chosen(trial(1, math.nan, 0.9), trial(2, 0.1)) == 2
    assert chosen(trial(1, -math.inf), trial(2, 0.1), higher_is_better=False) == 2
    with pytest.raises(InputError, match="finite validation metric; got 2 without"):
        chosen(trial(1, math.nan), trial(2, math.inf))


def test_a_record_of_a_store_is_a_trial() -> None:
    record = {"runs": [{"val": 0.5, "test": 0.4}, {"val": None}], "parameters": 7, "seconds": 3.0}
    found = Trial.of(Point(layers=2), record, stage=2, resumed=True)
    assert (found.val[0], found.test[0], found.parameters, found.stage, found.seconds) == (0.5, 0.4, 7, 2, 3.0)
    assert math.isnan(found.val[1]) and math.isnan(found.test[1])


def test_tables_and_ranks() -> None:
    trials = (trial(1, 0.5, 0.7), trial(2, 0.2, 0.4), trial(3, math.nan, 0.1))
    tuned = Tuned(Grid(layers=(1, 2, 3)), (("layers",),), trials, trials[1:2], higher_is_better=False)
    assert [each.point["layers"] for each in tuned.ranked()] == [2, 1, 3]
    row = tuned.table()[0]
    assert (row["layers"], row["chosen"], row["val_mean"]) == (1, False, pytest.approx(0.6))
    assert row["val_std"] == pytest.approx(0.02**0.5)
    assert [each["chosen"] for each in tuned.table()] == [False, True, False]
