"""Entries that belong to rows: gathering rows and summing entries, each the gradient of the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from neuraltrees.nn import triton_kernels
from neuraltrees.nn.ensemble.scatter import sum_rows

BLOCK = 256  # channels per program


@dataclass(frozen=True, eq=False)
class Segments:
    """The entries sorted by row.

    Args:
        order: the entries in the order of their rows; None if they are sorted already.
        first: where the entries of each row begin.
        count: the number of entries of each row.

    Shapes: order :math:`(M)`, first and count :math:`(N)`
    """

    order: Tensor | None
    first: Tensor
    count: Tensor

    @classmethod
    def of(cls, index: Tensor, rows: int) -> Segments:
        """The segments of entries with these row numbers. Shapes: index :math:`(M)`"""
        count = index.bincount(minlength=rows)
        sorted_already = bool((index.diff() >= 0).all())
        return cls(None if sorted_already else index.argsort(stable=True), count.cumsum(0) - count, count)


@dataclass(frozen=True, eq=False)
class Incidence:
    """Which of N rows each of M entries belongs to.

    Args:
        index: the row of every entry.
        rows: the number of rows N.
        segments: the entries sorted by row. With them, a sum on a GPU is one deterministic kernel; without them,
            entries are added in any order.

    Shapes: index :math:`(M)`

    >>> edges_to = Incidence(torch.tensor([0, 2, 2]), 3)
    >>> edges_to.sum(torch.ones(3, 1)).flatten().tolist()
    [1.0, 0.0, 2.0]
    """

    index: Tensor
    rows: int
    segments: Segments | None = None

    def chosen(self, entries: Incidence) -> Incidence:
        """The row that each of some numbers of entries belongs to.

        >>> Incidence(torch.tensor([5, 5, 2]), 6).chosen(Incidence(torch.tensor([2, 0]), 3)).index.tolist()
        [2, 5]
        """
        return Incidence(self.index.index_select(0, entries.index), self.rows)

    def take(self, h: Tensor) -> Tensor:
        """Gathers the row of every entry. Shapes: :math:`(N, ...) → (M, ...)`"""
        if torch.compiler.is_compiling():
            return h.index_select(0, self.index)
        taken: Tensor = _Take.apply(h, self)  # type: ignore[no-untyped-call]  # torch has no types here
        return taken

    def sum(self, values: Tensor) -> Tensor:
        """The sum of the entries of every row. Shapes: :math:`(M, ...) → (N, ...)`"""
        if torch.compiler.is_compiling():
            return self.summed(values)
        total: Tensor = _Sum.apply(values, self)  # type: ignore[no-untyped-call]  # torch has no types here
        return total

    def summed(self, values: Tensor) -> Tensor:
        """The same without a custom gradient."""
        fits = values.is_cuda and values.dtype == torch.float32 and self.segments is not None
        if fits and not torch.compiler.is_compiling() and triton_kernels.available():
            assert self.segments is not None
            return segment_sum(values, self.segments, self.rows)
        return sum_rows(values, self.index, self.rows)


class _Take(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, to: Incidence) -> Tensor:
        ctx.to = to
        return h.index_select(0, to.index)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.to.summed(grad), None


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, to: Incidence) -> Tensor:
        ctx.to = to
        return to.summed(values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad.index_select(0, ctx.to.index), None


def segment_sum(values: Tensor, segments: Segments, rows: int) -> Tensor:
    """The sums by one Triton kernel. Shapes: values :math:`(M, ...)` → :math:`(N, ...)`"""
    from neuraltrees.nn.ensemble import segment_kernels as kernels

    channels = values.shape[1:].numel()
    flat = values.contiguous().view(values.shape[0], channels)
    out = flat.new_empty(rows, channels)
    if out.numel():
        block = min(BLOCK, 1 << (channels - 1).bit_length())
        order = segments.first if segments.order is None else segments.order
        kernels.sum_rows[rows, -(-channels // block)](
            flat,
            order,
            segments.first,
            segments.count,
            out,
            channels,
            ORDERED=segments.order is not None,
            BLOCK=block,
            num_warps=1,
        )
    return out.view(rows, *values.shape[1:])
