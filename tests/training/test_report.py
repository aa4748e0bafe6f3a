"""Reports of a training: all metrics, and the confusion matrices of classes."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.objectives import Confusion
from neuraltrees.training.fitting import trained
from tests.training.tasks import QUICK, SMALL, small_runs, small_task


def test_confusions_are_those_of_scikit_learn() -> None:
    task = small_task(40)
    runs = small_runs(task, [0, 1])
    fitted = nt.fit(task, SMALL, QUICK, runs)
    answers, kinds = fitted.answers(), task.node_type
    for part in ("train", "val", "test"):
        for number, report in enumerate(fitted.report(part)):
            used = getattr(runs[number].split, part)
            predicted = answers[:, number].argmax(-1)
            assert report.metrics["accuracy"] == pytest.approx(float((predicted == task.y)[used].double().mean()))
            through = kinds * 3  # classes of all types, numbered through
            macro = f1_score((task.y + through)[used], (predicted + through)[used], average="macro")
            assert report.metrics["macro-f1"] == pytest.approx(macro)
            for kind, found in enumerate(report.confusions):
                y, guess = task.y[used & (kinds == kind)], predicted[used & (kinds == kind)]
                classes = range(len(found.labels))
                assert found.type == list(task.labels)[kind]
                assert found.counts.tolist() == confusion_matrix(y, guess, labels=classes).tolist()
                expected = precision_recall_fscore_support(y, guess, labels=classes, zero_division=math.nan)
                scores = (found.precision, found.recall, found.f1, found.support.double())
                for score, value in zip(scores, expected, strict=True):
                    torch.testing.assert_close(score, torch.tensor(value).double(), equal_nan=True)
    assert fitted.test.tolist() == pytest.approx([report.metrics["accuracy"] for report in fitted.report()])


def test_a_class_that_does_not_occur_has_no_scores() -> None:
    found = Confusion.of("node", ("a", "b", "c"), torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1]))
    assert [score[2].isnan().item() for score in (found.precision, found.recall, found.f1)] == [True, True, True]
    assert found.as_dict()["confusion"] == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]


def labelled(y: Any) -> Data:
    return Data(x=torch.randn(3, 5), edge_index=torch.tensor([[0, 1], [1, 2]]), y=y)


@pytest.mark.parametrize(
    ("objective", "label", "metrics"),
    [
        (nt.Regression(("size", "weight")), lambda: torch.randn(2), ["mae", "rmse"]),
        (nt.MultiLabel(("red", "round")), lambda: torch.randint(0, 2, (2,)).float(), ["roc-auc", "average-precision"]),
        (nt.Classification(("a", "b"), level="graph"), lambda: torch.randint(0, 2, (1,)), ["accuracy", "macro-f1"]),
    ],
)
def test_reports_of_all_kinds_of_labels(objective: Any, label: Any, metrics: list[str]) -> None:
    torch.manual_seed(0)
    task = nt.Task([labelled(label()) for _ in range(60)], objective)
    fitted = nt.fit(task, SMALL, QUICK, [nt.Run(seed, task.split(seed)) for seed in (0, 1)])
    reports = fitted.report()
    assert [list(report.metrics) for report in reports] == [metrics] * 2
    values = [report.metrics[objective.metric.name] for report in reports]
    assert values == pytest.approx(fitted.test.tolist(), abs=1e-5)
    assert [len(report.confusions) for report in reports] == [metrics[0] == "accuracy"] * 2


def test_a_run_that_diverged_has_no_report() -> None:
    task = small_task()
    fitted = trained(task, SMALL, QUICK.replace(lr=1e30), small_runs(task, [0]))
    (report,) = fitted.report()
    assert all(math.isnan(value) for value in report.metrics.values()) and report.confusions == ()


def test_parts_that_are_none() -> None:
    task = small_task()
    with pytest.raises(nt.InputError, match="Expected part out of train, val, test; got 'all'"):
        nt.fit(task, SMALL, QUICK, small_runs(task, [0])).report("all")  # type: ignore[arg-type]
