"""`neuraltrees tune` as a person runs it: what it prints and writes, how it goes on, and how it fails."""

from __future__ import annotations

from math import nan
from pathlib import Path

import pytest
import typer

from neuraltrees.cli import main
from neuraltrees.cli.tune import _progress, tune_command
from neuraltrees.errors import InputError
from neuraltrees.files import locked_folder
from neuraltrees.objectives import Metric
from neuraltrees.training.config import load_config
from neuraltrees.tuning.grid import PAPER_STAGES, Grid, Point
from neuraltrees.tuning.search import finished_search
from neuraltrees.tuning.store import Results
from neuraltrees.tuning.trials import Trial

app = typer.Typer()
app.command()(tune_command)

NARROW = ["--layers", "2,1", "--hidden", "4", "--lr", "0.01", "--lr", "0.05", "--dropout", "0.25 0.5"]
NARROW += ["--weight-decay", "0"]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text("dataset: synthetic\nscenes: 20\nconv: gcn\nepochs: 9\nbatches: 4\n")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    app([str(argument) for argument in arguments], standalone_mode=False)
    return capsys.readouterr().out


def test_tune_writes_what_train_takes(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "tuning"
    options = ["--config", config, "--epochs", 2, "--runs", 2, "--seed", 5, "--model", "gnn", "--out", out]
    output = run(capsys, *options, *NARROW)
    results = Results.read(out / "tuning.json")
    grid = Grid(layers=(1, 2), hidden=(4,), lr=(0.01, 0.05), dropout=(0.25, 0.5), weight_decay=(0.0,))
    assert len(results.records) == 4 + 2
    assert Grid(**results.subject["grid"]) == grid
    chosen = finished_search(results, grid, PAPER_STAGES).best.point
    best = load_config(out / "best.yaml")
    assert best == load_config(config, {"epochs": 2, "runs": 2, "seed": 5, "model": "gnn", **chosen})
    assert load_config(out / "config.yaml") == load_config(config, {"epochs": 2, "runs": 2, "seed": 5, "model": "gnn"})
    assert (out / "tuning.svg").read_text().lstrip().startswith("<?xml")
    lines = output.splitlines()
    assert lines[0].startswith("gnn + gcn on synthetic: validation accuracy ")
    assert sum("✓" in line for line in lines) == 1
    assert all(len(line) <= 80 for line in lines if "%" in line) and "…" not in output
    assert all(str(out / name) in output for name in ("tuning.json", "tuning.svg", "best.yaml"))


def test_trials_are_continued_only_on_request(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "tuning"
    first = run(capsys, "--config", config, "--epochs", 1, "--out", out, *NARROW)
    kept = (out / "tuning.json").read_bytes()
    with pytest.raises(InputError, match="Add --resume"):
        run(capsys, "--config", config, "--epochs", 1, "--out", out, *NARROW)
    assert run(capsys, "--out", out, "--resume") == first, "what is not said again is as it was"
    assert (out / "tuning.json").read_bytes() == kept
    with pytest.raises(
        InputError, match=r'another network.conv \("gcn" there, "gin" here\), grid.hidden \(\[4\] there'
    ):
        run(capsys, "--out", out, "--resume", "--conv", "gin", "--hidden", "4,8")


def test_any_hyper_parameter(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "tuning"
    options = ["--config", config, "--epochs", 1, "--model", "gnn", "--out", out, *NARROW]
    output = run(capsys, *options, "--vary", "conv=gcn,sage", "--vary", "every-class=false")
    records = Results.read(out / "tuning.json").records
    assert {record["name"]["conv"] for record in records} == {"gcn", "sage"}
    assert {record["name"]["every_class"] for record in records} == {False}
    assert "every_class" in output.splitlines()[1]
    assert run(capsys, "--out", out, "--resume") == output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vary", "heads"], "Expected --vary as NAME=X,X, such as heads=2,4; got 'heads'."),
        (["--vary", "heads=x"], "Expected heads to be an integer; got 'x'."),
        (["--vary", "colour=1"], "Expected a hyper-parameter out of"),
        (["--layers", "2,x"], "Expected --layers as whole numbers separated by commas; got '2,x'."),
        (["--weight-decay", "much"], "Expected --weight-decay as numbers separated by commas; got 'much'."),
        (["--hidden", "0"], "Expected hidden to be at least 1; got 0."),
        (["--dropout", ","], "Expected at least one value of dropout; got none."),
        (["--conv", "cnn"], "got 'cnn'."),
    ],
)
def test_bad_options_leave_no_folder(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError) as error:
        run(capsys, *options, "--out", tmp_path / "tuning")
    assert message in str(error.value)
    assert not (tmp_path / "tuning").exists()


def test_nothing_to_resume_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"Expected a folder with a tuning to continue; got .*typo, which has none"):
        run(capsys, "--resume", "--out", tmp_path / "typo", *NARROW)
    assert not (tmp_path / "typo").exists()


def test_a_folder_in_use_or_of_a_training_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "tuning"
    with locked_folder(out), pytest.raises(InputError, match="another process is writing to it"):
        run(capsys, "--out", out, *NARROW)
    assert not out.exists()
    (tmp_path / "checkpoint.safetensors").write_text("precious")
    with pytest.raises(InputError, match="Expected a folder without a training"):
        run(capsys, "--out", tmp_path, *NARROW)


def test_a_log_gets_lines_and_a_trial_that_diverged_is_never_the_best(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neuraltrees.cli.tune.QUIET", 0.0)
    metric = Metric("accuracy", lambda answers, y: answers, percent=True)
    with _progress(3, metric) as on_trial:
        for hidden, val in ((4, nan), (8, 0.5), (16, nan)):
            on_trial(Trial(Point(hidden=hidden), (val,), (val,), parameters=1))
    assert capsys.readouterr().err.splitlines() == [
        "stage 1  trial 1/3  ",
        "stage 1  trial 2/3  best 50.0 %: hidden 8",
        "stage 1  trial 3/3  best 50.0 %: hidden 8",
    ]


def test_values_that_are_no_yaml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["tune", "--dataset", "synthetic", "--vary", "heads=[,2", "--out", str(tmp_path / "tuning")])
    assert end.value.code == 2
    assert "Expected --vary as NAME=X,X with numbers or words; got 'heads=[,2'." in capsys.readouterr().err


def test_a_tuning_compares_single_networks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("ensemble: 4")
    with pytest.raises(SystemExit) as end:
        main(["tune", "--config", str(path), "--out", str(tmp_path / "tuning")])
    error = capsys.readouterr().err
    assert end.value.code == 2 and "Expected ensemble: 1 for a tuning" in error and "--ensemble 4" in error
