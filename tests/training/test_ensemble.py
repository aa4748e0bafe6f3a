"""Several runs that predict together: the mean of their predictions, in memory and from a file."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import neuraltrees as nt
from neuraltrees.serving import Predictor
from neuraltrees.training import Bundle, Fitted, fit
from neuraltrees.training.runs import best_of, of_ensembles
from neuraltrees.tuning.record import train_record
from tests.training.tasks import QUICK, SMALL, paths, small_runs, small_task


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    task = small_task().scaled()
    return fit(task, SMALL.replace(head="crf"), QUICK, small_runs(task, [0, 1, 2]))


def test_the_mean_of_the_members(fitted: Fitted, tmp_path: Path) -> None:
    Bundle.of(fitted, run=[0, 2]).save(tmp_path / "both.safetensors")
    bundle = Bundle.load(tmp_path / "both.safetensors")
    assert bundle.members == 2 and bundle.facts is not None and bundle.facts["run"] == [0, 2]
    together = Predictor(bundle).predict(paths())
    members = [Predictor(Bundle.of(fitted, run=run)).predict(paths()) for run in (0, 2)]
    for mean, *each in zip(together, *members, strict=True):
        torch.testing.assert_close(mean, sum(each) / 2)


def test_known_labels_reach_every_member(fitted: Fitted) -> None:
    graphs = paths()
    known = [torch.where(torch.arange(graph.num_nodes) == 0, graph.y, -1) for graph in graphs]
    together = Predictor(Bundle.of(fitted, run=[0, 2])).predict(graphs, known)
    members = [Predictor(Bundle.of(fitted, run=run)).predict(graphs, known) for run in (0, 2)]
    for mean, *each in zip(together, *members, strict=True):
        torch.testing.assert_close(mean, sum(each) / 2)


def test_means_of_groups(fitted: Fitted) -> None:
    predicted = fitted.answers().softmax(-1)
    found = fitted.mean_predictions([[0, 1], [2]])
    torch.testing.assert_close(found[:, 0], (predicted[:, 0] + predicted[:, 1]) / 2)
    torch.testing.assert_close(found[:, 1], predicted[:, 2])


@pytest.mark.parametrize("run", [[], [0, 3], "01", -1])
def test_no_such_run(fitted: Fitted, run: object) -> None:
    with pytest.raises(nt.InputError, match="Expected a run between 0 and 2, or a list of at least one; got"):
        Bundle.of(fitted, run=run)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def six() -> Fitted:
    task = small_task().scaled()
    return fit(task, SMALL, QUICK, of_ensembles(task, [0, 1], 3))


def test_ensembles_of_runs_are_measured_on_their_mean_predictions(six: Fitted) -> None:
    assert [run.seed for run in six.runs] == [0, 1_000_000, 2_000_000, 1, 1_000_001, 2_000_001]
    first, second = six.ensembles(3)
    assert first.runs == (0, 1, 2) and second.runs == (3, 4, 5)
    mean = six.answers().softmax(-1)[:, 3:].mean(1)
    split, y = six.runs[3].split, six.task.targets
    right = mean.argmax(-1) == y % mean.shape[-1]  # labels are numbered over all node types
    assert second.val == pytest.approx(float(right[split.val & (y >= 0)].float().mean()))
    assert second.test == pytest.approx(float(right[split.test & (y >= 0)].float().mean()))


def test_ensembles_of_one_run_are_the_runs(six: Fitted) -> None:
    found = six.ensembles(1)
    torch.testing.assert_close(torch.tensor([each.test for each in found]), six.test)
    torch.testing.assert_close(torch.tensor([each.val for each in found]), six.val)


def test_a_run_that_diverged_is_left_out(six: Fitted) -> None:
    never = replace(six, best_epoch=torch.tensor([0, 3, 3, 0, 0, 0]))
    first, second = never.ensembles(3)
    pair = replace(six, runs=six.runs[1:3], network=Bundle.of(six, [1, 2]).build(), best_epoch=torch.tensor([3, 3]))
    assert first.runs == (1, 2) and first.test == pytest.approx(pair.ensembles(2)[0].test)
    assert second.runs == () and math.isnan(second.val) and math.isnan(second.test)
    assert best_of([first, second], six.task.objective.metric) is first
    assert best_of([second], six.task.objective.metric) is None


@pytest.mark.parametrize("size", [0, 4, 7])
def test_ensembles_of_another_size(six: Fitted, size: int) -> None:
    with pytest.raises(nt.InputError, match="Expected a size that divides the 6 runs; got"):
        six.ensembles(size)


def test_an_ensemble_has_one_split(six: Fitted) -> None:
    with pytest.raises(nt.InputError, match="Expected the runs 0 to 5 of an ensemble to have the same split"):
        six.ensembles(6)


def test_the_record_of_ensembles() -> None:
    task = small_task().scaled()
    runs = of_ensembles(task, [5, 6], 2)
    record, single = (train_record(task, SMALL, QUICK, runs, ensemble=size) for size in (2, 1))
    fitted = fit(task, SMALL, QUICK, runs)
    assert [run["test"] for run in record["runs"]] == [each.test for each in fitted.ensembles(2)]
    assert [run["seed"] for run in record["runs"]] == [5, 6]
    assert [one["test"] for one in record["runs"][1]["members"]] == [run["test"] for run in single["runs"][2:]]
    assert record["parameters"] == 2 * single["parameters"]
