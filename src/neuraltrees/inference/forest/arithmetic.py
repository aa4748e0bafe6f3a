"""Products of tables; of large ones in place or in memory that is quick to fill, unless a gradient is wanted."""

from __future__ import annotations

import torch
from torch import Tensor

from neuraltrees.inference.tables import LARGE, room


def matmul(left: Tensor, right: Tensor) -> Tensor:
    """The matrix products of two stacks, either of which may be one for all.

    Shapes: :math:`(B, G, S, U, K)` and :math:`(B, G, S, K, V)` → :math:`(B, G, S, U, V)`
    """
    (rows, inner), columns = left.shape[-2:], right.shape[-1]
    entries = max(left.numel() * columns, right.numel() * rows) // inner
    if entries < LARGE or left.requires_grad or right.requires_grad:
        return left @ right
    stack = tuple(map(max, left.shape[:-2], right.shape[:-2]))
    left = left.expand(*stack, rows, inner).reshape(-1, rows, inner)
    right = right.expand(*stack, inner, columns).reshape(-1, inner, columns)
    out = room(entries, (len(left), rows, columns), left)
    return torch.bmm(left, right, out=out).view(*stack, rows, columns)


def times(table: Tensor, factor: Tensor, ours: bool = True) -> Tensor:
    """The product, in the place of the table if that is ours to overwrite, and as large."""
    if table.numel() < LARGE or table.requires_grad or factor.requires_grad:
        return table * factor
    shape = tuple(map(max, table.shape, factor.shape))
    if ours and shape == table.shape:
        return table.mul_(factor)
    return torch.mul(table, factor, out=room(table.numel(), shape, table))


def over(table: Tensor, divisor: Tensor) -> Tensor:
    """The quotient, in the place of the table."""
    return table / divisor if table.requires_grad or divisor.requires_grad else table.div_(divisor)
