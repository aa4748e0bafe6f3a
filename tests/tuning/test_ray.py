"""On Ray, trials and trainings are the same as without it, and nothing that was finished is lost."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from neuraltrees.errors import InputError, NeuralTreesError
from neuraltrees.experiments.cells import Cell, run_cells
from neuraltrees.pools import ray_workers
from neuraltrees.pools.execution import Execution
from neuraltrees.tuning.store import Results
from neuraltrees.tuning.trials import Trial, Tuned
from tests.commands import ended, started
from tests.tuning.ray_jobs import Answering
from tests.tuning.searches import RESUMABLE, SIZE, tuned_in

pytest.importorskip("ray", reason="needs Ray: pip install 'neuraltrees[ray]'")

ROOT = Path(__file__).resolve().parents[2]
QUICK = ["--epochs", "1", "--layers", "1,2", "--hidden", "4", "--lr", "0.01", "--dropout", "0.5", "--weight-decay", "0"]


@pytest.fixture(autouse=True)
def found_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of Ray find the tests as modules."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def test_a_worker_that_is_killed_costs_only_its_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_workers, "RETRIES", 1)
    with Execution("ray", 2).pool(lambda: Answering(str(tmp_path))) as pool:
        answers = dict(pool.attempt(["a", "killed once", "b", "c"]))
        assert answers == {name: name.upper() for name in ("a", "killed once", "b", "c")}
        assert len((tmp_path / "killed once").read_text().split()) == 2, "run again by another worker"
        saved = RESUMABLE.replace("trials", "tasks")
        with pytest.raises(InputError, match=f"^The task wrong failed: Expected better; got wrong. {saved}$"):
            list(pool.attempt(["wrong"]))
        with pytest.raises(NeuralTreesError, match=rf"^A worker of Ray died 2 times at the task killed.* {saved}$"):
            list(pool.attempt(["killed always"]))
        assert list(pool.attempt([])) == []
    assert [each for each in psutil.Process().children(recursive=True) if "ray" in each.name()] == []


def test_a_task_that_memory_is_too_short_for_is_given_up(tmp_path: Path) -> None:
    """To Ray, memory is short once hardly any of it is used; by itself it would start the task again for ever."""
    environment = {**os.environ, "RAY_memory_usage_threshold": "0.01", "RAY_memory_monitor_refresh_ms": "50"}
    ran = ended([sys.executable, "-m", "tests.tuning.ray_jobs", "slow_task", tmp_path], 150, cwd=ROOT, env=environment)
    last = ran.stdout.splitlines()[-1]
    # Either its worker is given up, or there was none to begin with.
    assert re.search("^(A|Expected a) worker of Ray .*(memory ran out|running low on memory)", last), ran.stdout


def test_a_search_gives_what_one_process_gives_though_its_driver_is_killed(tmp_path: Path, unbroken: Tuned) -> None:
    folder, behind = tmp_path / "tuning", tmp_path / "processes"
    with started(
        [sys.executable, "-m", "tests.tuning.ray_jobs", "killed_after_three", folder, behind], cwd=ROOT
    ) as ran:
        assert ran.wait(120) == -signal.SIGKILL, ran.errors
        # Ray's own agents see after a minute that their parent is gone; all others end with it.
        pids = [pid for pid, name in json.loads(behind.read_text()).items() if "Agent" not in name]
        assert len(pids) > 2
        left = [psutil.Process(int(pid)) for pid in pids if psutil.pid_exists(int(pid))]
        assert psutil.wait_procs(left, timeout=60)[1] == [], "Ray ends with the process that started it"
    assert len(Results.read(folder / "tuning.json").records) == 3, "the store has what was finished"
    told: list[Trial] = []
    assert tuned_in(folder, executor="ray", on_trial=told.append) == unbroken, "trained on Ray as in this process"
    assert sum(trial.resumed for trial in told) == 3 + 1, "a point of the first stage comes up again in the second"
    assert len(told) == SIZE


def test_an_interrupt_leaves_the_store_and_no_process(tmp_path: Path) -> None:
    config, out = tmp_path / "config.yaml", tmp_path / "out"
    config.write_text("dataset: synthetic\nscenes: 20\nconv: gcn\nmodel: gnn\n")
    grid = [*QUICK, "--vary", "residual=true,false", "--vary", "heads=1,2,4,8"]
    command = [sys.executable, "-m", "neuraltrees", "tune", "--config", str(config), "--out", str(out), *grid]
    with started([*command, "--executor", "ray"], start_new_session=True) as search:
        search.until((out / "tuning.json").exists, "trial", 120)
        below = psutil.Process(search.pid).children(recursive=True)
        os.killpg(search.pid, signal.SIGINT)  # as a terminal does
        assert search.wait(60) == 130, search.errors
        assert search.errors.endswith("Stopped.\n")
        assert len(below) > 2 and psutil.wait_procs(below, timeout=60)[1] == []
    assert Results.read(out / "tuning.json").records


def cells() -> list[Cell]:
    common: dict[str, Any] = {"dataset": "synthetic", "scenes": 20, "epochs": 2, "hidden": 4, "runs": 2}
    return [Cell.of({"conv": conv}, conv=conv, model="gnn", **common) for conv in ("gcn", "sage", "gin")]


@pytest.mark.parametrize("executor", ["processes", "ray"])
def test_trainings_of_an_experiment(tmp_path: Path, executor: Any) -> None:
    told: list[str] = []
    plain = run_cells("x", cells(), tmp_path / "plain.json", "cpu", lambda line: None)
    found = run_cells("x", cells(), tmp_path / "x.json", "cpu", told.append, Execution(executor, 2))
    assert [each["name"] for each in found.records] == [each["name"] for each in plain.records], "in the same order"
    assert [each["runs"] for each in found.records] == [each["runs"] for each in plain.records]
    assert sorted(line.split(":")[0] for line in told) == ["1/3 conv gcn", "2/3 conv sage", "3/3 conv gin"]
    assert run_cells("x", cells(), tmp_path / "x.json", "cpu", pytest.fail, Execution(executor, 2)) == found


def test_an_address_where_nothing_listens_is_said_at_once(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        pool = Execution("ray", ray_address=f"127.0.0.1:{port}").pool(lambda: Answering(str(tmp_path)))
        with (
            pool,
            pytest.raises(NeuralTreesError, match=rf"^Expected to reach Ray at 127\.0\.0\.1:{port}; got: .*refused"),
        ):
            list(pool.attempt(["a"]))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="Expected executor out of processes, ray; got 'slurm'"):
        Execution("slurm")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Expected an address of Ray only with executor ray"):
        Execution(ray_address="auto")
