"""Trials are the same however many processes work, and finished ones stay however they are interrupted."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from neuraltrees.errors import InputError, NeuralTreesError
from neuraltrees.pools.pool import Failure, attempt
from neuraltrees.training import Task
from neuraltrees.training.fitting import trained as train
from neuraltrees.tuning import record as record_module
from neuraltrees.tuning.grid import Grid, Point
from neuraltrees.tuning.record import TrialJob
from neuraltrees.tuning.trials import Trial, Tuned
from neuraltrees.tuning.tune import tune
from tests.commands import started
from tests.training.tasks import small_runs, small_task
from tests.tuning.searches import NETWORK, RESUMABLE, SIZE, TRAINING, tuned_in

ROOT = Path(__file__).resolve().parents[2]


def test_an_error_in_a_trial_is_one_line_and_finished_trials_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unbroken: Tuned
) -> None:
    calls = 0

    def failing(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise RuntimeError("out of\nmemory")
        return train(*arguments)

    monkeypatch.setattr(record_module, "trained", failing)
    with pytest.raises(NeuralTreesError) as error:
        tuned_in(tmp_path)
    assert str(error.value) == (
        "The trial layers 1, hidden 8, lr 0.05, dropout 0.1, weight decay 0 failed: RuntimeError: out of memory. "
        f"{RESUMABLE}"
    )
    assert tuned_in(tmp_path) == unbroken
    assert calls == 3 + 1 + SIZE - 1 - 3


def workers_of(pid: int) -> list[psutil.Process]:
    return [child for child in psutil.Process(pid).children() if "spawn_main" in " ".join(child.cmdline())]


def test_two_workers_of_which_one_dies(tmp_path: Path, unbroken: Tuned) -> None:
    told: list[Trial] = []

    def kill(trial: Trial) -> None:
        told.append(trial)
        if len(told) == 2:
            workers_of(os.getpid())[0].kill()

    with pytest.raises(NeuralTreesError) as error:
        tuned_in(tmp_path, workers=2, on_trial=kill)
    assert str(error.value).startswith("A worker was ended by SIGKILL at the trial layers")
    assert str(error.value).endswith(f"Perhaps memory ran out: use fewer workers. {RESUMABLE}")
    assert "\n" not in str(error.value)
    assert workers_of(os.getpid()) == []
    assert 2 <= len(told) < SIZE
    kept, told = told, []
    assert tuned_in(tmp_path, on_trial=told.append) == unbroken, "workers train as this process does"
    assert [trial for trial in told if trial.resumed and trial.stage == 1] == sorted(kept, key=unbroken.trials.index)


# Workers import the script that started them, so they train as it says: trials of two rounds last for ever.
KILLED = """
import os, sys, time
from pathlib import Path
from neuraltrees.training.fitting import trained
from neuraltrees.tuning import record
from tests.tuning.searches import tuned_in

folder = Path(sys.argv[1])

def hanging(task, network, *arguments):
    if network.layers == 2:
        (folder / f"busy {os.getpid()}").touch()
        time.sleep(600)
    return trained(task, network, *arguments)

record.trained = hanging
if __name__ == "__main__":
    tuned_in(folder, workers=2, on_trial=lambda trial: print("done", flush=True))
"""


def test_a_tuning_that_was_killed_goes_on(tmp_path: Path, unbroken: Tuned, monkeypatch: pytest.MonkeyPatch) -> None:
    script, folder = tmp_path / "killed.py", tmp_path / "tuning"
    script.write_text(KILLED)
    with started([sys.executable, script, folder], env={**os.environ, "PYTHONPATH": str(ROOT)}) as search:
        assert search.lines(4, timeout=120) == ["done"] * 4
        search.until(lambda: len(list(folder.glob("busy *"))) == 2, "two workers at trials that last", 60)
        workers = workers_of(search.pid)
        with pytest.raises(InputError, match="another process is writing to it"):
            tuned_in(folder)
        os.kill(search.pid, signal.SIGKILL)
        assert {f"busy {worker.pid}" for worker in workers} == {path.name for path in folder.glob("busy *")}
        assert psutil.wait_procs(workers, timeout=30)[1] == [], "workers end with the process that started them"
    trained = 0

    def counted(*arguments: Any) -> Any:
        nonlocal trained
        trained += 1
        return train(*arguments)

    monkeypatch.setattr(record_module, "trained", counted)
    assert tuned_in(folder) == unbroken
    assert trained == SIZE - 1 - 4


def test_bad_input_that_a_trial_meets_is_named(tmp_path: Path) -> None:
    graphs = [graph.clone() for graph in small_task().graphs]
    graphs[0].y[0] = 2  # a label that no other node of its type has
    task = Task(graphs, {"first": ("no", "yes", "rare"), "other": ("none", "one", "both")})
    runs = [run for run in small_runs(task, list(range(100))) if bool(run.split.test[0])][:1]
    with pytest.raises(InputError, match=r"^The trial layers 1 failed: Expected a training node .* Finished trials"):
        tune(task, runs, NETWORK, TRAINING, Grid(layers=(1,)), folder=tmp_path)
    failure = attempt(TrialJob(task, runs, NETWORK, TRAINING), Point(layers=1))
    assert isinstance(failure, Failure) and failure.of_input
    assert pickle.loads(pickle.dumps(failure)) == failure, "as it comes from a worker"
