"""Tuning finds what trying everything by hand finds, however many processes work and however they are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import optuna
import psutil
import pytest
import torch
from PIL import Image

from neuraltrees.errors import InputError, NeuralTreesError
from neuraltrees.plots.tuning import tune_figure
from neuraltrees.training import NetworkSpec, Run, Task, TrainingSpec, fit
from neuraltrees.training import tune_workers as workers_module
from neuraltrees.tuning.study import has_study, open_study
from neuraltrees.tuning.trials import Grid, Point, TrialDone, Tuned, select
from neuraltrees.tuning.tune import tune
from tests.training.tasks import small_runs, small_task

ROOT = Path(__file__).resolve().parents[2]
NETWORK, TRAINING = NetworkSpec(conv="sage", heads=2), TrainingSpec(epochs=3, batches=2)
GRID = Grid(layers=(1, 2), hidden=(4, 8), lr=(0.01, 0.05), dropout=(0.1, 0.5), weight_decay=(0, 0.01))
SIZE = 8 + 4


def problem() -> tuple[Task, list[Run]]:
    task = small_task()
    return task, small_runs(task, [0, 1, 2])


def tuned_in(folder: Path, grid: Grid = GRID, **options: Any) -> Tuned:
    return tune(*problem(), NETWORK, TRAINING, grid, folder=folder, **options)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    return tuned_in(tmp_path_factory.mktemp("unbroken") / "study")


@contextmanager
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_the_default_grid_is_the_papers() -> None:
    grid = Grid()
    assert grid.first().size == 6 * 5 * 4
    assert {(point.dropout, point.weight_decay) for point in grid.first().points()} == {(0.25, 0)}
    second = grid.second(Point(4, 128, 0.005, 0.25, 0)).points()
    assert [(point.layers, point.hidden, point.lr) for point in second] == [(4, 128, 0.005)] * 12
    assert {(p.dropout, p.weight_decay) for p in second} == {
        (dropout, decay) for dropout in (0.25, 0.5, 0.75) for decay in (0, 1e-4, 1e-3, 1e-2)
    }


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"layers": (2, 0)}, "Expected layers to be at least 1; got 0."),
        ({"layers": (True,)}, "Expected layers to be an integer; got True."),
        ({"hidden": ()}, "Expected at least one value of hidden; got none."),
        ({"hidden": (1.5,)}, "Expected hidden to be an integer; got 1.5."),
        ({"lr": (0.1, 0.0)}, "Expected lr to be above 0; got 0.0."),
        ({"lr": (float("nan"),)}, "Expected lr to be a number; got nan."),
        ({"dropout": (0.5, 1)}, "Expected dropout to be below 1; got 1."),
        ({"weight_decay": (float("inf"),)}, "Expected weight_decay to be a number; got inf."),
        ({"weight_decay": (0, 0.0)}, "Expected every value of weight_decay once; got 0, 0.0."),
    ],
)
def test_bad_grids_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        Grid(**values)
    assert str(error.value) == message


def test_the_order_of_values_does_not_matter() -> None:
    assert Grid(layers=(3, 1), lr=(0.1, 0.01)) == Grid(layers=(1, 3), lr=(0.01, 0.1))


def test_two_stages_as_by_hand(unbroken: Tuned) -> None:
    task, runs = problem()

    weights: dict[tuple[int, int], int] = {}

    def tried(layers: int, hidden: int, lr: float, dropout: float, decay: float) -> tuple[list[float], list[float]]:
        network = NetworkSpec(conv="sage", heads=2, layers=layers, hidden=hidden, dropout=dropout)
        training = TrainingSpec(epochs=3, batches=2, lr=lr, weight_decay=decay)
        with one_thread():
            fitted = fit(task, network, training, runs)
        weights[layers, hidden] = sum(parameter.numel() for parameter in fitted.network.parameters())
        return fitted.val.tolist(), fitted.test.tolist()

    first = {
        (layers, hidden, lr): tried(layers, hidden, lr, 0.1, 0.0)
        for layers in (1, 2)
        for hidden in (4, 8)
        for lr in (0.01, 0.05)
    }
    best = max(first, key=lambda key: (round(sum(first[key][0]), 5), -weights[key[:2]]))  # the first of equals
    second = {(dropout, decay): tried(*best, dropout, decay) for dropout in (0.1, 0.5) for decay in (0.0, 0.01)}
    chosen = max(second, key=lambda key: round(sum(second[key][0]), 5))

    rows = [(t.stage, *vars(t.point).values(), list(t.val), list(t.test)) for t in unbroken.trials]
    assert rows == [
        *[(1, *key, 0.1, 0.0, *accuracies) for key, accuracies in first.items()],
        *[(2, *best, *key, *accuracies) for key, accuracies in second.items()],
    ]
    assert (unbroken.network.layers, unbroken.network.hidden, unbroken.training.lr) == best
    assert (unbroken.network.dropout, unbroken.training.weight_decay) == chosen
    assert (unbroken.network.conv, unbroken.network.heads, unbroken.training.epochs) == ("sage", 2, 3)
    assert len({t.val_mean for t in unbroken.trials}) > 3, "a task on which everything is equal tests nothing"


def test_the_table_has_a_row_for_every_trial(unbroken: Tuned) -> None:
    table = unbroken.table()
    assert len(table) == SIZE
    row, trial = table[3], unbroken.trials[3]
    mean = sum(trial.val) / 3
    assert row["val_mean"] == pytest.approx(mean)
    assert row["val_std"] == pytest.approx((sum((v - mean) ** 2 for v in trial.val) / 2) ** 0.5)
    assert row["test_mean"] == pytest.approx(sum(trial.test) / 3)
    assert row["seconds"] > 0
    assert [each["stage"] for each in table if each["chosen"]] == [1, 2]


Answer = Callable[[NetworkSpec, TrainingSpec], tuple[float, float]]


def answered(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> list[Point]:
    """Replaces the training by a function of the hyper-parameters; gives the list that the tried points go to."""
    tried: list[Point] = []

    def instead(task: Task, network: NetworkSpec, training: TrainingSpec, runs: list[Run], device: str) -> Any:
        tried.append(Point(network.layers, network.hidden, training.lr, network.dropout, training.weight_decay))
        val, test = answer(network, training)
        return SimpleNamespace(val=torch.full((len(runs),), val), test=torch.full((len(runs),), test))

    monkeypatch.setattr(workers_module, "fit", instead)
    return tried


@pytest.mark.parametrize("sign", [1, -1])
def test_the_test_accuracy_plays_no_part(sign: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(network: NetworkSpec, training: TrainingSpec) -> tuple[float, float]:
        good = (network.layers == 2) + (network.hidden == 4) + (training.lr == 0.01)
        val = (good + (network.dropout == 0.5) + (training.weight_decay == 0.01)) / 10
        return val, 0.5 + sign * val

    answered(monkeypatch, answer)
    tuned = tuned_in(tmp_path)
    assert tuned.first.point == Point(2, 4, 0.01, 0.1, 0)
    assert tuned.best.point == Point(2, 4, 0.01, 0.5, 0.01)
    assert tuned.best.test_mean == pytest.approx(0.5 + sign * 0.5)


def test_of_equals_the_smallest_network_then_the_first_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Four rounds of size 4 have fewer weights than one round of size 64.
    grid = Grid(layers=(1, 4), hidden=(4, 64), lr=(0.01, 0.05), dropout=(0.1, 0.5), weight_decay=(0, 0.01))
    answered(monkeypatch, lambda network, training: (0.1 if (network.layers, network.hidden) == (1, 4) else 0.7, 0))
    tuned = tuned_in(tmp_path, grid)
    assert tuned.best.point == Point(4, 4, 0.01, 0.1, 0)


def test_means_that_differ_by_rounding_are_equal() -> None:
    points = Grid(layers=(1, 2), hidden=(4,), lr=(0.01,)).first().points()
    thirds = torch.tensor([3 / 7, 5 / 7, 4 / 7, 4 / 7]).tolist()
    trials = [
        TrialDone(1, points[0], tuple(thirds[:2]), (0, 0), 1),
        TrialDone(1, points[1], tuple(thirds[2:]), (1, 1), 1),
    ]
    assert select(trials, lambda point: 1).point == points[0]
    assert select(trials[::-1], lambda point: point.layers).point == points[0]


def test_the_second_stage_does_not_train_again_what_the_first_has_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = answered(monkeypatch, lambda network, training: (0.5, 0.5))
    told: list[TrialDone] = []
    tuned = tuned_in(tmp_path, on_trial=told.append)
    assert len(tried) == len(set(tried)) == SIZE - 1
    assert told == list(tuned.trials)
    told.clear()
    assert tuned_in(tmp_path, on_trial=told.append) == tuned
    assert (len(tried), told) == (SIZE - 1, list(tuned.trials))


def test_the_callers_threads_stay_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, seen = torch.get_num_threads(), []
    answered(monkeypatch, lambda network, training: (seen.append(torch.get_num_threads()) or 0.5, 0.5))
    torch.set_num_threads(2)
    try:
        tuned_in(tmp_path, on_trial=lambda trial: seen.append(-torch.get_num_threads()))
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {1, -2}


def test_an_error_in_a_trial_is_one_line_and_what_is_done_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unbroken: Tuned
) -> None:
    calls = 0

    def failing(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise RuntimeError("out of\nmemory")
        return fit(*arguments)

    monkeypatch.setattr(workers_module, "fit", failing)
    with pytest.raises(NeuralTreesError) as error:
        tuned_in(tmp_path)
    assert str(error.value) == (
        "The trial layers 1, hidden 8, lr 0.05, dropout 0.1, weight decay 0 failed: RuntimeError: out of memory. "
        "What is done is kept; the same call goes on from there."
    )
    assert tuned_in(tmp_path) == unbroken
    assert calls == 3 + 1 + SIZE - 1 - 3


def test_an_error_in_a_worker_reaches_the_caller(tmp_path: Path) -> None:
    one = Grid(layers=(1,), hidden=(4,), lr=(0.01,))
    with pytest.raises(NeuralTreesError, match=r"^The trial layers 1, hidden 4, .* failed: .*\. What is done is kept"):
        tuned_in(tmp_path, one, workers=2, device="cuda:99")
    assert workers_of(os.getpid()) == []


def workers_of(pid: int) -> list[psutil.Process]:
    return [child for child in psutil.Process(pid).children() if "spawn_main" in " ".join(child.cmdline())]


def test_two_workers_of_which_one_dies(tmp_path: Path, unbroken: Tuned) -> None:
    told: list[TrialDone] = []

    def kill(trial: TrialDone) -> None:
        told.append(trial)
        if len(told) == 2:
            workers_of(os.getpid())[0].kill()

    with pytest.raises(NeuralTreesError) as error:
        tuned_in(tmp_path, workers=2, on_trial=kill)
    assert str(error.value).startswith("A worker was ended by SIGKILL at the trial layers")
    assert str(error.value).endswith(
        "Perhaps memory ran out: try fewer workers. What is done is kept; the same call goes on from there."
    )
    assert "\n" not in str(error.value)
    assert workers_of(os.getpid()) == []
    assert 2 <= len(told) < SIZE
    kept = list(told)
    assert tuned_in(tmp_path, workers=2, on_trial=told.append) == unbroken
    assert sorted(map(repr, kept)) == sorted(map(repr, told[len(kept) : 2 * len(kept)])), "told at once, not trained"


# Workers import the script that started them, so they train as it says: trials of two rounds last for ever.
KILLED = """
import os, sys, time
from pathlib import Path
from neuraltrees.training import fit, tune_workers
from tests.training.test_tune import tuned_in

folder = Path(sys.argv[1])

def hanging(task, network, *arguments):
    if network.layers == 2:
        (folder / f"busy {os.getpid()}").touch()
        time.sleep(600)
    return fit(task, network, *arguments)

tune_workers.fit = hanging
if __name__ == "__main__":
    tuned_in(folder, workers=2, on_trial=lambda trial: print("done", flush=True))
"""


def test_a_study_that_was_killed_goes_on(tmp_path: Path, unbroken: Tuned, monkeypatch: pytest.MonkeyPatch) -> None:
    script, folder = tmp_path / "killed.py", tmp_path / "study"
    script.write_text(KILLED)
    command = [sys.executable, str(script), str(folder)]
    # Standard error goes to a file: the clean-up of a killed process may write there.
    with (
        (tmp_path / "errors").open("w") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
        ) as process,
    ):
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(4)] == ["done\n"] * 4, (tmp_path / "errors").read_text()
        until = time.monotonic() + 30
        while len(list(folder.glob("busy *"))) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        workers = workers_of(process.pid)
        with pytest.raises(InputError, match="another process does so"):
            tuned_in(folder)
        process.send_signal(signal.SIGKILL)
    assert {f"busy {worker.pid}" for worker in workers} == {path.name for path in folder.glob("busy *")}
    alive = psutil.wait_procs(workers, timeout=10)[1]
    for worker in alive:
        worker.kill()
    assert alive == []
    trained = 0

    def counted(*arguments: Any) -> Any:
        nonlocal trained
        trained += 1
        return fit(*arguments)

    monkeypatch.setattr(workers_module, "fit", counted)
    assert tuned_in(folder) == unbroken
    assert trained == SIZE - 1 - 4


def test_the_study_is_optunas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, lambda network, training: (network.hidden / 10, 0.3))
    assert not has_study(tmp_path)
    tuned = tuned_in(tmp_path)
    assert has_study(tmp_path)
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path / 'study.db'}")
    try:
        study = optuna.load_study(study_name="stage 1", storage=storage)
        assert len(study.trials) == 8
        assert study.best_value == pytest.approx(tuned.first.val_mean) == pytest.approx(0.8)
    finally:
        storage.remove_session()
        storage.engine.dispose()


def other(**changes: Any) -> dict[str, Any]:
    task, runs = problem()
    given = {"task": task, "runs": runs, "network": NETWORK, "training": TRAINING, "grid": GRID}
    return given | changes


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"task": small_task(13), "runs": small_runs(small_task(13), [0])}, "another task, runs."),
        ({"runs": small_runs(small_task(), [0, 1, 3])}, "another runs."),
        ({"network": NetworkSpec(conv="gcn", heads=2)}, "another network.conv (sage there, gcn here)."),
        ({"training": TrainingSpec(epochs=4, batches=2)}, "another training.epochs (3 there, 4 here)."),
        ({"grid": replace(GRID, layers=(1,))}, "another grid.layers ([1, 2] there, [1] here)."),
    ],
)
def test_another_study_is_refused(
    changes: dict[str, Any], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(monkeypatch, lambda network, training: (0.5, 0.5))
    tune(**other(), folder=tmp_path)
    kept = (tmp_path / "study.json").read_bytes()
    with pytest.raises(InputError) as error:
        tune(**other(**changes), folder=tmp_path)
    assert named in str(error.value)
    assert (tmp_path / "study.json").read_bytes() == kept


def test_values_that_are_tuned_may_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = answered(monkeypatch, lambda network, training: (0.5, 0.5))
    tune(**other(), folder=tmp_path)
    tune(**other(network=replace(NETWORK, hidden=99, dropout=0.9)), folder=tmp_path)
    assert len(tried) == SIZE - 1


def test_a_damaged_study_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, lambda network, training: (0.5, 0.5))
    tuned_in(tmp_path)
    (tmp_path / "study.db").write_bytes(b"no database" * 100)
    with pytest.raises(InputError, match=r"Expected .*study.db to be a study of Optuna; got: .*not a database"):
        tuned_in(tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(InputError, match=r"Expected .*study.json to be JSON"):
        tuned_in(tmp_path)
    (tmp_path / "study.json").unlink()
    with pytest.raises(InputError, match=r"Expected study.json beside"):
        tuned_in(tmp_path)


def test_bad_arguments_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    task, runs = problem()
    foreign = small_runs(small_task(13), [0])
    for given, options, message in [
        (runs, {"workers": 0}, "Expected at least one worker; got 0."),
        ([], {}, "Expected at least one run; got none."),
        (runs, {"device": "abacus"}, "Expected a device such as cpu or cuda; got 'abacus'."),
        (foreign, {}, "Expected a training mask of"),
    ]:
        with pytest.raises(InputError) as error:
            tune(task, given, NETWORK, TRAINING, GRID, folder=tmp_path / "study", **options)  # type: ignore[arg-type]
        assert message in str(error.value)
    assert not (tmp_path / "study").exists()


def test_a_study_in_use_is_refused(tmp_path: Path) -> None:
    with open_study(tmp_path, {}), pytest.raises(InputError, match="nobody else tunes"), open_study(tmp_path, {}):
        pass


def test_the_folder_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, lambda network, training: (0.5, 0.5))
    tuned_in(tmp_path / "a?b%20c#{d} 'é" / "e")
    assert (tmp_path / "a?b%20c#{d} 'é" / "e" / "study.db").stat().st_size > 0


def test_figure_shows_every_accuracy(unbroken: Tuned, tmp_path: Path) -> None:
    tune_figure(unbroken, tmp_path / "tuning.svg")
    tune_figure(unbroken, tmp_path / "tuning.png")
    root = ElementTree.parse(tmp_path / "tuning.svg").getroot()
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for accuracy in {f"{100 * trial.val_mean:.1f}" for trial in unbroken.trials}:
        assert texts.count(accuracy) >= sum(f"{100 * t.val_mean:.1f}" == accuracy for t in unbroken.trials)
    assert {"1 round", "2 rounds", "learning rate", "hidden size", "dropout", "weight decay"} <= set(texts)
    with Image.open(tmp_path / "tuning.png") as image:
        image.load()
        assert min(image.size) > 500
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tuning.png", "tuning.svg"]


def test_figure_of_a_single_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, lambda network, training: (1.0, 1.0))
    one = Grid(layers=(1,), hidden=(4,), lr=(0.01,), dropout=(0.5,), weight_decay=(0,))
    task, runs = problem()
    tuned = tune(task, runs[:1], NETWORK, TRAINING, one, folder=tmp_path / "study")
    tune_figure(tuned, tmp_path / "one.svg")
    assert "→ 100.0 %" in (tmp_path / "one.svg").read_text()


def test_figure_is_written_whole_or_not_at_all(
    unbroken: Tuned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "tuning.svg"
    target.write_text("old")
    with pytest.raises(InputError, match=r"ends in \.svg, \.png, \.pdf; got tuning\.gif"):
        tune_figure(unbroken, tmp_path / "tuning.gif")
    full = OSError("No space left on device")

    def stop(*_: object) -> None:
        raise full

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(OSError, match="No space"):
        tune_figure(unbroken, target)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["tuning.svg"]
    monkeypatch.undo()
    tune_figure(unbroken, target)
    first = target.read_bytes()
    tune_figure(unbroken, target)
    assert target.read_bytes() == first
