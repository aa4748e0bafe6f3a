"""Which engine runs many trainings: processes of this machine, or Ray."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from neuraltrees.checks import check_at_least
from neuraltrees.errors import InputError
from neuraltrees.pools.pool import Answer, Item, Job, Pool

ExecutorName: TypeAlias = Literal["processes", "ray"]


@dataclass(frozen=True)
class Execution:
    """The engine that runs tasks, and the number of its workers.

    Args:
        executor: `processes` of this machine, or `ray`.
        workers: number of tasks at a time, with one thread each; with an address, the cluster decides.
        ray_address: address of a Ray cluster, such as `auto` or `ray://head:10001`; by default Ray is started on this
            machine and stopped after the work.

    >>> Execution(workers=2)
    Execution(executor='processes', workers=2, ray_address=None)
    """

    executor: ExecutorName = "processes"
    workers: int = 1
    ray_address: str | None = None

    def __post_init__(self) -> None:
        check_at_least("workers", self.workers, 1)
        if self.executor not in get_args(ExecutorName):
            raise InputError(f"Expected executor out of {', '.join(get_args(ExecutorName))}; got {self.executor!r}.")
        if self.ray_address is not None and self.executor != "ray":
            raise InputError(
                f"Expected an address of Ray only with executor ray; got {self.ray_address!r} with "
                f"{self.executor}. Set executor to ray, or leave the address out."
            )

    def check(self) -> None:
        """Raises `MissingExtraError` if Ray is requested but not installed, before any work."""
        if self.executor == "ray":
            from neuraltrees.pools.ray_workers import ray_module

            ray_module()

    def pool(self, make_job: Callable[[], Job[Item, Answer]], one_thread: bool = True) -> Pool[Item, Answer]:
        """Workers for tasks; see `Workers`."""
        if self.executor == "ray":
            from neuraltrees.pools.ray_workers import RayWorkers

            return RayWorkers(make_job, self.workers, self.ray_address)
        from neuraltrees.pools.workers import Workers

        return Workers(make_job, self.workers, one_thread)
