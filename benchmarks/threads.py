"""One thread against two for networks of growing size, on free cores and on busy ones.

    python benchmarks/threads.py             # free cores
    python benchmarks/threads.py --busy 2    # beside two programs that compute all the time

The number of entries is that by which `neuraltrees.training.threads` decides: states × size × runs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from statistics import median

import torch

from neuraltrees.training import Trainer, load_config, load_problem
from neuraltrees.training.threads import PER_THREAD

SIZES = (  # scenes, hidden size, batches, runs
    (100, 32, 4, 1),
    (500, 128, 16, 1),
    (500, 128, 4, 1),
    (500, 128, 4, 5),
    (500, 128, 1, 5),
    (500, 128, 1, 10),
)


def seconds_per_step(trainer: Trainer, threads: int, seconds: float = 0.5) -> float:
    trainer.threads = threads
    start, epochs = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        trainer.run_epoch(epochs)
        epochs += 1
    return (time.perf_counter() - start) / epochs / len(trainer.batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--busy", type=int, default=0, help="programs that compute beside it")
    options = parser.parse_args()
    torch.set_num_threads(2)
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)]
    try:
        print("entries      of a thread  chosen  one thread   two threads / one")
        for scenes, hidden, batches, runs in SIZES:
            values = {"scenes": scenes, "hidden": hidden, "batches": batches, "runs": runs}
            config = load_config(overrides=values)
            problem = load_problem(config)
            trainer = Trainer(problem.task, config.network, config.training, problem.runs)
            chosen = trainer.threads
            entries = max(max(batch.plan.rounds.states) for batch in trainer.batches) * hidden * runs
            pairs = [(seconds_per_step(trainer, 1), seconds_per_step(trainer, 2)) for _ in range(5)]
            one, ratio = median(one for one, _ in pairs), median(two / one for one, two in pairs)
            row = f"{entries:<12,} {entries / PER_THREAD:<12.2f} {chosen:<7} {1000 * one:8.1f} ms  {ratio:.2f}"
            print(row, flush=True)
    finally:
        for other in others:
            other.kill()


if __name__ == "__main__":
    main()
