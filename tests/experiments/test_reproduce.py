"""reproduce: every experiment is listed, picks up where it was stopped, and draws what it measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import neuraltrees as nt
from neuraltrees.cli import main
from neuraltrees.experiments import cells, table1, times
from neuraltrees.experiments.cells import Cell, accuracies, run_cells
from neuraltrees.experiments.experiment import Scale
from neuraltrees.experiments.registry import EXPERIMENTS
from neuraltrees.experiments.statistics import mean_std

SMALL = {"dataset": "synthetic", "scenes": 20, "hidden": 4, "layers": 1, "epochs": 2, "runs": 2, "conv": "gcn"}


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command."""
    with pytest.raises(SystemExit) as end:
        main(["reproduce", *map(str, arguments)])
    output = capsys.readouterr()
    return int(end.value.code or 0), output.out, output.err


def two_cells() -> list[Cell]:
    return [Cell.of({"model": model}, model=model, **SMALL) for model in ("gnn", "neural-tree")]


def test_cells_are_trained_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    told: list[str] = []
    run_cells("x", two_cells()[:1], path, "cpu", told.append)
    first = json.loads(path.read_text())["cells"][0]
    assert [entry["seed"] for entry in first["runs"]] == [0, 1]
    assert first["settings"]["hidden"] == 4 and first["seconds"] >= 0 and "torch" in first["versions"]
    content = run_cells("x", two_cells(), path, "cpu", told.append)
    assert content["cells"][0] == first, "the first cell is as it was"
    assert len(content["cells"]) == 2 and len(told) == 2
    monkeypatch.setattr(cells, "fit", lambda *arguments: pytest.fail("trained again"))
    assert run_cells("x", two_cells(), path, "cpu", told.append) == content
    assert accuracies(content, model="gnn") == [entry["test"] for entry in first["runs"]]
    with pytest.raises(nt.InputError, match="Expected a cell model mlp in the results of x; got none"):
        accuracies(content, model="mlp")


def test_other_settings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    run_cells("x", two_cells()[:1], path, "cpu", lambda line: None)
    before = path.read_bytes()
    other = [Cell.of({"model": "gnn"}, model="gnn", **(SMALL | {"epochs": 3}))]
    with pytest.raises(nt.InputError, match=r"to hold model gnn with epochs = 3; got 2. Choose another --out"):
        run_cells("x", other, path, "cpu", lambda line: None)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"cells": [', "Expected results in {path}; got no JSON: "),
        ('{"experiment": "table1", "cells": []}', "Expected results of x in {path}; got something else."),
        ("[1, 2]", "Expected results of x in {path}; got something else."),
    ],
)
def test_other_files_are_refused_and_kept(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(nt.InputError) as caught:
        run_cells("x", two_cells(), path, "cpu", lambda line: None)
    assert str(caught.value).startswith(message.format(path=path))
    assert path.read_text() == content


def test_a_device_that_is_not_there_is_refused_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("compute-time", "expressivity"):
        code, _, errors = run(capsys, name, "--device", "abacus", "--out", tmp_path / "out")
        assert code == 2
        assert "Expected a device such as cpu or cuda; got 'abacus'." in errors
    assert not (tmp_path / "out").exists()


def test_the_paper_protocol_is_the_default() -> None:
    listed = table1.cells(Scale())
    assert len(listed) == 12
    assert {(cell.config.runs, cell.config.epochs, cell.config.train_share) for cell in listed} == {(100, 1000, 0.7)}
    tree = next(cell.config for cell in listed if cell.name == {"conv": "gat", "network": "neural tree"})
    assert (tree.hidden, tree.layers, tree.lr, tree.weight_decay, tree.heads) == (128, 4, 0.0005, 1e-4, 6)
    stored = [cell.config.edges for cell in listed if cell.name["network"] == "GNN, stored edges"]
    assert set(stored) == {"stored"}


def test_list_and_unknown_names(capsys: pytest.CaptureFixture[str]) -> None:
    code, output, _ = run(capsys, "--list")
    assert code == 0
    assert all(name in output for name in EXPERIMENTS)
    code, _, errors = run(capsys, "table2")
    assert code == 2
    assert "Expected an experiment out of table1, " in errors


@pytest.mark.parametrize("name", ["table1", "training-data", "iterations"])
def test_a_tiny_version(name: str, tmp_path: Path, data_root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ("--quick", "--runs", 2, "--epochs", 1, "--data-root", data_root, "--out", tmp_path)
    code, output, _ = run(capsys, name, *small)
    assert code == 0
    assert "not the paper's protocol" in output
    files = {path.name for path in (tmp_path / "quick").iterdir()}
    assert files == {f"{name}.json", f"{name}.md", f"{name}.svg", f"{name}.png"}
    content = json.loads((tmp_path / "quick" / f"{name}.json").read_text())
    page = (tmp_path / "quick" / f"{name}.md").read_text()
    for cell in content["cells"]:
        assert mean_std([entry["test"] for entry in cell["runs"]]) in page


def test_the_second_stage_follows_from_the_first(
    tmp_path: Path, data_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ("--quick", "--runs", 1, "--epochs", 1, "--data-root", data_root, "--out", tmp_path)
    assert run(capsys, "hyperparameters", *small)[0] == 0
    content = json.loads((tmp_path / "quick" / "hyperparameters.json").read_text())
    for model in ("gnn", "neural-tree"):
        stages: dict[int, list[tuple[float, dict[str, float]]]] = {1: [], 2: []}
        for cell in content["cells"]:
            if cell["name"]["model"] == model:
                stages[cell["name"]["stage"]].append((cell["runs"][0]["val"], cell["name"]))
        assert (len(stages[1]), len(stages[2])) == (8, 4)
        top = max(val for val, _ in stages[1])
        names = ("layers", "hidden", "lr")
        best = [tuple(name[key] for key in names) for val, name in stages[1] if val == top]
        assert {tuple(name[key] for key in names) for _, name in stages[2]} <= set(best)
    assert (tmp_path / "quick" / "hyperparameters-gnn.png").exists()


@pytest.mark.parametrize("name", ["dataset-statistics", "compute-time"])
def test_what_is_counted_and_timed(
    name: str, tmp_path: Path, data_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, output, _ = run(capsys, name, "--quick", "--data-root", data_root, "--out", tmp_path)
    assert code == 0
    assert "PubMed" in output
    if name == "dataset-statistics":
        assert "| Cora | 2,708 (2,708) | 5,278 (5,429) | 7 (7) | 1,433 |" in output
        assert "treewidth 1 to 13, mean 2.75" in output


def test_times_are_kept_for_every_device(tmp_path: Path, data_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Still:
        """A trainer that has nothing to do."""

        def __init__(self, *arguments: object) -> None: ...
        def run_epoch(self, done: int) -> None: ...
        def evaluate(self) -> None: ...

    path = tmp_path / "train-time.json"
    monkeypatch.setattr(times, "Trainer", Still)
    monkeypatch.setattr(times, "_seconds", lambda work, device: 3.0 if "run_epoch" in str(work) else 1.0)
    for device in ("abacus", "slide rule", "abacus"):
        monkeypatch.setattr(times, "machine", lambda _, device=device: {"device": device})
        results = times.measure_training(Scale(quick=True, data_root=str(data_root)), path, lambda line: None)
    assert json.loads(path.read_text()) == results
    assert [point["device"] for point in results["points"]] == ["slide rule", "abacus"]
    assert all((row["train"], row["test"]) == (2.0, 1.0) for point in results["points"] for row in point["rows"])
    lines = times.show_training(results, tmp_path)
    assert sum(line.startswith("| GIN | 2000.0 ms | 2000.0 ms | 1.0 × (4.4 ×) |") for line in lines) == 2
    assert (tmp_path / "train-time.svg").exists()
