"""Metrics against scikit-learn, run by run, with missing labels and diverged runs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, f1_score, mean_absolute_error, mean_squared_error, roc_auc_score
from torch import Tensor

from neuraltrees.objectives import Classification, Metric, MultiLabel, Objective, Regression

N, RUNS = 60, 3
draw = torch.Generator().manual_seed(0)
MASK = (torch.rand(N, RUNS, generator=draw) < 0.6).float()


def measured(objective: Objective, answers: Tensor, y: Tensor, mask: Tensor = MASK) -> list[float]:
    metric = objective.metric
    labelled = (objective.weight(y) > 0).float().unsqueeze(1)
    return metric.reduce(metric.observe(answers, y), y, mask * labelled).tolist()


@pytest.mark.parametrize(("metric", "average"), [("accuracy", "micro"), ("macro-f1", "macro")])
def test_classes(metric: str, average: str) -> None:
    answers, y = torch.randn(N, RUNS, 4, generator=draw), torch.randint(-1, 4, (N,), generator=draw)
    found = measured(Classification(("a", "b", "c", "d"), metric=metric), answers, y)
    for run, value in enumerate(found):
        used = (MASK[:, run] > 0) & (y >= 0)
        guess = answers[used, run].argmax(-1)
        assert value == pytest.approx(f1_score(y[used], guess, average=average), abs=1e-6)


@pytest.mark.parametrize(("metric", "average"), [("accuracy", "micro"), ("macro-f1", "macro")])
def test_classes_of_two_node_types(metric: str, average: str) -> None:
    """A room's label 1 is another class than an object's label 1."""
    objective = Classification({"room": ("x", "y"), "object": ("a", "b", "c")}, metric=metric)
    kinds = torch.randint(0, 2, (N,), generator=draw)
    labels = torch.randint(0, 2, (N,), generator=draw) + (kinds == 1) * torch.randint(0, 2, (N,), generator=draw)
    answers = torch.randn(N, RUNS, 3, generator=draw)
    answers[kinds == 0, :, 2] = -torch.inf
    coded = torch.where(labels < 0, -1, labels + 3 * kinds)
    found = measured(objective, answers, coded)
    for run, value in enumerate(found):
        used = MASK[:, run] > 0
        guess = (answers[:, run].argmax(-1) + 3 * kinds)[used]
        assert value == pytest.approx(f1_score(coded[used], guess, average=average), abs=1e-6)


@pytest.mark.parametrize(
    ("metric", "score"), [("roc-auc", roc_auc_score), ("average-precision", average_precision_score)]
)
def test_rankings(metric: str, score: object) -> None:
    answers = torch.randn(N, RUNS, 3, generator=draw)
    y = torch.randint(0, 2, (N, 3), generator=draw).float()
    y[torch.rand(N, 3, generator=draw) < 0.3] = torch.nan
    y[:, 2] = torch.where(y[:, 2].isnan(), y[:, 2], 1.0)  # a label without a negative item has no ranking
    found = measured(MultiLabel(("a", "b", "c"), metric=metric), answers, y)
    for run, value in enumerate(found):
        used = MASK[:, run] > 0
        parts = []
        for label in range(2):
            known = used & ~y[:, label].isnan()
            parts.append(score(y[known, label], answers[known, run, label]))  # type: ignore[operator]
        assert value == pytest.approx(np.mean(parts), abs=1e-6)


def test_a_ranking_of_nothing_is_not_a_number() -> None:
    y = torch.ones(N, 1)
    assert torch.tensor(measured(MultiLabel(("a",)), torch.randn(N, RUNS, 1), y)).isnan().all()


@pytest.mark.parametrize(
    ("metric", "score"),
    [("mae", mean_absolute_error), ("rmse", lambda truth, guess: mean_squared_error(truth, guess) ** 0.5)],
)
def test_numbers(metric: str, score: object) -> None:
    answers, y = torch.randn(N, RUNS, 2, generator=draw), torch.randn(N, 2, generator=draw)
    y[torch.rand(N, 2, generator=draw) < 0.3] = torch.nan
    found = measured(Regression(("a", "b"), metric=metric), answers, y)
    for run, value in enumerate(found):
        known = (MASK[:, run] > 0).unsqueeze(1) & ~y.isnan()
        assert value == pytest.approx(score(y[known], answers[:, run][known]), abs=1e-6)  # type: ignore[operator]


OBJECTIVES = {
    "accuracy": (Classification(("a", "b")), torch.zeros(N, dtype=torch.int64)),
    "macro-f1": (Classification(("a", "b"), metric="macro-f1"), torch.arange(N) % 2),
    "roc-auc": (MultiLabel(("a", "b")), (torch.arange(2 * N) % 3 == 0).float().view(N, 2)),
    "mae": (Regression(("a", "b")), torch.zeros(N, 2)),
    "rmse": (Regression(("a", "b"), metric="rmse"), torch.zeros(N, 2)),
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_run_that_diverged_has_no_metric_and_is_never_better(name: str) -> None:
    objective, y = OBJECTIVES[name]
    answers = torch.randn(N, RUNS, 2)
    answers[3, 1] = torch.nan
    found = torch.tensor(measured(objective, answers, y))
    assert found.isfinite().tolist() == [True, False, True]
    metric = objective.metric
    assert metric.better(found, torch.full((RUNS,), metric.worst)).tolist() == [True, False, True]
    assert not metric.better(torch.tensor(metric.worst), found).any()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_objectives_can_be_sent_to_other_processes(name: str) -> None:
    objective, y = OBJECTIVES[name]
    answers = torch.randn(N, RUNS, 2)
    again = pickle.loads(pickle.dumps(objective))
    assert measured(again, answers, y) == measured(objective, answers, y)


def test_how_values_are_shown() -> None:
    assert Classification(("a",)).metric.show(0.6135) == "61.4 %"
    assert Regression(("a",)).metric.show(0.07534) == "0.07534"
    assert repr(Metric("mine", lambda answers, y: answers)) == "Metric('mine')"
