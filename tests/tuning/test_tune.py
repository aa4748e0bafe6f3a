"""Tuning finds what trying everything by hand finds, and refuses a folder of another tuning."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from neuraltrees.errors import InputError
from neuraltrees.objectives import Regression
from neuraltrees.training import NetworkSpec, Run, Task, TrainingSpec, fit
from neuraltrees.tuning import record as record_module
from neuraltrees.tuning.grid import Grid, Point
from neuraltrees.tuning.search import finished_search
from neuraltrees.tuning.store import Results
from neuraltrees.tuning.trials import Trial, Tuned
from neuraltrees.tuning.tune import has_trials, stored_grid, tune
from tests.training.tasks import small_runs, small_task
from tests.tuning.searches import GRID, NETWORK, SIZE, TRAINING, problem, tuned_in


@contextmanager
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_two_stages_as_by_hand(unbroken: Tuned) -> None:
    task, runs = problem()
    weights: dict[tuple[int, int], int] = {}

    def tried(layers: int, hidden: int, lr: float, dropout: float, decay: float) -> tuple[list[float], list[float]]:
        network = NetworkSpec(conv="sage", heads=2, layers=layers, hidden=hidden, dropout=dropout)
        training = TrainingSpec(epochs=3, batches=2, lr=lr, weight_decay=decay)
        with one_thread():
            fitted = fit(task, network, training, runs)
        weights[layers, hidden] = sum(p.numel() for p in network.build(task).parameters())
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

    rows = [(t.stage, *t.point.values(), list(t.val), list(t.test)) for t in unbroken.trials]
    assert rows == [
        *[(1, *key, 0.1, 0.0, *accuracies) for key, accuracies in first.items()],
        *[(2, *best, *key, *accuracies) for key, accuracies in second.items()],
    ]
    assert tuple(unbroken.best.point.values()) == (*best, *chosen)
    assert {t.parameters for t in unbroken.trials} == set(weights.values())
    assert len({t.val_mean for t in unbroken.trials}) > 3, "a task on which everything is equal tests nothing"


def test_the_file_has_every_run(tmp_path: Path, unbroken: Tuned) -> None:
    assert not has_trials(tmp_path)
    assert tuned_in(tmp_path) == unbroken
    assert has_trials(tmp_path) and stored_grid(tmp_path) == GRID
    assert [path.name for path in tmp_path.iterdir()] == ["tuning.json"]
    results = Results.read(tmp_path / "tuning.json")
    record = results.one(stage=1, layers=2, hidden=8, lr=0.05)
    assert [run["seed"] for run in record["runs"]] == [0, 1, 2]
    assert {"split", "val", "test", "best_epoch"} < set(record["runs"][0])
    assert record["seconds"] >= 0 and "torch" in record["versions"] and record["device"].startswith("CPU")
    assert finished_search(results, GRID, unbroken.stages) == unbroken


Answer = Callable[[NetworkSpec, TrainingSpec], tuple[float, float]]


def answered(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> list[Point]:
    """Replaces the training by a function of the hyper-parameters; gives the list that the tried points go to."""
    tried: list[Point] = []

    def instead(task: Task, network: NetworkSpec, training: TrainingSpec, runs: list[Run], *others: object) -> Any:
        values = {"layers": network.layers, "hidden": network.hidden, "lr": training.lr, "dropout": network.dropout}
        tried.append(Point(**values, weight_decay=training.weight_decay))
        val, test = (torch.full((len(runs),), value) for value in answer(network, training))
        built = network.build(task, runs=len(runs))
        epochs = torch.ones(len(runs), dtype=torch.int64)
        return SimpleNamespace(
            val=val, test=test, best_epoch=epochs, network=built, seconds=1.0, threads=1, loss_curve=[1.0]
        )

    monkeypatch.setattr(record_module, "trained", instead)
    return tried


@pytest.mark.parametrize("sign", [1, -1])
def test_the_test_metric_plays_no_part(sign: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(network: NetworkSpec, training: TrainingSpec) -> tuple[float, float]:
        good = (network.layers == 2) + (network.hidden == 4) + (training.lr == 0.01)
        val = (good + (network.dropout == 0.5) + (training.weight_decay == 0.01)) / 10
        return val, 0.5 + sign * val

    answered(monkeypatch, answer)
    tuned = tuned_in(tmp_path)
    assert tuned.chosen[0].point == Point(layers=2, hidden=4, lr=0.01, dropout=0.1, weight_decay=0.0)
    assert tuned.best.point == Point(layers=2, hidden=4, lr=0.01, dropout=0.5, weight_decay=0.01)
    assert tuned.best.test_mean == pytest.approx(0.5 + sign * 0.5)
    assert tuned.best.point.applied(NETWORK, TRAINING)[0] == replace(NETWORK, layers=2, hidden=4, dropout=0.5)


def test_a_metric_that_is_better_where_it_is_lower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, lambda network, training: (network.hidden + network.dropout, 0))
    task, runs = problem()
    graphs = [graph.clone().update({"y": graph.x[:, 0].clone()}) for graph in task.graphs]
    kinds = dict.fromkeys(task.types, task.num_features)  # nodes of all types have the same features
    numbers = Task(graphs, Regression(("first",), level="node"), features=kinds)
    tuned = tune(numbers, runs, NETWORK, TRAINING, GRID, folder=tmp_path)
    assert tuned.best.point == Point(layers=1, hidden=4, lr=0.01, dropout=0.1, weight_decay=0.0)
    assert (tuned.metric, tuned.percent, tuned.higher_is_better) == ("mae", False, False)
    with pytest.raises(InputError, match=r"another .*higher_is_better \(false there, true here\)"):
        tuned_in(tmp_path)


def test_of_equals_the_smallest_network_then_the_first_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Four rounds of size 4 have fewer weights than one round of size 64.
    grid = GRID.replace(layers=(1, 4), hidden=(4, 64))
    answered(monkeypatch, lambda network, training: (0.1 if (network.layers, network.hidden) == (1, 4) else 0.7, 0))
    assert tuned_in(tmp_path, grid).best.point == Point(layers=4, hidden=4, lr=0.01, dropout=0.1, weight_decay=0.0)


def test_other_hyper_parameters_in_one_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, lambda network, training: (network.conv == "gcn", 0))
    tuned = tuned_in(tmp_path, Grid(conv=("sage", "gcn"), batches=(2, 1)), stages=())
    assert (len(tuned.trials), tuned.best.point) == (4, Point(conv="gcn", batches=1))


def test_no_stage_trains_again_what_an_earlier_one_has_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = answered(monkeypatch, lambda network, training: (0.5, 0.5))
    told: list[Trial] = []
    tuned = tuned_in(tmp_path, on_trial=told.append)
    assert len(tried) == len(set(tried)) == SIZE - 1
    assert told == list(tuned.trials)
    assert [trial.seconds for trial in tuned.trials] == [1.0] * 8 + [0.0] + [1.0] * 3
    told.clear()
    assert tuned_in(tmp_path, on_trial=told.append) == tuned
    assert (len(tried), told) == (SIZE - 1, list(tuned.trials))
    assert all(trial.resumed for trial in told)


def test_the_callers_threads_stay_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, seen = torch.get_num_threads(), []
    answered(monkeypatch, lambda network, training: (seen.append(torch.get_num_threads()) or 0.5, 0.5))
    torch.set_num_threads(2)
    try:
        tuned_in(tmp_path, on_trial=lambda trial: seen.append(-torch.get_num_threads()))
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {1, -2}


def other(**changes: Any) -> dict[str, Any]:
    task, runs = problem()
    given = {"task": task, "runs": runs, "network": NETWORK, "training": TRAINING, "grid": GRID}
    return given | changes


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"task": small_task(13), "runs": small_runs(small_task(13), [0])}, "another task, runs."),
        ({"runs": small_runs(small_task(), [0, 1, 3])}, "another runs."),
        ({"network": NetworkSpec(conv="gcn", heads=2)}, 'another network.conv ("sage" there, "gcn" here).'),
        ({"training": TrainingSpec(epochs=4, batches=2)}, "another training.epochs (3 there, 4 here)."),
        ({"grid": GRID.replace(layers=(1,))}, "another grid.layers ([1, 2] there, [1] here)."),
        ({"stages": [["layers"]]}, "another stages"),
    ],
)
def test_another_tuning_is_refused(
    changes: dict[str, Any], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(monkeypatch, lambda network, training: (0.5, 0.5))
    tune(**other(), folder=tmp_path)
    kept = (tmp_path / "tuning.json").read_bytes()
    with pytest.raises(InputError) as error:
        tune(**other(**changes), folder=tmp_path)
    assert named in str(error.value)
    assert (tmp_path / "tuning.json").read_bytes() == kept


def test_values_that_are_tuned_may_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = answered(monkeypatch, lambda network, training: (0.5, 0.5))
    tune(**other(), folder=tmp_path)
    tune(**other(network=replace(NETWORK, hidden=99, dropout=0.9)), folder=tmp_path)
    assert len(tried) == SIZE - 1


def test_an_option_younger_than_the_file_had_its_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = answered(monkeypatch, lambda network, training: (0.5, 0.5))
    tuned_in(tmp_path)
    content = json.loads((tmp_path / "tuning.json").read_text())
    del content["subject"]["network"]["residual"], content["subject"]["higher_is_better"]
    (tmp_path / "tuning.json").write_text(json.dumps(content))
    tuned_in(tmp_path)
    assert len(tried) == SIZE - 1
    with pytest.raises(InputError, match=r"network.residual \(false there, true here\)"):
        tune(**other(network=replace(NETWORK, residual=True)), folder=tmp_path)


def test_bad_arguments_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    task, runs = problem()
    foreign = small_runs(small_task(13), [0])
    for given, options, message in [
        (runs, {"workers": 0}, "Expected workers as an integer of at least 1; got 0."),
        ([], {}, "Expected a list of at least one Run; got []."),
        (runs, {"device": "abacus"}, "Expected a device such as cpu or cuda; got 'abacus'."),
        (foreign, {}, "Expected a training mask of"),
    ]:
        with pytest.raises(InputError) as error:
            tune(task, given, NETWORK, TRAINING, GRID, folder=tmp_path / "tuning", **options)  # type: ignore[arg-type]
        assert message in str(error.value)
    assert not (tmp_path / "tuning").exists()


def test_the_folder_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, lambda network, training: (0.5, 0.5))
    tuned_in(tmp_path / "a?b%20c#{d} 'é" / "e")
    assert (tmp_path / "a?b%20c#{d} 'é" / "e" / "tuning.json").stat().st_size > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": 3}, "Expected task as Task; got int"),
        ({"runs": []}, "Expected a list of at least one Run"),
        ({"runs": [3]}, r"Expected runs as Run\(seed, split\); got int"),
        ({"network": None}, "Expected network as NetworkSpec; got NoneType"),
        ({"grid": {"hidden": [4]}}, "Expected grid as Grid"),
        ({"workers": "2"}, "Expected workers as an integer of at least 1; got '2'"),
        ({"on_trial": 3}, "Expected on_trial as a function of a Trial; got 3"),
    ],
)
def test_arguments_that_are_none(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    task, runs = problem()
    given = {"task": task, "runs": runs, "network": NETWORK, "training": TRAINING, "grid": GRID}
    with pytest.raises(InputError, match=message):
        tune(**(given | changes), folder=tmp_path / "tuning")  # type: ignore[arg-type]
    assert not (tmp_path / "tuning").exists()
