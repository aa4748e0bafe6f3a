"""`fit`: runs that diverge, progress, and arguments that are none."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from rich.console import Console
from torch import Tensor

import neuraltrees as nt
from neuraltrees.objectives import Metric
from neuraltrees.training import progress as progress_module
from neuraltrees.training.fitting import trained
from neuraltrees.training.progress import in_words, show_progress
from neuraltrees.training.runs import Epoch
from tests.training.tasks import QUICK, SMALL, paths, small_runs, small_task

LABELS = {"first": ("no", "yes"), "other": ("none", "one", "both")}


class BrokenLoss:
    """The cross entropy; from some call on NaN for one run."""

    def __init__(self, run: int, calls: int) -> None:
        self.run, self.calls = run, calls

    def __call__(self, answers: Tensor, y: Tensor) -> Tensor:
        self.calls -= 1
        losses = -answers.log_softmax(-1).gather(-1, y.view(-1, 1, 1).expand(-1, answers.shape[1], 1)).squeeze(-1)
        factor = torch.ones(answers.shape[1])
        factor[self.run] = torch.nan if self.calls < 0 else 1.0
        return losses * factor


def task_with(loss: BrokenLoss) -> nt.Task:
    return nt.Task(paths(), nt.Classification(LABELS, loss=loss))


def test_all_runs_diverging_is_an_error() -> None:
    task = small_task()
    with pytest.raises(nt.DivergedError, match=r"all 2 diverged, so there is nothing to keep\. Lower lr, or set clip"):
        nt.fit(task, SMALL, QUICK.replace(lr=1e30), small_runs(task, [0, 1]))


def test_a_run_that_diverges_at_once_is_warned_of_and_has_no_bundle() -> None:
    task = task_with(BrokenLoss(run=1, calls=0))
    with pytest.warns(nt.DivergenceWarning, match="Run 1 diverged at once and is left out. Lower lr, or set clip") as w:
        fitted = nt.fit(task, SMALL, QUICK, small_runs(task, [0, 1, 2]))
    assert len(w) == 1
    assert w[0].filename == __file__
    assert (fitted.best_epoch > 0).tolist() == [True, False, True]
    assert fitted.diverged_in.tolist() == [0, 1, 0]
    assert fitted.best_run in (0, 2)
    assert nt.Bundle.of(fitted).facts["run"] == fitted.best_run
    with pytest.raises(nt.DivergedError, match="run 1 diverged at once"):
        nt.Bundle.of(fitted, run=1)
    others = trained(small_task(), SMALL, QUICK, small_runs(task, [0, 1, 2]))
    assert torch.equal(fitted.loss_curve[:, [0, 2]], others.loss_curve[:, [0, 2]]), "the others do not notice"


def test_a_run_that_diverges_later_keeps_its_best_epoch() -> None:
    task = task_with(BrokenLoss(run=0, calls=2 * QUICK.batches))
    with pytest.warns(nt.DivergenceWarning, match=r"Run 0 diverged in epoch 3; its epoch [12] is kept\."):
        fitted = nt.fit(task, SMALL, QUICK, small_runs(task, [0, 1]))
    assert fitted.diverged_in.tolist() == [3, 0]
    assert nt.Bundle.of(fitted, run=0).facts["best epoch"] in (1, 2)


def test_a_run_that_stops_early_has_not_diverged() -> None:
    task = small_task(60)
    fitted = nt.fit(task, SMALL, QUICK.replace(epochs=40, batches=2, patience=2), small_runs(task, [0, 1]))
    assert fitted.loss_curve.isnan().any(), "one of them has stopped"
    assert fitted.diverged_in.tolist() == [0, 0]


def test_no_bundle_of_a_training_that_diverged() -> None:
    task = small_task()
    fitted = trained(task, SMALL, QUICK.replace(lr=1e30), small_runs(task, [0, 1]))
    assert fitted.val.isnan().all()
    with pytest.raises(nt.DivergedError, match="all diverged"):
        nt.Bundle.of(fitted)


@pytest.mark.parametrize("arguments", [{"on_epoch": 3}, {"progress": "yes"}, {"threads": 0}, {"threads": "two"}])
def test_arguments_that_are_none(arguments: dict[str, Any]) -> None:
    task = small_task()
    with pytest.raises(nt.InputError, match=f"Expected {next(iter(arguments))}"):
        nt.fit(task, SMALL, QUICK, small_runs(task, [0]), **arguments)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown_in(monkeypatch: pytest.MonkeyPatch, file: io.StringIO, **arguments: Any) -> str:
    """What a training writes to standard error."""
    monkeypatch.setattr(sys, "stderr", file)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    task = small_task()
    nt.fit(task, SMALL, QUICK, small_runs(task, [0]), **arguments)
    return file.getvalue()


def test_progress_in_a_terminal_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "epoch 4/4  0:00:00 left  val " in shown_in(monkeypatch, Terminal())


def test_no_progress_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_in(monkeypatch, Terminal(), progress=False) == ""


def test_no_progress_in_a_pipe_unless_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_in(monkeypatch, io.StringIO()) == ""
    monkeypatch.setattr(progress_module, "LOG_EVERY", 0.0)
    lines = shown_in(monkeypatch, io.StringIO(), progress=True).splitlines()
    assert [line[:9] for line in lines] == ["epoch 1/4", "epoch 2/4", "epoch 3/4", "epoch 4/4"]


def test_progress_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def display(content: dict[str, str], raw: bool, display_id: bool) -> Any:
        assert raw and display_id
        shown.append(content["text/plain"])
        return SimpleNamespace(update=lambda content, raw: shown.append(content["text/plain"]))

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=SimpleNamespace(display=display)))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(Console, "is_jupyter", True, raising=False)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    task = small_task()
    nt.fit(task, SMALL, QUICK, small_runs(task, [0]))
    assert shown[-1].startswith("epoch 4/4  0:00:00 left  val ")


METRIC = Metric("accuracy", lambda answers, y: answers, percent=True)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_line_has_epoch_total_and_time_at_any_width(width: int) -> None:
    console = Console(file=Terminal(), width=width, force_terminal=True, legacy_windows=False)
    trainer: Any = SimpleNamespace(
        epochs_done=0, training=SimpleNamespace(epochs=1000), objective=SimpleNamespace(metric=METRIC)
    )
    values = [torch.tensor([value]) for value in (12.5, 1.0, 1.0, 1.0)]
    with show_progress(trainer, console) as show:
        show(Epoch(500, 1000, *values))
        written: str = console.file.getvalue()  # type: ignore[attr-defined]
    assert "epoch  500/1000  0:00:0" in written and " left" in written
    assert ("best 100.0 %" in written) == (width >= 80)
    assert "…" not in written
    assert len(in_words(Epoch(500, 1000, *values), METRIC, 3600.0, width)) <= width


def test_values_that_are_none() -> None:
    task = small_task()
    runs = small_runs(task, [0])
    with pytest.raises(nt.InputError, match=r"Expected the state of a training, as state\(\) returns it; got int"):
        nt.Trainer(task, SMALL, QUICK, runs).restore(3)  # type: ignore[arg-type]
    with pytest.raises(nt.InputError, match="Expected batches as an integer of at least 1; got 'a'"):
        nt.fit(task, SMALL, QUICK, runs).answers(batches="a")  # type: ignore[arg-type]
    with pytest.raises(nt.InputError, match=r"Expected scaling as Scaling\(...\); got 3"):
        nt.Task(paths(), LABELS, scaling=3)  # type: ignore[arg-type]
