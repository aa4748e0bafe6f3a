"""Columns of a collection are the same whatever makes them, and a training reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import neuraltrees as nt
from neuraltrees.cli import main
from neuraltrees.data.task import Task
from neuraltrees.pools import Execution
from neuraltrees.training import NetworkSpec, TrainingSpec, fit
from neuraltrees.training import deck as decks
from neuraltrees.training import prepare as preparing
from neuraltrees.training.prepare import prepare
from tests.training.tasks import small_runs, small_task

BAGS = NetworkSpec(schedule="bags", hidden=8, layers=2)


def task() -> Task:
    return small_task().replace(method="canonical", terminal="bag")


def contents(folder: Path) -> dict[str, Any]:
    content = {path.name: path.read_bytes() for path in folder.glob("*.column")}
    return content | {"index": json.loads((folder / "index.json").read_bytes())}


@pytest.mark.parametrize("piece", [1, 5, 12, 100])
def test_pieces_make_what_one_makes(tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = small_runs(task(), [0])
    training = TrainingSpec(epochs=2, batches=3, every_class=False, shuffle=True, columns=str(tmp_path / "whole"))
    expected = fit(task(), BAGS, training, runs)
    told: list[tuple[int, int]] = []
    assert prepare(task(), BAGS, tmp_path / "pieces", piece=piece, on_piece=lambda *done: told.append(done))
    assert contents(tmp_path / "pieces") == contents(tmp_path / "whole")
    assert told == [(min(end, 12), 12) for end in range(piece, 12 + piece, piece)]
    assert not prepare(task(), BAGS, tmp_path / "pieces", piece=piece), "it is there already"
    monkeypatch.setattr(decks, "make_columns", pytest.fail)
    again = fit(task(), BAGS, training.replace(columns=str(tmp_path / "pieces")), runs)
    assert torch.equal(again.loss_curve, expected.loss_curve)


@pytest.mark.parametrize("executor", ["processes", "ray"])
def test_workers_make_the_same(tmp_path: Path, executor: Any) -> None:
    if executor == "ray":
        pytest.importorskip("ray", reason="needs Ray: pip install 'neuraltrees[ray]'")
    prepare(task(), BAGS, tmp_path / "one", piece=5)
    prepare(task(), BAGS, tmp_path / "two", piece=2, execution=Execution(executor, 2))
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


def test_a_failure_says_that_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "make_columns", lambda *_: 1 / 0)
    with pytest.raises(nt.NeuralTreesError) as error:
        prepare(task(), BAGS, tmp_path / "columns", piece=5)
    assert str(error.value) == (
        "The piece of graphs 0 to 4 failed: ZeroDivisionError: division by zero. Finished pieces are not kept; rerun "
        "the same command to start again."
    )


def test_an_interruption_leaves_no_columns(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(task(), BAGS, tmp_path / "columns", piece=5, on_piece=stop)
    assert not (tmp_path / "columns" / "index.json").exists()
    assert prepare(task(), BAGS, tmp_path / "columns", piece=5), "made anew"
    prepare(task(), BAGS, tmp_path / "whole")
    assert contents(tmp_path / "columns") == contents(tmp_path / "whole")


def test_networks_that_cannot_read_columns(tmp_path: Path) -> None:
    with pytest.raises(nt.InputError, match="Use schedule='bags'"):
        prepare(task(), NetworkSpec(hidden=8), tmp_path / "columns")
    assert not (tmp_path / "columns").exists()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["prepare", "--dataset", "synthetic", "--scenes", "20", "--schedule", "bags", "--json"]
    for made in ("now", "before; there was nothing to do"):
        with pytest.raises(SystemExit) as ended:
            main([*options, "--columns", str(tmp_path / "columns"), "--piece", "7"])
        assert ended.value.code == 0
        said = json.loads(capsys.readouterr().out)
        assert said["graphs"] == 20 and said["made"] == made
    with pytest.raises(SystemExit):
        main(options)
    assert "Error: Expected a folder for the trees; got none. Give --columns FOLDER." in capsys.readouterr().err
