"""Trials one after another in this process, or side by side in processes of their own, with the same results."""

from __future__ import annotations

import io
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

import torch

from neuraltrees.data.task import Task
from neuraltrees.errors import InputError, NeuralTreesError
from neuraltrees.training.runs import Run
from neuraltrees.training.spec import NetworkSpec, TrainingSpec
from neuraltrees.tuning.grid import Point
from neuraltrees.tuning.record import train_record
from neuraltrees.tuning.store import Record

RESUMABLE = "Finished trials are saved; rerun the same command to continue."


@dataclass(frozen=True)
class Failure:
    """Why a trial could not be finished."""

    reason: str
    of_input: bool


@dataclass(frozen=True)
class Job:
    """What all trials have in common."""

    task: Task
    runs: Sequence[Run]
    network: NetworkSpec
    training: TrainingSpec
    device: str = "cpu"

    def attempt(self, point: Point) -> Record | Failure:
        """Trains at one point of the grid."""
        try:
            return train_record(self.task, *point.applied(self.network, self.training), self.runs, self.device)
        except Exception as error:
            if isinstance(error, NeuralTreesError):
                return Failure(str(error), isinstance(error, InputError))
            return Failure(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}.", False)


class Workers:
    """A context in which trials are run; leaving it ends all processes.

    One worker is this very process. However many there are, each computes with one thread: sums that are divided among
    threads round differently, and the results would depend on the machine.

    Args:
        make_job: makes what all trials have in common, when the first of them is run.
        count: number of workers.
    """

    def __init__(self, make_job: Callable[[], Job], count: int = 1) -> None:
        if count < 1:
            raise InputError(f"Expected at least one worker; got {count}.")
        self.make_job, self.count = make_job, count
        self.pipes: dict[Connection, SpawnProcess] = {}

    @cached_property
    def job(self) -> Job:
        return self.make_job()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe, process in self.pipes.items():
            process.kill()  # it holds nothing: trials are saved by the process that hands them out
            process.join()
            process.close()
            pipe.close()
        self.pipes.clear()

    def attempt(self, points: Sequence[Point]) -> Generator[tuple[Point, Record], None, None]:
        """Each point with the record of its training, as they are done; the first failure raises."""
        if self.count > 1:
            yield from self._side_by_side(points)
            return
        for point in points:
            with _one_thread():
                answer = self.job.attempt(point)
            yield point, _checked(answer, point)

    def _side_by_side(self, points: Sequence[Point]) -> Iterator[tuple[Point, Record]]:
        waiting, busy = deque(points), dict[Connection, Point]()
        self._start(min(self.count, len(points)))
        for pipe in self.pipes:
            if waiting:
                busy[pipe] = self._hand_out(pipe, waiting.popleft())
        while busy:
            for ready in connection.wait(list(busy)):
                assert isinstance(ready, Connection)
                point = busy.pop(ready)
                try:
                    answer = ready.recv()
                except (EOFError, OSError):
                    raise self._lost(ready, point) from None
                record = _checked(answer, point)
                if waiting:
                    busy[ready] = self._hand_out(ready, waiting.popleft())
                yield point, record

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
        # As bytes: given to a process, every tensor would become an open file of its own, and a system allows about
        # 1,000. They follow when all processes have started, as sending waits until the other side has imported torch.
        job = io.BytesIO()
        if fresh:
            torch.save(self.job, job)  # graphs cut out of one tensor share it, where pickle would repeat it
        for pipe in fresh:
            try:
                pipe.send_bytes(job.getbuffer())
            except OSError:
                raise self._lost(pipe) from None

    def _hand_out(self, pipe: Connection, point: Point) -> Point:
        try:
            pipe.send(point)
        except OSError:
            raise self._lost(pipe, point) from None
        return point

    def _lost(self, pipe: Connection, point: Point | None = None) -> NeuralTreesError:
        process = self.pipes[pipe]
        process.join(5)
        code = process.exitcode
        hint = ""
        match code:
            case None:
                how = "closed its pipe"
            case _ if code < 0:
                how = f"was ended by {signal.Signals(-code).name}"
                hint = " Perhaps memory ran out: try fewer workers." if code == -signal.SIGKILL else ""
            case _:
                how = f"ended with exit code {code}"
                hint = " A script that uses several workers calls tune under `if __name__ == '__main__':`."
        when = "before its first trial" if point is None else f"at the trial {point}"
        return NeuralTreesError(f"A worker {how} {when}.{hint} {RESUMABLE}")


def _checked(answer: Record | Failure, point: Point) -> Record:
    if not isinstance(answer, Failure):
        return answer
    kind = InputError if answer.of_input else NeuralTreesError
    raise kind(f"The trial {point} failed: {answer.reason} {RESUMABLE}")


def _work(pipe: Connection) -> None:
    """The life of a worker: trials until the pipe closes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    try:
        job: Job = torch.load(io.BytesIO(pipe.recv_bytes()), weights_only=False)  # from our own parent
        while True:
            pipe.send(job.attempt(pipe.recv()))
    except (EOFError, OSError):
        return


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # in the middle of a trial that nobody waits for any more


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
    """Processes that start here ignore Ctrl-C, which a terminal sends to all; the one that hands out work ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
