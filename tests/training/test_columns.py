"""Columns in a folder and batches that are made ahead change nothing but where the graphs are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import neuraltrees as nt
from neuraltrees.training import NetworkSpec, Run, Task, TrainingSpec, fit
from neuraltrees.training import deck as decks
from neuraltrees.training.source import ahead
from tests.training.tasks import small_runs, small_task

BAGS = NetworkSpec(schedule="bags", hidden=8, layers=2, dropout=0.2)
SHUFFLED = TrainingSpec(epochs=3, batches=3, lr=0.02, weight_decay=1e-3, every_class=False, shuffle=True)


def task_and_runs() -> tuple[Task, list[Run]]:
    task = small_task().replace(method="canonical", terminal="bag")
    return task, small_runs(task, [0, 1])


def test_training_from_a_folder_equals_training_from_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, runs = task_and_runs()
    expected = fit(task, BAGS, SHUFFLED, runs)
    kept = SHUFFLED.replace(columns=str(tmp_path / "kept"))
    assert torch.equal(fit(task, BAGS, kept, runs).loss_curve, expected.loss_curve)

    def never(*args: Any) -> None:
        raise AssertionError("the columns are there")

    monkeypatch.setattr(decks, "make_columns", never)
    again = fit(task, BAGS, kept.replace(prefetch=True), runs)
    assert torch.equal(again.loss_curve, expected.loss_curve)
    assert torch.equal(again.test, expected.test)


def test_batches_made_ahead_are_the_same() -> None:
    task, runs = task_and_runs()
    expected = fit(task, BAGS, SHUFFLED, runs)
    assert torch.equal(fit(task, BAGS, SHUFFLED.replace(prefetch=True), runs).loss_curve, expected.loss_curve)


def test_a_thread_is_ahead_and_passes_errors_on() -> None:
    made: list[int] = []
    found = ahead(range(6), lambda number: made.append(number) or number, most=2)
    assert next(found) == 0
    assert list(found) == [1, 2, 3, 4, 5] and made == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ZeroDivisionError):
        list(ahead([1, 0], lambda number: 1 / number))


def test_folders_that_hold_something_else(tmp_path: Path) -> None:
    task, runs = task_and_runs()
    kept = SHUFFLED.replace(columns=str(tmp_path), epochs=1)
    fit(task, BAGS, kept, runs)
    with pytest.raises(
        nt.InputError, match=r"Expected .* to hold the graphs of this task with these trees; got others"
    ):
        fit(task.replace(terminal="clique"), BAGS, kept, runs)
    with pytest.raises(nt.InputError, match="got others"):
        fit(task, BAGS.replace(bag_codes=True), kept, runs)
    column = next(path for path in tmp_path.iterdir() if path.name == "column.member_bag.column")
    column.write_bytes(column.read_bytes()[:-1])
    with pytest.raises(nt.InputError, match=r"Expected .*member_bag.column to have \d+ bytes; got \d+. Delete"):
        fit(task, BAGS, kept, runs)
    index = tmp_path / "index.json"
    index.write_text(index.read_text()[:100])
    with pytest.raises(nt.InputError, match=r"Expected .*index.json to describe columns of graphs; got a broken file"):
        fit(task, BAGS, kept, runs)
    index.write_text(json.dumps({"format": "something"}))
    with pytest.raises(nt.InputError, match="got a broken file"):
        fit(task, BAGS, kept, runs)
    index.unlink()
    fit(task, BAGS, kept, runs)  # what was left there without an index is replaced
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("years of work")
    with pytest.raises(nt.InputError, match=r"Expected .* to be empty or to hold columns of graphs; got other files"):
        fit(task, BAGS, kept.replace(columns=str(other)), runs)


def test_a_full_disk_is_known_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, runs = task_and_runs()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
    with pytest.raises(nt.InputError, match=r"Expected room for .* GiB in .*; got 0.0 GiB"):
        fit(task, BAGS, SHUFFLED.replace(columns=str(tmp_path)), runs)
    assert not (tmp_path / "index.json").exists()
