"""A Ray cluster that was started by itself: results are those of one process, and it is left as it was."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from neuraltrees.cli import main
from neuraltrees.tuning.store import Results
from tests.commands import Started, ended, started

pytest.importorskip("ray", reason="needs Ray: pip install 'neuraltrees[ray]'")

ROOT = Path(__file__).resolve().parents[2]
GRID = ["--epochs", "1", "--layers", "1,2", "--hidden", "4", "--lr", "0.01", "--dropout", "0.5", "--weight-decay", "0"]


@dataclass(frozen=True)
class Cluster:
    """A head node with two processors, and the settings by which it lets others in."""

    address: str
    head: Started
    environment: dict[str, str]

    def tasks(self) -> list[str]:
        """Its processes that are at a task."""
        return [name for each in self.head.below() if (name := each.name()).startswith("ray::task")]

    def run(self, *arguments: object) -> None:
        """Runs `python -m` with these arguments, as somebody who may use the cluster."""
        ran = ended([sys.executable, "-m", *arguments], 150, env=self.environment, cwd=ROOT)
        assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    ports = [socket.socket() for _ in range(2)]
    for each in ports:
        each.bind(("127.0.0.1", 0))
    port, clients = (each.getsockname()[1] for each in ports)
    for each in ports:
        each.close()
    folder = tempfile.mkdtemp(prefix="ray")  # short: the names of sockets have little room
    options = {"port": port, "ray-client-server-port": clients, "num-cpus": 2, "temp-dir": folder}
    options |= {"node-ip-address": "127.0.0.1", "include-dashboard": "false", "object-store-memory": 10**8}
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--disable-usage-stats"]
    # A token of its own, whatever this machine has for other clusters.
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    # Workers of low priority would stand still beside the other tests.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_worker_niceness": "0", **token}
    try:
        with started([*command, *(f"--{name}={value}" for name, value in options.items())], environment) as head:
            head.until(lambda: "Ray runtime started" in head.out, "Ray", 120)
            yield Cluster(f"127.0.0.1:{port}", head, environment)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_tasks_are_run_there_and_end_with_the_pool(cluster: Cluster, tmp_path: Path) -> None:
    cluster.run("tests.tuning.ray_jobs", "on_cluster", cluster.address, tmp_path)
    answers, wrong, too_large = json.loads((tmp_path / "said").read_text())
    assert answers == str([(name, name.upper()) for name in ("a", "b", "killed once")])
    assert len((tmp_path / "killed once").read_text().split()) == 2, "run again by another worker"
    assert wrong.startswith("The task wrong failed: Expected better; got wrong.")
    assert too_large == (
        f"Expected a machine with 1 CPU and 1 GPU in the Ray cluster at {cluster.address}; got machines with 2 CPU, "
        f"0 GPU. Add one: ray start --address ... --num-cpus 1 --num-gpus 1."
    )
    assert (tmp_path / "slow").exists(), "the task that is never done has begun"
    cluster.head.until(lambda: not cluster.tasks(), "end of that task", 60)
    assert cluster.head.process.poll() is None, "the cluster goes on"


def trials(folder: Path) -> list[Any]:
    """What was measured, without the seconds that it took."""
    return [{**record, "seconds": 0} for record in Results.read(folder / "tuning.json").records]


def run_here(*arguments: object) -> None:
    with pytest.raises(SystemExit) as end:
        main([*map(str, arguments)])
    assert end.value.code == 0


def test_tune(cluster: Cluster, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("dataset: synthetic\nscenes: 20\nconv: gcn\nmodel: gnn\n")
    command = ["tune", "--config", config, *GRID, "--out"]
    run_here(*command, tmp_path / "here")
    cluster.run("neuraltrees", *command, tmp_path / "there", "--executor", "ray", "--ray-address", cluster.address)
    assert trials(tmp_path / "there") == trials(tmp_path / "here")


def test_prepare(cluster: Cluster, tmp_path: Path) -> None:
    command = ["prepare", "--dataset", "synthetic", "--scenes", 20, "--schedule", "bags", "--piece", 7, "--columns"]
    run_here(*command, tmp_path / "here")
    cluster.run("neuraltrees", *command, tmp_path / "there", "--executor", "ray", "--ray-address", cluster.address)
    here, there = (
        {path.name: path.read_bytes() for path in (tmp_path / name).glob("*.column")} for name in ("here", "there")
    )
    assert here and there == here
    index = [json.loads((tmp_path / name / "index.json").read_bytes()) for name in ("here", "there")]
    assert index[0] == index[1]
