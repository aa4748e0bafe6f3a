"""The halo of a process: rows that it reads and others compute, received by one exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuraltrees.nn.parallel.group import Group

Array = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Halo:
    """The rows that this process sends to others, and the numbers of rows that it receives.

    Args:
        group: the processes.
        rows: the rows to send, sorted by the process that receives them.
        given, got: the numbers of rows sent to each process, and received from each.
        what: the purpose in `Group.sent`.

    Shapes: rows :math:`(\\sum given)`
    """

    group: Group
    rows: Tensor
    given: tuple[int, ...]
    got: tuple[int, ...]
    what: str = "halo"

    @classmethod
    def of(cls, group: Group, owner: Array, reader: Array, row: Array, place: Array, what: str) -> Halo | None:
        """The halo of rows that are read by another process than the one that computes them; None if there are none.

        Args:
            group: the processes.
            owner, reader, row: the process that computes a row, a process that reads it, and the number of the row in
                the whole; every such triple of all processes once, sorted. Rows are received in this order.
            place: for each row of the whole, its number in this process.
            what: see `Halo`.

        Shapes: owner, reader and row :math:`(K)`, place :math:`(N)`
        """
        if not len(row):
            return None
        mine, theirs = owner == group.rank, reader == group.rank
        return cls(
            group,
            torch.from_numpy(place[row[mine]]),
            tuple(np.bincount(reader[mine], minlength=group.size).tolist()),
            tuple(np.bincount(owner[theirs], minlength=group.size).tolist()),
            what,
        )

    def extend(self, h: Tensor) -> Tensor:
        """The rows of this process, then the received rows; gradients flow back to the senders.

        Shapes: :math:`(N, *) → (N + \\sum got, *)`
        """
        found: Tensor = _Extend.apply(h, self)  # type: ignore[no-untyped-call]  # torch has no types here
        return found

    def reduce(self, h: Tensor) -> Tensor:
        """The transpose of `extend`: rows of other processes are sent back to their owners and added there.

        Shapes: :math:`(N + \\sum got, *) → (N, *)`
        """
        found: Tensor = _Reduce.apply(h, self)  # type: ignore[no-untyped-call]  # torch has no types here
        return found

    @property
    def received(self) -> int:
        return sum(self.got)

    def __repr__(self) -> str:
        return f"Halo({self.what}, given={self.given}, got={self.got})"


class _Extend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, halo: Halo) -> Tensor:
        ctx.halo = halo
        return _extended(h, halo)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _reduced(grad, ctx.halo), None


class _Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, halo: Halo) -> Tensor:
        ctx.halo = halo
        return _reduced(h, halo)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _extended(grad, ctx.halo), None


def _extended(h: Tensor, halo: Halo) -> Tensor:
    there = halo.group.swap(h.index_select(0, halo.rows), halo.given, halo.got, halo.what)
    return torch.cat([h, there])


def _reduced(h: Tensor, halo: Halo) -> Tensor:
    size = len(h) - halo.received
    back = halo.group.swap(h[size:].contiguous(), halo.got, halo.given, halo.what)
    return h[:size].index_add(0, halo.rows, back)


def read_elsewhere(owner: Array, reader: Array, row: Array, parts: int) -> tuple[Array, Array, Array]:
    """Owner, reader and row of the rows that another process reads, each triple once, in the order of `Halo.of`."""
    across = np.flatnonzero(owner != reader)
    rows = int(row.max(initial=-1)) + 1
    pair = np.unique((owner[across] * parts + reader[across]) * max(rows, 1) + row[across])
    ends, found = pair // max(rows, 1), pair % max(rows, 1)
    return ends // parts, ends % parts, found


def places_of(rows: Array, count: int) -> Array:
    """The place of each of `count` rows in a list of some of them; -1 for rows not in the list."""
    place = np.full(count, -1)
    place[rows] = np.arange(len(rows))
    return place
