"""The halo of a process: rows that others compute and it reads, brought in by one exchange."""

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
    """Which of its rows this process gives others, and how many it gets from them.

    Args:
        group: the processes.
        rows: the rows that it gives, by the process that gets them.
        given, got: how many rows each process gets, and how many come from each.
        what: what the bytes are counted as; see `Group.sent`.

    Shapes: rows :math:`(\\sum given)`
    """

    group: Group
    rows: Tensor
    given: tuple[int, ...]
    got: tuple[int, ...]
    what: str = "halo"

    @classmethod
    def of(cls, group: Group, owner: Array, reader: Array, row: Array, place: Array, what: str) -> Halo | None:
        """The halo of rows that are read elsewhere than where they are computed; None if there are none at all.

        Args:
            group: the processes.
            owner, reader, row: who computes, who reads and which row of all it is, for every such pair once, over all
                processes; sorted by owner, then reader, then row. Rows come in this order.
            place: the row of this process that each of all rows is.
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
        """The rows of this process, then those that it gets; gradients flow back to where rows came from.

        Shapes: :math:`(N, *) → (N + \\sum got, *)`
        """
        found: Tensor = _Extend.apply(h, self)  # type: ignore[no-untyped-call]
        return found

    @property
    def received(self) -> int:
        return sum(self.got)

    def __repr__(self) -> str:
        return f"Halo({self.what}, given={self.given}, got={self.got})"


class _Extend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, halo: Halo) -> Tensor:
        ctx.halo, ctx.size = halo, len(h)
        there = halo.group.swap(h.index_select(0, halo.rows), halo.given, halo.got, halo.what)
        return torch.cat([h, there])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        halo: Halo = ctx.halo
        own, of_others = grad[: ctx.size], grad[ctx.size :]
        back = halo.group.swap(of_others.contiguous(), halo.got, halo.given, halo.what)
        return own.index_add(0, halo.rows, back), None
