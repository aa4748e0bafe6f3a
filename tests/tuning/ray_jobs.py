"""What the tests of Ray run in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from neuraltrees.errors import InputError, NeuralTreesError
from neuraltrees.pools.execution import Execution
from neuraltrees.tuning.trials import Trial
from tests.tuning.searches import tuned_in


@dataclass(frozen=True)
class Answering:
    """Answers in capitals; some items end their worker."""

    folder: str
    word: str = "task"
    saved: bool = True

    def answer(self, item: str) -> str:
        if item == "wrong":
            raise InputError("Expected better; got wrong.")
        with (Path(self.folder) / item).open("a") as file:
            file.write("run ")
        if item == "slow":
            time.sleep(600)
        again = len((Path(self.folder) / item).read_text().split()) > 1
        if item == "killed always" or (item == "killed once" and not again):
            os.kill(os.getpid(), signal.SIGKILL)
        return item.upper()


def killed_after_three(folder: str, behind: str) -> None:
    """A search on Ray that ends in the middle; says which processes there were."""
    told = 0

    def kill(_: Trial) -> None:
        nonlocal told
        told += 1
        if told == 3:
            Path(behind).write_text(
                json.dumps({each.pid: each.name() for each in psutil.Process().children(recursive=True)})
            )
            os.kill(os.getpid(), signal.SIGKILL)

    tuned_in(Path(folder), executor="ray", workers=2, on_trial=kill)


def slow_task(folder: str) -> None:
    """Prints the answer of a task on Ray, or why there is none."""
    try:
        with Execution("ray", 1).pool(lambda: Answering(folder)) as pool:
            print(dict(pool.attempt(["slow"])))
    except NeuralTreesError as error:
        print(error)


@dataclass(frozen=True)
class OnGpu(Answering):
    """Answers on a GPU alone."""

    device: str = "cuda"


def on_cluster(address: str, folder: str) -> None:
    """Writes what tasks on a cluster come to: one is killed, one wrong while another lasts, one asks for too much."""
    execution, said = Execution("ray", ray_address=address), list[str]()
    try:
        with execution.pool(lambda: Answering(folder)) as pool:
            said.append(str(sorted(dict(pool.attempt(["a", "killed once", "b"])).items())))
            list(pool.attempt(["slow", "wrong"]))
    except NeuralTreesError as error:
        said.append(str(error))
    try:
        with execution.pool(lambda: OnGpu(folder)) as pool:
            list(pool.attempt(["a"]))
    except NeuralTreesError as error:
        said.append(str(error))
    (Path(folder) / "said").write_text(json.dumps(said))


if __name__ == "__main__":
    from tests.tuning import ray_jobs  # workers find its classes by that name

    getattr(ray_jobs, sys.argv[1])(*sys.argv[2:])
