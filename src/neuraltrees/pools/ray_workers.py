"""Runs tasks on Ray: on this machine, or on a cluster."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import warnings
from collections.abc import Callable, Generator, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from neuraltrees.errors import InputError, NeuralTreesError
from neuraltrees.extras import require
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

RETRIES = 3  # how often a task is run again after its worker was killed
PATIENCE = 300.0  # seconds for the first worker on this machine to start


def ray_module() -> ModuleType:
    """The module of Ray; `MissingExtraError` if it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anyone
    # By default Ray retries a task for ever whose worker it has killed because memory ran short.
    os.environ.setdefault("RAY_task_oom_retries", str(RETRIES))
    # By default Ray gives its workers so low a priority that they stand still beside any other program that computes.
    os.environ.setdefault("RAY_worker_niceness", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of its own dependencies, at their import
        return require("ray", extra="ray", what="the executor ray")


class RayWorkers(Pool[Item, Answer]):
    """Workers of Ray, each with one thread, so that results equal those of `Workers`.

    A task whose worker is killed is run again by another one, up to RETRIES times. Workers only return answers; this
    process saves them. Ray that was started here is stopped with the pool, or with this process.

    Args:
        make_job: makes the job, when the first task is run.
        count: number of tasks at a time on this machine; on a cluster, its size decides.
        address: address of a cluster; None starts Ray on this machine.
    """

    def __init__(self, make_job: Callable[[], Job[Item, Answer]], count: int = 1, address: str | None = None) -> None:
        self.make_job, self.count, self.address = make_job, count, address
        self.ray = ray_module()
        self.started = False
        self.pending: dict[Any, Item] = {}
        self.token = secrets.token_hex(8)

    @cached_property
    def job(self) -> Job[Item, Answer]:
        return self.make_job()

    @cached_property
    def sent(self) -> Any:
        """The job, as Ray keeps it for all workers of a machine."""
        content = np.frombuffer(as_bytes(self.job), np.uint8)  # workers read an array without a copy
        self._start(len(content))
        return self.ray.put(content)

    def __exit__(self, *_: object) -> None:
        if not self.started:
            return
        self.pending.clear()
        self.ray.shutdown()  # ends what runs; to cancel a task that ends at this moment would crash this process
        self.started = False

    def attempt(self, items: Sequence[Item]) -> Generator[tuple[Item, Answer], None, None]:
        if not items:
            return
        job = self.sent
        device = getattr(self.job, "device", "cpu")
        # On this machine all workers share a GPU, as processes do; Ray hides the GPU from tasks without a share of it.
        share = 1 if self.address is not None else 1 / self.count
        gpus = share if torch.device(device).type == "cuda" else 0
        if self.address is not None:
            self._check_room(gpus)
        task = self.ray.remote(_done).options(num_cpus=1, num_gpus=gpus, max_retries=RETRIES, name=self.job.word)
        # On this machine the number of submitted tasks limits how many run at a time; on a cluster, its resources do.
        waiting = list(reversed(items))
        most = self.count if self.address is None else len(items)
        while waiting or self.pending:
            while waiting and len(self.pending) < most:
                item = waiting.pop()
                self.pending[task.remote(self.token, job, item)] = item
            ready, _ = self.ray.wait(list(self.pending), num_returns=1)
            for each in ready:
                item = self.pending.pop(each)
                yield item, checked(self._answer(each, item), item, self.job)

    def _answer(self, task: Any, item: Item) -> Answer | Failure:
        errors = self.ray.exceptions
        try:
            given: Answer | Failure = self.ray.get(task)
            return given
        except errors.OutOfMemoryError:
            how, hint = "was ended by Ray, since memory ran out,", " Use fewer workers."
        except (errors.WorkerCrashedError, errors.NodeDiedError):
            how, hint = f"died {RETRIES + 1} times", " Perhaps memory ran out: use fewer workers."
        except errors.RayError as error:
            why = str(error).strip().splitlines()[-1][:300]  # of a task's error, after where it came from
            how, hint = f"failed ({why})", ""
        raise NeuralTreesError(
            f"A worker of Ray {how} at the {self.job.word} {item}.{hint} {how_to_resume(self.job)}"
        ) from None

    def _start(self, size: int) -> None:
        if self.ray.is_initialized():
            raise InputError(
                "Expected a process that is not connected to Ray; it is connected. Call ray.shutdown() first."
            )
        if self.address is not None:
            _check_answers(self.address)
        quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
        local = {"num_cpus": self.count, "include_dashboard": False, "object_store_memory": (1 << 27) + 2 * size}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                if self.address is None:
                    self.ray.init(address="local", **local, **quiet)
                else:
                    self.ray.init(address=self.address, **quiet)
            except (ConnectionError, RuntimeError, ValueError, OSError) as error:
                where = "on this machine" if self.address is None else f"at {self.address}"
                why = " ".join(str(error).split())[:300]
                raise NeuralTreesError(
                    f"Expected to reach Ray {where}; got: {why} Check the address, or start it: ray start --head."
                ) from None
        self.started = True
        if self.address is None:
            self._check_starts()

    def _check_starts(self) -> None:
        """Raises `NeuralTreesError` if no worker starts on this machine; Ray itself would try for ever."""
        try:
            self.ray.get(self.ray.remote(_here).options(num_cpus=1).remote(), timeout=PATIENCE)
        except self.ray.exceptions.RayError as error:
            why = str(error).strip().splitlines()[0][:300]
            raise NeuralTreesError(
                f"Expected a worker of Ray to start on this machine within {PATIENCE:.0f} s; got: {why} Perhaps memory "
                f"is short: end other programs, or use the executor processes."
            ) from None

    def _check_room(self, gpus: float) -> None:
        """Raises `NeuralTreesError` if no machine of the cluster can ever run a task, which Ray would wait for."""
        wanted = {"CPU": 1.0} | ({"GPU": gpus} if gpus else {})
        machines = [each.get("Resources", {}) for each in self.ray.nodes() if each.get("Alive")]
        if not any(all(has.get(name, 0) >= count for name, count in wanted.items()) for has in machines):
            words = " and ".join(f"{count:g} {name}" for name, count in wanted.items())
            there = "; ".join(", ".join(f"{has.get(name, 0):g} {name}" for name in ("CPU", "GPU")) for has in machines)
            raise NeuralTreesError(
                f"Expected a machine with {words} in the Ray cluster at {self.address}; got machines with {there}. "
                f"Add one: ray start --address ... --num-cpus 1{' --num-gpus 1' if gpus else ''}."
            )


def _here() -> bool:
    """A task that shows that workers start."""
    return True


def _check_answers(address: str) -> None:
    """Raises `NeuralTreesError` at once if nothing listens at HOST:PORT; Ray itself would retry for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # auto, or another name that Ray resolves
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except OSError as error:
        raise NeuralTreesError(
            f"Expected to reach Ray at {address}; got: {error}. Check the address, or start it: ray start --head."
        ) from None


_jobs: dict[str, Job[Any, Any]] = {}  # in a worker: its last job, by token


def _done(token: str, content: npt.NDArray[np.uint8], item: Any) -> Any:
    """Runs a task, in a worker."""
    torch.set_num_threads(1)
    if token not in _jobs:
        _jobs.clear()
        _jobs[token] = from_bytes(content.tobytes())
    return attempt(_jobs[token], item)
