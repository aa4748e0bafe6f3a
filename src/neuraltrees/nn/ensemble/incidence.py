"""Rows that belong to rows: reading them and summing them, each the gradient of the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Incidence:
    """Which of N rows each of M entries belongs to.

    Args:
        index: the row of every entry.
        rows: N.

    Shapes: index :math:`(M)`

    >>> edges_to = Incidence(torch.tensor([0, 2, 2]), 3)
    >>> edges_to.sum(torch.ones(3, 1)).flatten().tolist()
    [1.0, 0.0, 2.0]
    """

    index: Tensor
    rows: int

    def take(self, h: Tensor) -> Tensor:
        """The row of every entry. Shapes: :math:`(N, ...) → (M, ...)`"""
        if torch.compiler.is_compiling():
            return h.index_select(0, self.index)
        taken: Tensor = _Take.apply(h, self.index, self.rows)  # type: ignore[no-untyped-call]
        return taken

    def sum(self, values: Tensor) -> Tensor:
        """The sum of the entries of every row. Shapes: :math:`(M, ...) → (N, ...)`"""
        if torch.compiler.is_compiling():
            return summed(values, self.index, self.rows)
        total: Tensor = _Sum.apply(values, self.index, self.rows)  # type: ignore[no-untyped-call]
        return total


class _Take(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, index: Tensor, rows: int) -> Tensor:
        ctx.index, ctx.rows = index, rows
        return h.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return summed(grad, ctx.index, ctx.rows), None, None


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Tensor, rows: int) -> Tensor:
        ctx.index = index
        return summed(values, index, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return grad.index_select(0, ctx.index), None, None


def summed(values: Tensor, index: Tensor, rows: int) -> Tensor:
    """Shapes: values :math:`(M, ...)`, index :math:`(M)` → :math:`(N, ...)`"""
    return values.new_zeros(rows, *values.shape[1:]).index_add(0, index, values)
