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


def killed_after_three(folder: Path, behind: Path) -> None:
    """A search on Ray that ends in the middle; says which processes there were."""
    told = 0

    def kill(_: Trial) -> None:
        nonlocal told
        told += 1
        if told == 3:
            behind.write_text(json.dumps({each.pid: each.name() for each in psutil.Process().children(recursive=True)}))
            os.kill(os.getpid(), signal.SIGKILL)

    tuned_in(folder, executor="ray", workers=2, on_trial=kill)


def slow_task(folder: Path) -> None:
    """Prints the answer of a task on Ray, or why there is none."""
    try:
        with Execution("ray", 1).pool(lambda: Answering(str(folder))) as pool:
            print(dict(pool.attempt(["slow"])))
    except NeuralTreesError as error:
        print(error)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        killed_after_three(Path(sys.argv[1]), Path(sys.argv[2]))
    else:
        slow_task(Path(sys.argv[1]))
