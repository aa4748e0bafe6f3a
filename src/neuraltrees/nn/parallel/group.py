"""Processes that compute one thing together: sums over all of them, and rows that they give each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from neuraltrees.errors import InputError, LostProcessError


class Group:
    """The processes of a `torch.distributed` group, seen from one of them; Gloo moves tensors of a GPU through main
    memory.

    All of them make the same calls in the same order. A group of one needs no `torch.distributed`, and is `alone`
    unless it was found there; a larger one needs it only when something is sent, so that parts can be planned and
    counted without other processes.

    Args:
        rank: number of this process.
        size: how many there are.
        group: the group of `torch.distributed`; None for the default one.

    `sent` counts the bytes of rows that this process has given others so far, by what they were: "halo", "sums",
    "sweep".
    """

    def __init__(self, rank: int = 0, size: int = 1, group: dist.ProcessGroup | None = None) -> None:
        if not 0 <= rank < size:
            raise InputError(f"Expected a rank from 0 to {size - 1}; got {rank}.")
        self.rank, self.size, self.group, self.alone = rank, size, group, size == 1
        self.sent: dict[str, int] = {}

    @classmethod
    def here(cls, group: dist.ProcessGroup | None = None) -> Group:
        """The group that this process belongs to; one alone where `torch.distributed` was not initialised."""
        if not (dist.is_available() and dist.is_initialized()):
            return cls()
        found = cls(dist.get_rank(group), dist.get_world_size(group), group)
        found.alone = False
        return found

    def total_(self, tensor: Tensor) -> Tensor:
        """The sum of a tensor over all processes, in place and without a gradient."""
        if not self.alone:
            staged = self._staged(tensor)
            with self._others():
                dist.all_reduce(staged, group=self.group)
            if staged is not tensor:
                tensor.copy_(staged)
        return tensor

    def total(self, tensor: Tensor, what: str | None = None) -> Tensor:
        """The same as a new tensor; the gradient is the sum of the gradients of all processes.

        Args:
            tensor: what is summed.
            what: what to count the bytes as; None to count none.
        """
        if self.alone:
            return tensor
        found: Tensor = _Total.apply(tensor, self, what)  # type: ignore[no-untyped-call]
        return found

    def swap(self, rows: Tensor, given: Sequence[int], got: Sequence[int], what: str) -> Tensor:
        """Gives every process some of the rows, those for process 0 first, and gets rows from each.

        Args:
            rows: what is given.
            given: how many rows each process gets from this one.
            got: how many this one gets from each.
            what: what to count the bytes as.

        Shapes: rows :math:`(\\sum given, *)` → :math:`(\\sum got, *)`
        """
        self.count(rows[: len(rows) - given[self.rank]], what)
        staged = self._staged(rows)
        there = torch.empty(sum(got), *rows.shape[1:], dtype=rows.dtype, device=staged.device)
        with self._others():
            dist.all_to_all_single(there, staged, list(got), list(given), group=self.group)
        return there.to(rows.device)

    def barrier(self) -> None:
        """Waits for all processes."""
        if not self.alone:
            with self._others():
                dist.barrier(self.group)

    @contextmanager
    def first(self) -> Iterator[None]:
        """Process 0 does the work, such as writing files, before the others do it, such as finding them there."""
        if self.rank:
            self.barrier()
        yield
        if not self.rank:
            self.barrier()

    @contextmanager
    def _others(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise LostProcessError(
                f"Expected all {self.size} processes to the end; process {self.rank} lost another one "
                f"({_reason(error)})."
            ) from error

    def _staged(self, rows: Tensor) -> Tensor:
        through_memory = rows.is_cuda and dist.get_backend(self.group) == "gloo"
        return rows.cpu() if through_memory else rows.contiguous()

    def count(self, sent: Tensor, what: str) -> None:
        """Counts what is sent."""
        self.sent[what] = self.sent.get(what, 0) + sent.numel() * sent.element_size()

    def __repr__(self) -> str:
        return f"Group(rank={self.rank}, size={self.size})"


def _reason(error: Exception) -> str:
    """The first sentence of what went wrong, without the place in the source."""
    first = re.sub(r"^\[\S+:\d+\] ", "", str(error).strip()).split("\n")[0].split(". ")[0]
    return first.rstrip(".")[:200] or type(error).__name__


class _Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Group, what: str | None) -> Tensor:
        ctx.group, ctx.what = group, what
        return _counted_total(tensor, group, what)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return _counted_total(grad, ctx.group, ctx.what), None, None


def _counted_total(tensor: Tensor, group: Group, what: str | None) -> Tensor:
    if what is not None:
        group.count(tensor, what)
    return group.total_(tensor.clone(memory_format=torch.contiguous_format))
