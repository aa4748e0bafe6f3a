"""reproduce: every experiment is listed, picks up where it was stopped, and draws what it measured."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import neuraltrees as nt
from neuraltrees.cli import main
from neuraltrees.experiments import citation_tuning, citations, hyperparameters, table1, times
from neuraltrees.experiments.cells import Cell, accuracies, run_cells, trained
from neuraltrees.experiments.experiment import Scale
from neuraltrees.experiments.page import Figure, Table, markdown
from neuraltrees.experiments.registry import EXPERIMENTS
from neuraltrees.experiments.statistics import mean_std
from neuraltrees.training import NetworkSpec, TrainingSpec, fitting
from neuraltrees.training.checkpoint import Checkpoint
from neuraltrees.tuning import record as record_module
from neuraltrees.tuning.store import Results
from tests.training.tasks import small_runs, small_task

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
    first = run_cells("x", two_cells()[:1], path, "cpu", told.append).records[0]
    assert [entry["seed"] for entry in first["runs"]] == [0, 1]
    assert first["settings"]["hidden"] == 4 and first["seconds"] >= 0 and "torch" in first["versions"]
    results = run_cells("x", two_cells(), path, "cpu", told.append)
    assert results.records[0] == first, "the first cell is as it was"
    assert len(results.records) == 2 and len(told) == 2
    monkeypatch.setattr(record_module, "trained", lambda *arguments: pytest.fail("trained again"))
    assert run_cells("x", two_cells(), path, "cpu", told.append) == results == Results.read(path)
    assert accuracies(results, model="gnn") == [entry["test"] for entry in first["runs"]]
    with pytest.raises(nt.InputError, match="Expected model mlp in the results of x; got none"):
        accuracies(results, model="mlp")


def test_a_cell_goes_on_where_it_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the file of the last checkpoint is left, as after kill -9; the record is that of an unbroken run."""
    cell = Cell.of({"model": "gnn"}, model="gnn", **(SMALL | {"epochs": 6, "dropout": 0.5}))
    (whole,) = run_cells("x", [cell], tmp_path / "whole.json", "cpu", lambda line: None).records
    assert not (tmp_path / "unfinished").exists(), "a finished training leaves no checkpoint"

    path, epochs = tmp_path / "x.json", []
    monkeypatch.setattr(fitting, "EVERY", 0.0)
    run_epoch = fitting.Trainer.run_epoch

    def killed(trainer: fitting.Trainer, done: int) -> None:
        epochs.append(done)
        if done == 4 and epochs.count(4) == 1:
            raise MemoryError
        run_epoch(trainer, done)

    monkeypatch.setattr(fitting.Trainer, "run_epoch", killed)
    with pytest.raises(nt.NeuralTreesError, match="rerun the same command to continue"):
        run_cells("x", [cell], path, "cpu", lambda line: None)
    assert len([*(tmp_path / "unfinished").iterdir()]) == 1
    (found,) = run_cells("x", [cell], path, "cpu", lambda line: None).records
    assert epochs == [0, 1, 2, 3, 4, 4, 5]
    assert found["runs"] == whole["runs"]
    assert not (tmp_path / "unfinished").exists()


def test_another_training_does_not_go_on_from_it(tmp_path: Path) -> None:
    task = small_task(10)
    given = (task, NetworkSpec(hidden=4, layers=1), TrainingSpec(epochs=2), small_runs(task, [0]))
    kept = Checkpoint(tmp_path / "a.safetensors", {"hidden": 4})
    kept.save(fitting.Trainer(*given).state())
    with pytest.raises(nt.InputError, match=r"to hold this training, with hidden = 8; got 4"):
        fitting.trained(*given, checkpoint=Checkpoint(kept.path, {"hidden": 8}))
    assert kept.path.exists()


def test_other_settings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    run_cells("x", two_cells()[:1], path, "cpu", lambda line: None)
    before = path.read_bytes()
    other = [Cell.of({"model": "gnn"}, model="gnn", **(SMALL | {"epochs": 3, "hidden": 8}))]
    message = r"to hold model gnn with the same settings; it has another hidden \(4 there, 8 here\), epochs \(2 there"
    with pytest.raises(nt.InputError, match=message):
        run_cells("x", other, path, "cpu", lambda line: None)
    assert path.read_bytes() == before


def test_settings_younger_than_the_file_had_their_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    run_cells("x", two_cells()[:1], path, "cpu", lambda line: None)
    content = json.loads(path.read_text())
    del content["records"][0]["settings"]["residual"]
    path.write_text(json.dumps(content))
    monkeypatch.setattr(record_module, "trained", lambda *arguments: pytest.fail("trained again"))
    run_cells("x", two_cells()[:1], path, "cpu", lambda line: None)


@pytest.mark.parametrize("name", ["table1", "training-data"])
def test_the_results_in_the_repository_are_complete(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = Path(__file__).parents[2] / "docs" / "results" / f"{name}.json"
    path = Path(shutil.copy(results, tmp_path))
    monkeypatch.setattr(record_module, "trained", lambda *arguments: pytest.fail("trained again"))
    assert EXPERIMENTS[name].measure(Scale(), path, lambda line: None) == Results.read(results)


def test_the_tuning_in_the_repository_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("hyperparameters", "citation-tuning"):
        shutil.copy(Path(__file__).parents[2] / "docs" / "results" / f"{name}.json", tmp_path)
    monkeypatch.setattr(record_module, "trained", lambda *arguments: pytest.fail("trained again"))
    hyperparameters.measure(Scale(), tmp_path / "hyperparameters.json", lambda line: None)
    wanted = [(dataset, conv) for dataset in citations.NETWORKS for conv in ("gcn", "gat")]
    best = citation_tuning.tune(wanted, tmp_path / "citation-tuning.json", Scale(), lambda line: None)
    used = Results.read(Path(__file__).parents[2] / "docs" / "results" / "citation-data.json")
    tuned = [record for record in used.records if "k" in record["name"]]  # the others have the default's settings
    assert tuned
    for record in tuned:
        name, settings = record["name"], record["settings"]
        model = "gnn" if name["k"] is None else "neural-tree"
        point = best[name["dataset"], name["conv"], model, citation_tuning.regime(name["nodes"])]
        assert {key: settings[key] for key in point} == dict(point)


def test_a_device_that_is_not_there_is_refused_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("compute-time", "expressivity"):
        code, _, errors = run(capsys, name, "--device", "abacus", "--out", tmp_path / "out")
        assert code == 2
        assert "Expected --device such as cpu or cuda; got 'abacus'." in errors
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
    assert [line.split()[0] for line in output.splitlines()[1:]] == list(EXPERIMENTS)
    code, _, errors = run(capsys, "table2")
    assert code == 2
    assert "Expected an experiment out of table1, " in errors


def test_all_leaves_out_the_very_large_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []
    for name, experiment in EXPERIMENTS.items():
        instead = replace(
            experiment,
            measure=lambda scale, path, log, name=name: measured.append(name) or Results(name),
            draw=lambda results, folder: [Table(["a"], [["[b]"]]), Figure("Figure", "figure.svg"), "Text."],
        )
        monkeypatch.setitem(EXPERIMENTS, name, instead)
    code, output, errors = run(capsys, "all", "--out", tmp_path)
    large = [name for name, experiment in EXPERIMENTS.items() if experiment.large]
    assert code == 0 and {"molecules-zinc", "posterior-gap-sage-large"} < set(large)
    assert measured == [name for name in EXPERIMENTS if name not in large]
    assert f"Skipped, because they take very long: {', '.join(large)}." in errors
    assert "[b]" in output and "Text." in output
    assert "|" not in output and "![" not in output, "a table for people, not Markdown"
    assert "![Figure](figure.svg)" in (tmp_path / "table1.md").read_text()


def test_the_summary_is_a_word_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results").mkdir()
    shutil.copy(Path(__file__).parents[2] / "docs" / "results" / "table1.json", tmp_path / "results")
    code, output, _ = run(capsys, "--summary", tmp_path)
    assert code == 0
    assert output.startswith(f"Written: {tmp_path / 'results.md'} and its figures in {tmp_path / 'images'}, from 1 exp")
    code, _, errors = run(capsys, "--summary", tmp_path / "nowhere")
    assert code == 2 and "Expected a folder that holds results/" in errors


@pytest.mark.parametrize("name", ["table1", "training-data", "iterations"])
def test_a_tiny_version(name: str, tmp_path: Path, data_root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ("--quick", "--runs", 2, "--epochs", 1, "--data-root", data_root, "--out", tmp_path)
    code, output, _ = run(capsys, name, *small)
    assert code == 0
    assert "A smoke test (--quick): it shows that everything runs." in output
    assert "smoke test (--quick)" in (tmp_path / "quick" / f"{name}.svg").read_text()
    files = {path.name for path in (tmp_path / "quick").iterdir()}
    assert files == {f"{name}.json", f"{name}.md", f"{name}.svg", f"{name}.png"}
    page = (tmp_path / "quick" / f"{name}.md").read_text()
    for cell in trained(Results.read(tmp_path / "quick" / f"{name}.json")):
        shown = mean_std([entry["test"] for entry in cell["runs"]])
        assert shown in page and shown in output


def test_what_quick_does_not_change_is_no_smoke_test(
    tmp_path: Path, data_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, output, _ = run(capsys, "dataset-statistics", "--quick", "--data-root", data_root, "--out", tmp_path)
    assert code == 0
    assert "smoke test" not in output
    assert "smoke test" not in (tmp_path / "quick" / "dataset-statistics.svg").read_text()


def test_the_second_stage_follows_from_the_first(
    tmp_path: Path, data_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ("--quick", "--runs", 1, "--epochs", 1, "--data-root", data_root, "--out", tmp_path)
    assert run(capsys, "hyperparameters", *small)[0] == 0
    results = Results.read(tmp_path / "quick" / "hyperparameters.json")
    for model in ("gnn", "neural-tree"):
        stages: dict[int, list[tuple[float, dict[str, float]]]] = {1: [], 2: []}
        for cell in results.find(model=model):
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
        assert ["Cora", "2,708", "(2,708)", "5,278", "(5,429)", "7", "(7)", "1,433"] in map(
            str.split, output.splitlines()
        )
        assert "treewidth 1 to 13, mean 2.75" in output


def test_times_are_kept_for_every_device(tmp_path: Path, data_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Still:
        """A trainer that has nothing to do."""

        threads = 1

        def __init__(self, *arguments: object) -> None: ...
        def run_epoch(self, done: int) -> None: ...
        def evaluate(self) -> None: ...

    path = tmp_path / "train-time.json"
    monkeypatch.setattr(times, "Trainer", Still)
    monkeypatch.setattr(times, "_seconds", lambda work, device: 3.0 if "run_epoch" in str(work) else 1.0)
    for device in ("abacus", "slide rule", "abacus"):
        monkeypatch.setattr(times, "machine", lambda _, threads, device=device: {"device": device})
        results = times.measure_training(Scale(quick=True, data_root=str(data_root)), path, lambda line: None)
    assert Results.read(path) == results
    assert times.devices(results) == ["abacus", "slide rule"]
    assert len(results.records) == 2 * 8
    assert all((record["train"], record["test"]) == (2.0, 1.0) for record in results.records)
    page = markdown(times.TRAINING.show(results, tmp_path))
    assert page.count("\n| GIN | 2000.0 ms | 2000.0 ms | 1.0 × (4.4 ×) |") == 2
    assert (tmp_path / "train-time.svg").exists()


def test_a_part_of_an_experiment_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, errors = run(capsys, "molecules-zinc", "--quick", "--only", "nonsense", "--out", tmp_path)
    assert code == 2 and "Expected --only with words of a name out of dataset zinc, network GNN;" in errors
    code, _, errors = run(capsys, "table1", "--quick", "--only", "GCN", "--out", tmp_path)
    assert code == 2 and "Expected --only for" in errors and "got table1. Leave it out." in errors
