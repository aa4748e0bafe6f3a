"""Processes that compute together: sums over all of them, and rows that they send each other."""

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
    """The processes of a `torch.distributed` group, seen from one of them; with Gloo, tensors on a GPU are copied
    through main memory.

    All processes make the same calls in the same order. A group of one process does not need `torch.distributed`, and
    is `alone` unless it comes from there. A larger group needs it only when something is sent, so that parts can be
    planned and counted without other processes.

    Args:
        rank: number of this process.
        size: number of processes.
        group: the group of `torch.distributed`; None for the default one.

    `sent` counts the bytes of the rows that this process has sent so far, by purpose: "halo", "sums", "sweep"; of a CRF
    head "potentials", "messages" and "answers".
    """

    def __init__(self, rank: int = 0, size: int = 1, group: dist.ProcessGroup | None = None) -> None:
        if not 0 <= rank < size:
            raise InputError(f"Expected a rank from 0 to {size - 1}; got {rank}.")
        self.rank, self.size, self.group, self.alone = rank, size, group, size == 1
        self.sent: dict[str, int] = {}

    @classmethod
    def here(cls, group: dist.ProcessGroup | None = None) -> Group:
        """The group that this process belongs to; this process alone if `torch.distributed` is not initialised."""
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
        """The same as a new tensor; its gradient is the sum of the gradients of all processes.

        Args:
            tensor: the tensor to sum.
            what: the purpose in `sent`; None not to count the bytes.
        """
        if self.alone:
            return tensor
        found: Tensor = _Total.apply(tensor, self, what)  # type: ignore[no-untyped-call]  # torch has no types here
        return found

    def swap(self, rows: Tensor, given: Sequence[int], got: Sequence[int], what: str) -> Tensor:
        """Sends rows to every process and receives rows from every process.

        Args:
            rows: the rows to send, those for process 0 first.
            given: how many rows are sent to each process.
            got: how many rows are received from each process.
            what: the purpose in `sent`.

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
        """Runs the body in process 0 first, then in the others: process 0 writes files, which the others then read."""
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
                f"Expected all {self.size} processes to run until the end; process {self.rank} lost another one "
                f"({_reason(error)})."
            ) from error

    def _staged(self, rows: Tensor) -> Tensor:
        through_memory = rows.is_cuda and dist.get_backend(self.group) == "gloo"
        return rows.cpu() if through_memory else rows.contiguous()

    def count(self, sent: Tensor, what: str) -> None:
        """Adds the bytes of a tensor to `sent`."""
        self.sent[what] = self.sent.get(what, 0) + sent.numel() * sent.element_size()

    def __repr__(self) -> str:
        return f"Group(rank={self.rank}, size={self.size})"


def _reason(error: Exception) -> str:
    """The first sentence of an error message, without the place in the source code."""
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
