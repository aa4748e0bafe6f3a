"""Several runs that predict together: the mean of their predictions, in memory and from a file."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import neuraltrees as nt
from neuraltrees.serving import Predictor
from neuraltrees.training import Bundle, Fitted, fit
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
