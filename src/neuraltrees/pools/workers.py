"""Runs tasks one after another in this process, or in several processes, with the same results."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

import torch

from neuraltrees.errors import InputError, NeuralTreesError
from neuraltrees.pools.pool import (
    Answer,
    Failure,
    Item,
    Job,
    Pool,
    as_bytes,
    attempt,
    checked,
    from_bytes,
    how_to_resume,
)


class Workers(Pool[Item, Answer]):
    """Processes of this machine.

    A single worker is this process itself. Every worker computes with one thread: sums that are divided among threads
    round differently, so results would depend on the machine.

    Args:
        make_job: makes the job, when the first task is run.
        count: number of workers.
        one_thread: if false, a single worker keeps the number of threads of this process.
    """

    def __init__(self, make_job: Callable[[], Job[Item, Answer]], count: int = 1, one_thread: bool = True) -> None:
        if count < 1:
            raise InputError(f"Expected at least one worker; got {count}.")
        self.make_job, self.count, self.one_thread = make_job, count, one_thread
        self.pipes: dict[Connection, SpawnProcess] = {}

    @cached_property
    def job(self) -> Job[Item, Answer]:
        return self.make_job()

    def __exit__(self, *_: object) -> None:
        for pipe, process in self.pipes.items():
            process.kill()  # nothing is lost: this process saves the answers
            process.join()
            process.close()
            pipe.close()
        self.pipes.clear()

    def attempt(self, items: Sequence[Item]) -> Generator[tuple[Item, Answer], None, None]:
        if self.count > 1:
            yield from self._side_by_side(items)
            return
        for item in items:
            with _one_thread() if self.one_thread else nullcontext():
                answer = attempt(self.job, item)
            yield item, checked(answer, item, self.job)

    def _side_by_side(self, items: Sequence[Item]) -> Iterator[tuple[Item, Answer]]:
        waiting, busy = deque(items), dict[Connection, Item]()
        self._start(min(self.count, len(items)))
        for pipe in self.pipes:
            if waiting:
                busy[pipe] = self._hand_out(pipe, waiting.popleft())
        while busy:
            for ready in connection.wait(list(busy)):
                assert isinstance(ready, Connection)
                item = busy.pop(ready)
                try:
                    given: Answer | Failure = ready.recv()
                except (EOFError, OSError):
                    raise self._lost(ready, item) from None
                answer = checked(given, item, self.job)
                if waiting:
                    busy[ready] = self._hand_out(ready, waiting.popleft())
                yield item, answer

    def _start(self, count: int) -> None:
        context = get_context("spawn")
        fresh = []
        with _interrupts_ignored():
            while len(self.pipes) < count:
                mine, theirs = context.Pipe()
                process = context.Process(target=_work, args=(theirs,), daemon=True)
                process.start()
                theirs.close()
                self.pipes[mine] = process
                fresh.append(mine)
        # The job is sent after all processes have started, since sending waits until a process has imported torch.
        job = as_bytes(self.job) if fresh else b""
        for pipe in fresh:
            try:
                pipe.send_bytes(job)
            except OSError:
                raise self._lost(pipe) from None

    def _hand_out(self, pipe: Connection, item: Item) -> Item:
        try:
            pipe.send(item)
        except OSError:
            raise self._lost(pipe, item) from None
        return item

    def _lost(self, pipe: Connection, item: Item | None = None) -> NeuralTreesError:
        process = self.pipes[pipe]
        process.join(5)
        code = process.exitcode
        hint = ""
        match code:
            case None:
                how = "closed its pipe"
            case _ if code < 0:
                how = f"was ended by {signal.Signals(-code).name}"
                hint = " Perhaps memory ran out: use fewer workers." if code == -signal.SIGKILL else ""
            case _:
                how = f"ended with exit code {code}"
                hint = " A script that uses several workers must call tune under `if __name__ == '__main__':`."
        word = self.job.word
        when = f"before its first {word}" if item is None else f"at the {word} {item}"
        return NeuralTreesError(f"A worker {how} {when}.{hint} {how_to_resume(self.job)}")


def _work(pipe: Connection) -> None:
    """The main function of a worker: runs tasks until the pipe is closed."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    try:
        job = from_bytes(pipe.recv_bytes())  # sent by the parent process
        while True:
            pipe.send(attempt(job, pipe.recv()))
    except (EOFError, OSError):
        return


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # even in the middle of a task


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes started in this context ignore Ctrl-C, which a terminal sends to all; this process ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
