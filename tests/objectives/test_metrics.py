"""Metrics against scikit-learn, run by run, with missing labels and diverged runs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, f1_score, mean_absolute_error, mean_squared_error, roc_auc_score
from torch import Tensor

from neuraltrees.errors import InputError
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


@pytest.mark.parametrize(
    ("metric", "score"), [("roc-auc", roc_auc_score), ("average-precision", average_precision_score)]
)
def test_equal_scores_have_one_place(metric: str, score: object) -> None:
    answers = torch.randint(0, 4, (500, 2, 2), generator=draw).float()
    answers[:, 1, 0] = 0.5
    y = (torch.rand(500, 2, generator=draw) < 0.2).float()
    mask = (torch.rand(500, 2, generator=draw) < 0.7).float()
    found = measured(MultiLabel(("a", "b"), metric=metric), answers, y, mask)
    for run, value in enumerate(found):
        used = mask[:, run] > 0
        parts = [score(y[used, label], answers[used, run, label]) for label in range(2)]  # type: ignore[operator]
        assert value == pytest.approx(np.mean(parts), abs=1e-6)


@pytest.mark.parametrize(
    ("metric", "score"), [("roc-auc", roc_auc_score), ("average-precision", average_precision_score)]
)
def test_rankings_of_many_items_and_large_logits(metric: str, score: object) -> None:
    """As many items as the largest molecule dataset has; logits whose logistic function is 1 in single precision."""
    answers = 40 * torch.randn(41_127, 1, 1, generator=draw) + 30
    y = (torch.rand(41_127, 1, generator=draw) < 0.035).float()
    (value,) = measured(MultiLabel(("active",), metric=metric), answers, y, torch.ones(41_127, 1))
    assert value == pytest.approx(score(y[:, 0], answers[:, 0, 0]), abs=1e-6)  # type: ignore[operator]


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


@pytest.mark.parametrize(
    ("metric", "score"),
    [("mae", mean_absolute_error), ("rmse", lambda truth, guess: mean_squared_error(truth, guess) ** 0.5)],
)
def test_standardised_numbers_are_measured_in_their_units(metric: str, score: object) -> None:
    y = torch.randn(N, 2, generator=draw) * torch.tensor([3.0, 0.1]) + torch.tensor([-20.0, 5.0])
    y[torch.rand(N, 2, generator=draw) < 0.3] = torch.nan
    answers = torch.randn(N, RUNS, 2, generator=draw)
    objective = Regression(("a", "b"), metric=metric).standardised(y)
    known = ~y.isnan()
    mean, std = (np.array([getattr(y[known[:, c], c], each)() for c in range(2)]) for each in ("mean", "std"))
    guess = answers.numpy() * std + mean
    assert np.allclose(objective.predict(answers), guess, atol=1e-4)
    for run, value in enumerate(measured(objective, answers, y)):
        used = (MASK[:, run] > 0).unsqueeze(1) & known
        assert value == pytest.approx(score(y[used], guess[:, run][used]), rel=1e-4)  # type: ignore[operator]
    exact = torch.from_numpy((y.nan_to_num(0.0).numpy() - mean) / std).float().unsqueeze(1)
    assert objective.loss(exact, y).abs().max() < 1e-4
    again = Regression.from_dict(objective.as_dict())
    assert torch.equal(again.predict(answers), objective.predict(answers))
    assert measured(again, answers, y) == measured(objective, answers, y)


def test_targets_that_cannot_be_standardised() -> None:
    constant = Regression(("a",)).standardised(torch.full((5, 1), 0.1))
    assert constant.std == (1.0,)
    with pytest.raises(InputError, match="a number for b; all are missing"):
        Regression(("a", "b")).standardised(torch.tensor([[1.0, torch.nan]]))
    with pytest.raises(InputError, match=r"std above 0; got \[0.0\] and \[0.0\]"):
        Regression(("a",), mean=[0.0], std=[0.0])
    with pytest.raises(InputError, match="one per target"):
        Regression(("a",), mean=[0.0, 1.0], std=[1.0, 1.0])
    with pytest.raises(InputError, match="got None and"):
        Regression(("a",), std=[1.0])


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
