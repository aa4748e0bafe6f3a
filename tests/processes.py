"""Processes that compute together, started once for many tests: groups of 1 to 4 of them, by Gloo."""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

MOST = 4
PATIENCE = 150  # seconds; a wide bound against hanging


class Processes:
    """Four processes; `run` lets the first few of them call a function together."""

    def __init__(self, pipes: list[Connection]) -> None:
        self.pipes = pipes
        self.lost: str | None = None

    def run(self, size: int, function: Callable[..., Any], *args: Any) -> list[Any]:
        """What `function(group, *args)` returns in each of so many processes."""
        assert self.lost is None, f"an earlier test has lost a process: {self.lost}"
        for pipe in self.pipes[:size]:
            pipe.send((size, function, args))
        end, answers, failures = time.monotonic() + PATIENCE, [], []
        for rank, pipe in enumerate(self.pipes[:size]):  # of all of them, so that none is left for the next question
            try:
                if not pipe.poll(max(0, end - time.monotonic())):
                    self.lost = f"process {rank} of {size} gave no answer within {PATIENCE} s"
                    break
                good, answer = pipe.recv()
            except (EOFError, OSError):
                self.lost = f"process {rank} of {size} has died"
                break
            if good:
                answers.append(answer)
            else:
                failures.append(f"process {rank} of {size}:\n{answer}")
        assert not failures, "\n".join(failures)
        assert self.lost is None, self.lost
        return answers


@contextmanager
def processes(folder: Path) -> Iterator[Processes]:
    """Starts the processes and ends them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "neuraltrees.nn", "neuraltrees.training"])
    pipes, started = [], []
    for rank in range(MOST):
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(rank, str(folder / "store"), theirs), daemon=True)
        process.start()
        theirs.close()  # so that ours ends with the process
        pipes.append(ours)
        started.append(process)
    try:
        yield Processes(pipes)
    finally:
        for process in started:
            process.kill()
            process.join()


def _serve(rank: int, store: str, pipe: Connection) -> None:
    import torch
    import torch.distributed as dist

    from neuraltrees.nn.parallel import Group

    torch.set_num_threads(1)
    timeout = timedelta(seconds=PATIENCE // 2)
    dist.init_process_group("gloo", f"file://{store}", rank=rank, world_size=MOST, timeout=timeout)
    groups = [dist.new_group(list(range(size)), timeout=timeout) for size in range(1, MOST + 1)]
    while True:
        try:
            size, function, args = pipe.recv()
        except EOFError:
            return
        try:
            answer = True, function(Group(rank, size, groups[size - 1]), *args)
        except BaseException:
            answer = False, traceback.format_exc()
        pipe.send(answer)
