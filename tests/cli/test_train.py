"""train, predict and demo as a person runs them, a kill in the middle included."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from neuraltrees.cli import main
from neuraltrees.cli.terminal import errors as errors_console
from neuraltrees.cli.terminal import interrupts, notes, silent, working
from neuraltrees.cli.terminal import output as output_console
from neuraltrees.datasets import SyntheticScenes
from neuraltrees.files import locked_folder
from neuraltrees.serving import Predictor
from neuraltrees.training import Bundle, load_config
from tests.commands import started

SMALL = ["--scenes", "30", "--hidden", "8", "--layers", "2", "--batches", "3", "--conv", "sage"]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return int(end.value.code or 0), output.out, output.err


def result_of(folder: Path) -> dict[str, Any]:
    """All that a training found, without the time it took."""
    content: dict[str, Any] = json.loads((folder / "result.json").read_text())
    del content["seconds"]
    return content


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "run"
    with pytest.raises(SystemExit) as end:
        main(["train", *SMALL, "--epochs", "4", "--runs", "2", "--out", str(folder)])
    assert not end.value.code
    return folder


def test_train_keeps_everything(trained: Path) -> None:
    names = {path.name for path in trained.iterdir()}
    assert names == {"config.yaml", "checkpoint.safetensors", "result.json", "model.safetensors", "curves.svg"}
    result = result_of(trained)
    assert [entry["seed"] for entry in result["runs"]] == [0, 1]
    assert [len(curve) for curve in result["curves"]["loss"]] == [4, 4]
    assert all(0 <= entry["test"] <= 1 for entry in result["runs"])
    assert load_config(trained / "config.yaml").as_dict() == result["config"]
    best = max(result["runs"], key=lambda entry: entry["val"])
    assert Bundle.load(trained / "model.safetensors").facts["test accuracy"] == best["test"]


def test_a_file_and_flags_make_a_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("dataset: synthetic\nscenes: 30\nhidden: 8\nlayers: 2\nepochs: 9\nmodel: gnn\n")
    code, output, _ = run(capsys, "train", "--config", config, "--epochs", 2, "--out", tmp_path / "run", "--json")
    assert code == 0
    used = json.loads(output)["config"]
    assert (used["epochs"], used["hidden"], used["model"], used["standardise"]) == (2, 8, "gnn", True)


def test_a_killed_training_goes_on_to_the_same_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["train", *SMALL, "--epochs", "400", "--runs", "2", "--dropout", "0.3"]
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    command = [sys.executable, "-c", "from neuraltrees.cli import main; main()", *arguments, "--checkpoint-every", "0"]
    with started([*command, "--out", broken]) as training:
        training.until((broken / "checkpoint.safetensors").exists, "checkpoint")
        time.sleep(0.3)
        os.kill(training.pid, signal.SIGKILL)
        assert training.wait() == -signal.SIGKILL
    assert not (broken / "result.json").exists(), "it was killed before its end"

    assert run(capsys, *arguments, "--out", broken)[0] == 2, "without --resume the folder is refused"
    assert run(capsys, "train", "--resume", "--out", broken)[0] == 0
    assert run(capsys, *arguments, "--out", whole)[0] == 0
    assert result_of(broken) == result_of(whole)
    ours, theirs = (Bundle.load(folder / "model.safetensors").weights for folder in (broken, whole))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_an_interrupt_is_one_word_and_keeps_the_curves(tmp_path: Path) -> None:
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="the extra tensorboard reads the curves"
    )
    command = [sys.executable, "-m", "neuraltrees", "train", *SMALL, "--epochs", "100000", "--checkpoint-every", "0"]
    command += ["--tensorboard"]
    with started([*command, "--out", tmp_path / "run"]) as training:
        training.until((tmp_path / "run" / "checkpoint.safetensors").exists, "checkpoint")
        os.kill(training.pid, signal.SIGINT)
        assert training.wait(60) == 130
        told = training.errors
    last = re.search(r"^Saved at epoch (\d+); continue with --resume.\nStopped.\n$", told, re.MULTILINE)
    assert last is not None and "Traceback" not in told
    events = accumulator.EventAccumulator(str(tmp_path / "run" / "tensorboard"), {"scalars": 0}).Reload()
    assert [event.step for event in events.Scalars("loss/run 0")][-1] == int(last[1])


def test_an_interrupted_training_goes_on_to_the_same_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["train", *SMALL, "--epochs", "6", "--dropout", "0.3"]
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    epochs = iter([False, False, True])
    monkeypatch.setattr("neuraltrees.cli.train.interrupts", lambda: nullcontext(lambda: next(epochs)))
    code, _, told = run(capsys, *arguments, "--out", broken)
    assert (code, told) == (130, "Saved at epoch 3; continue with --resume.\nStopped.\n")
    monkeypatch.undo()
    assert run(capsys, "train", "--resume", "--out", broken)[0] == 0
    assert run(capsys, *arguments, "--out", whole)[0] == 0
    assert result_of(broken) == result_of(whole)


def test_the_first_interrupt_asks_and_the_second_stops() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with interrupts() as interrupted:
            assert not interrupted()
            signal.raise_signal(signal.SIGINT)
            assert interrupted()
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_nothing_to_resume_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "typo"
    code, _, told = run(capsys, "train", "--resume", "--out", folder)
    assert code == 2
    assert f"Expected a folder with a training to continue; got {folder}, which has none." in told
    assert not folder.exists()


def test_a_training_without_a_checkpoint_starts_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert run(capsys, "train", *SMALL, "--epochs", 1, "--out", folder)[0] == 0
    before = result_of(folder)
    (folder / "checkpoint.safetensors").unlink()
    code, _, told = run(capsys, "train", "--resume", "--out", folder)
    assert code == 0
    assert f"No checkpoint in {folder}: starting from scratch." in told
    assert result_of(folder) == before


def test_a_file_in_the_place_of_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("precious")
    code, _, told = run(capsys, "train", *SMALL, "--epochs", 1, "--out", tmp_path / "file")
    assert code == 2
    assert f"Expected a folder to write to; got {tmp_path / 'file'}, which is a file." in told
    assert (tmp_path / "file").read_text() == "precious"


def test_resume_refuses_another_training(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (trained / "result.json").read_bytes()
    code, _, errors = run(capsys, "train", "--resume", "--out", trained, "--lr", "0.5")
    assert code == 2
    assert "to hold this training, with lr = 0.5; got 0.005" in errors
    assert (trained / "result.json").read_bytes() == before


def test_a_corrupt_checkpoint_is_named_and_nothing_is_lost(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in trained.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    content = (folder / "checkpoint.safetensors").read_bytes()
    (folder / "checkpoint.safetensors").write_bytes(content[: len(content) // 2])
    code, output, errors = run(capsys, "train", "--resume", "--out", folder)
    assert (code, output) == (2, "")
    assert "to be a checkpoint of neuraltrees; got a broken file" in errors
    assert (folder / "result.json").read_bytes() == (trained / "result.json").read_bytes()


def test_tensorboard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert run(capsys, "train", *SMALL, "--epochs", 2, "--out", folder, "--tensorboard")[0] == 0
    assert [path.name[:6] for path in (folder / "tensorboard").iterdir()] == ["events"]


def scene_file(path: Path, number: int = 0) -> Path:
    """A generated scene in the JSON form that `predict` reads."""
    scene = SyntheticScenes(number + 1)[number]
    kinds = ["room", "object"]
    nodes = [{"x": x, "type": kinds[kind]} for x, kind in zip(scene.x.tolist(), scene.node_type.tolist(), strict=True)]
    edges = [edge for edge in scene.edge_index.t().tolist() if edge[0] < edge[1]]
    path.write_text(json.dumps({"nodes": nodes, "edges": edges}))
    return path


def test_predict_says_what_the_network_says(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "labels.json"
    model = trained / "model.safetensors"
    code, output, _ = run(capsys, "predict", model, scene_file(tmp_path / "scene.json"), "--out", out, "--top", 2)
    assert code == 0
    (graph,) = json.loads(out.read_text())["graphs"]
    guesses = Predictor.load(model).label([SyntheticScenes(1)[0]], top=2)[0]
    assert [(node["type"], node["label"]) for node in graph["nodes"]] == [(g.type, g.label) for g in guesses]
    assert [node["probability"] for node in graph["nodes"]] == pytest.approx([g.probability for g in guesses], abs=1e-5)
    assert all(len(node["top"]) == 2 for node in graph["nodes"])
    assert guesses[0].label in output


def test_edge_features_that_come_from_geometry_are_not_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, scene = tmp_path / "run", scene_file(tmp_path / "scene.json")
    assert run(capsys, "train", *SMALL, "--geometry", "--conv", "gat", "--epochs", 1, "--out", folder)[0] == 0
    model = folder / "model.safetensors"
    assert Bundle.load(model).edge_features is not None
    code, output, errors = run(capsys, "predict", model, scene, "--json")
    assert code == 0, errors
    guesses = Predictor.load(model).label([SyntheticScenes(1)[0]])[0]
    assert [node["label"] for node in json.loads(output)["graphs"][0]["nodes"]] == [each.label for each in guesses]


def test_a_missing_folder_is_an_error_before_the_prediction(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = tmp_path / "none.json"  # which is not read
    code, _, errors = run(capsys, "predict", trained / "model.safetensors", none, "--out", tmp_path / "no" / "out.json")
    assert code == 2
    assert "Expected a file in an existing folder" in errors


def test_other_processes_say_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with silent():
        for console in (output_console, notes, errors_console):
            console.print("said")
    notes.print("again")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "again\n")


def test_names_are_shown_as_they_are(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scene_file(tmp_path / "scene[a].json")
    content = json.loads(path.read_text())
    content["nodes"][0]["name"], content["nodes"][1]["name"] = "[/x]", "[chair]"
    path.write_text(json.dumps(content))
    code, output, _ = run(capsys, "predict", trained / "model.safetensors", path)
    assert code == 0
    assert "[/x]" in output and "[chair]" in output and "scene[a].json" in output


def test_a_folder_without_a_checkpoint_gets_a_new_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    assert run(capsys, "train", *SMALL, "--epochs", 1, "--out", folder)[0] == 0
    (folder / "checkpoint.safetensors").unlink()
    assert run(capsys, "train", *SMALL, "--epochs", 2, "--out", folder)[0] == 0
    assert load_config(folder / "config.yaml").epochs == 2
    assert run(capsys, "train", "--resume", "--out", folder)[0] == 0


BAD_GRAPHS = {
    "not JSON": ("{", "to be a JSON file"),
    "no nodes": ('{"nodes": [], "edges": []}', "expected nodes to have at least 1; got []"),
    "unknown name": (
        '{"nodes": [{"x": [1.0]}], "edges": [], "colour": 1}',
        "expected colour not to be given",
    ),
    "text for a number": ('{"nodes": [{"x": ["a"]}], "edges": []}', "expected nodes.0.x.0"),
    "no type": (
        '{"nodes": [{"x": [1, 1, 1, 1, 1, 1]}], "edges": []}',
        "expected node 0 of type room or object",
    ),
    "few features": ('{"nodes": [{"x": [1.0], "type": "room"}], "edges": []}', "Expected 6 features per node; got 1"),
    "uneven features": (
        '{"nodes": [{"x": [1.0], "type": "room"}, {"x": [1, 2], "type": "object"}], "edges": []}',
        "expected as many features for every node; got [1, 2]",
    ),
    "an edge of three": ('{"nodes": [{"x": [1], "type": "room"}], "edges": [[0, 0, 0]]}', "expected edges as pairs"),
    "an edge to nowhere": (
        '{"nodes": [{"x": [1, 1, 1, 1, 1, 1], "type": "room"}], "edges": [[0, 3]]}',
        "expected edges between the nodes 0 to 0; got one at node 3",
    ),
    "a huge edge": (
        '{"nodes": [{"x": [1], "type": "room"}], "edges": [[0, 1180591620717411303424]]}',
        "got one at node",
    ),
    "nested without end": ("[" * 100_000, "to be a JSON file"),
    "a key that would be ignored": (
        '{"graphs": [{"nodes": [{"x": [1.0]}], "edges": []}], "knwon": []}',
        "expected no key but 'graphs'; got 'knwon'",
    ),
    "no graphs": ('{"graphs": []}', "got an empty list"),
    "no size": (
        '{"nodes": [{"x": [1, 1, 1, 0, 1, 1], "type": "room"}], "edges": []}',
        "Expected positive features in the columns [3, 4, 5]",
    ),
    "NaN": ('{"nodes": [{"x": [NaN, 1, 1, 1, 1, 1], "type": "room"}], "edges": []}', "Expected finite features"),
}


@pytest.mark.parametrize(("content", "message"), BAD_GRAPHS.values(), ids=BAD_GRAPHS)
def test_bad_graphs_are_one_line(
    content: str, message: str, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "graph.json", tmp_path / "labels.json"
    path.write_text(content)
    out.write_text("precious")
    code, output, errors = run(capsys, "predict", trained / "model.safetensors", path, "--out", out)
    assert (code, output) == (2, "")
    assert errors.startswith("Error: ") and errors.count("\n") == 1
    assert message in errors
    assert out.read_text() == "precious"


BAD_FLAGS = {
    "unknown conv": (["--conv", "cnn"], "Expected --conv out of gcn, sage, gat, gin or MODULE:NAME; got 'cnn'"),
    "no rounds": (["--layers", "0"], "Expected --layers to be at least 1; got 0"),
    "all dropped": (["--dropout", "1"], "Expected --dropout to be below 1; got 1.0"),
    "no cuda": (["--device", "cuda"], "CUDA is not available"),
    "unknown device": (["--device", "abacus"], "Expected --device such as cpu or cuda; got 'abacus'"),
    "no threads": (["--threads", "0"], "--threads"),
    "infinite step": (["--lr", "inf"], "Expected --lr to be a number; got inf"),
    "huge seed": (["--seed", "9223372036854775807", "--runs", "2"], "seed"),
    "sparse features": (["--dataset", "cora", "--standardise"], "cora"),
}


@pytest.mark.parametrize(("flags", "message"), BAD_FLAGS.values(), ids=BAD_FLAGS)
def test_bad_flags_are_one_line(
    flags: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "cuda" in flags and torch.cuda.is_available():
        pytest.skip("this error is that of a machine without a GPU")
    code, output, errors = run(capsys, "train", *SMALL, *flags, "--out", tmp_path / "run", "--data-root", tmp_path)
    assert (code, output) == (2, "")
    assert errors.startswith("Error: ") and errors.count("\n") == 1
    assert message in errors
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("hiden: 3\n", "Expected no other names than dataset, runs, "),
        ("hidden: many\n", "Expected hidden to be a whole number; got 'many'"),
        ("- 1\n", "to map names to values"),
        ("a: [\n", "to be a YAML file"),
        ("a: !!python/object/apply:os.system ['true']\n", "to be a YAML file"),
    ],
)
def test_bad_files(content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(content)
    code, _, errors = run(capsys, "train", "--config", path, "--out", tmp_path / "run")
    assert code == 2
    assert message in errors


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--scenes", 40, "--runs", 2, "--epochs", 2)
    code, output, _ = run(capsys, "demo", "--out", tmp_path, *arguments)
    assert code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    lines = output.splitlines()
    assert lines[0] == "Test accuracy on generated scenes"
    assert [line.split()[0] for line in lines[2:6]] == ["gcn", "sage", "gat", "gin"]
    assert "The optimum, from the exact posterior: " in output
    page = (tmp_path / "report.html").read_text()
    accuracy = lines[3].split()[1]
    assert accuracy in page


def test_a_training_is_extended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["train", *SMALL, "--runs", "2", "--dropout", "0.3"]
    extended, whole = tmp_path / "extended", tmp_path / "whole"
    assert run(capsys, *arguments, "--epochs", 2, "--out", extended)[0] == 0
    assert run(capsys, "train", "--resume", "--epochs", 5, "--out", extended)[0] == 0
    assert run(capsys, *arguments, "--epochs", 5, "--out", whole)[0] == 0
    assert result_of(extended) == result_of(whole)
    assert load_config(extended / "config.yaml").epochs == 5
    assert run(capsys, "train", "--resume", "--out", extended)[0] == 0, "it is over, and stays as it is"
    assert result_of(extended) == result_of(whole)
    code, _, told = run(capsys, "train", "--resume", "--epochs", 3, "--out", extended)
    assert code == 2
    assert "Expected at least the 5 epochs that are done already; got epochs = 3." in told
    assert load_config(extended / "config.yaml").epochs == 5


def test_extending_a_cosine_says_what_the_rate_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert run(capsys, "train", *SMALL, "--epochs", 1, "--cosine", "--out", folder)[0] == 0
    code, _, told = run(capsys, "train", "--resume", "--epochs", 2, "--out", folder)
    assert code == 0
    assert told == "The learning rate goes on along the cosine of 2 epochs; so far it fell along that of 1.\n"


def test_resume_finds_the_default_folder_and_its_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "train", *SMALL, "--model", "mlp", "--epochs", 1)[0] == 0
    assert (tmp_path / "neuraltrees-runs" / "synthetic-mlp" / "result.json").exists()
    assert run(capsys, "train", "--resume", "--model", "mlp", "--epochs", 2)[0] == 0
    assert len(result_of(tmp_path / "neuraltrees-runs" / "synthetic-mlp")["curves"]["loss"][0]) == 2


def test_two_trainings_into_one_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    with locked_folder(folder):  # as the other training does
        code, _, told = run(capsys, "train", *SMALL, "--epochs", 1, "--out", folder)
    assert code == 2
    assert f"Expected {folder} not to be in use; another process is writing to it." in told
    assert not folder.exists()


def test_a_training_is_not_written_over_a_tuning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tuning.json").write_text("{}")
    (tmp_path / "config.yaml").write_text("precious: true")
    for more in ([], ["--resume"]):
        code, _, told = run(capsys, "train", *SMALL, "--epochs", 1, "--out", tmp_path, *more)
        assert code == 2 and "Expected a folder with" in told
    assert (tmp_path / "config.yaml").read_text() == "precious: true"


def test_a_training_that_diverges_saves_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "model.safetensors").write_text("of an earlier training")
    code, output, told = run(capsys, "train", *SMALL, "--epochs", 2, "--runs", 2, "--lr", "1e30", "--out", folder)
    assert (code, output) == (2, "")
    assert "Expected at least one run with a finite validation metric; all 2 diverged" in told
    assert "Lower --lr, or set --clip." in told
    assert {path.name for path in folder.iterdir()} == {"config.yaml", "checkpoint.safetensors", "result.json"}
    assert [entry["test"] for entry in result_of(folder)["runs"]] == [None, None]
    assert run(capsys, "train", "--resume", "--out", folder)[0] == 2, "going on makes it no better"
    assert not (folder / "model.safetensors").exists()


def test_a_run_that_diverges_is_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from neuraltrees.training.trainer import Trainer

    finish = Trainer._finish_epoch

    def break_one(self: Trainer, measured: bool) -> None:
        assert self.observed is not None
        self.observed[:, 1] = torch.nan
        finish(self, measured)

    monkeypatch.setattr(Trainer, "_finish_epoch", break_one)
    code, output, told = run(capsys, "train", *SMALL, "--epochs", 1, "--runs", 2, "--out", tmp_path / "run")
    assert code == 0
    assert told == "Run 1 diverged at once and is left out. Lower --lr, or set --clip.\n"
    assert Bundle.load(tmp_path / "run" / "model.safetensors").facts["run"] == 0
    assert output.splitlines()[3].split()[3:5] == ["nan", "%"]


def test_a_log_gets_a_line_now_and_then(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neuraltrees.training.progress.LOG_EVERY", 0.0)
    code, _, told = run(capsys, "train", *SMALL, "--epochs", 2, "--out", tmp_path / "run")
    assert code == 0
    line = r"epoch \d/2  0:00:0\d left  val \d+\.\d %  best \d+\.\d %  loss \d+\.\d{3}"
    assert [re.fullmatch(line, each) is not None for each in told.splitlines()] == [True, True]


def test_long_preparations_are_told_of_in_a_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neuraltrees.cli.terminal.QUIET", 0.01)
    with working("building H-trees"):
        time.sleep(0.3)
    assert capsys.readouterr().err == "building H-trees …\n"
    monkeypatch.setattr("neuraltrees.cli.terminal.QUIET", 60.0)
    with working("building H-trees"):
        pass
    assert capsys.readouterr().err == ""


def test_reports_of_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    code, output, _ = run(capsys, "train", *SMALL, "--epochs", 3, "--runs", 2, "--per-class", "--out", folder)
    assert code == 0
    lines = output.splitlines()
    assert lines[1].split() == ["run", "seed", "best", "epoch", "validation", "test", "test", "macro-f1"]
    assert lines[5].startswith("Classes of the test items, run ")
    assert lines[6].split() == ["type", "class", "precision", "recall", "F1", "items", "taken", "for"]
    entries = result_of(folder)["runs"]
    for entry in entries:
        metrics, classes = entry["report"]["metrics"], entry["report"]["classes"]
        assert metrics["accuracy"] == pytest.approx(entry["test"])
        assert [each["type"] for each in classes] == ["room", "object"]
        counts = [torch.tensor(each["confusion"]) for each in classes]
        right, all_items = (sum(int(part(each)) for each in counts) for part in (torch.trace, torch.sum))
        assert right / all_items == pytest.approx(entry["test"])
        f1 = [value for each in classes for value in each["f1"] if value is not None]
        assert metrics["macro-f1"] == pytest.approx(sum(f1) / len(f1))
    assert len(lines) == 8 + sum(len(each["labels"]) for each in entries[0]["report"]["classes"])


def test_the_baseline_of_features_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    code, output, _ = run(capsys, "train", *SMALL, "--model", "mlp", "--epochs", 2, "--out", folder)
    assert code == 0
    assert output.startswith("mlp on synthetic: test accuracy ")
    bundle = Bundle.load(folder / "model.safetensors")
    scene = SyntheticScenes(1)[0]
    alone = scene.clone()
    alone.edge_index = torch.zeros(2, 0, dtype=torch.int64)
    found = Predictor(bundle).predict([scene, alone])
    torch.testing.assert_close(found[0], found[1])


def test_ensembles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    code, output, _ = run(capsys, "train", *SMALL, "--epochs", "2", "--runs", "2", "--ensemble", "2", "--out", out)
    assert code == 0 and "ensembles of 2: test accuracy" in output
    assert "0–1 together" in output and "2–3 together" in output
    found = result_of(out)
    assert [each["seed"] for each in found["runs"]] == [0, 1_000_000, 1, 1_000_001]
    best = max(found["ensembles"], key=lambda each: each["val"])
    bundle = Bundle.load(out / "model.safetensors")
    assert bundle.members == 2 and bundle.facts is not None and bundle.facts["run"] == best["runs"]
