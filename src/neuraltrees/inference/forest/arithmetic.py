"""Products of tables; large ones in place or in memory that is fast to fill, unless a gradient is needed."""

from __future__ import annotations

import torch
from torch import Tensor

from neuraltrees.inference.tables import LARGE, room
from neuraltrees.products import StackProduct, multiply, suits_core


def matmul(left: Tensor, right: Tensor) -> Tensor:
    """The matrix products of two stacks; dimensions of size 1 are broadcast.

    Shapes: :math:`(B, G, S, U, K)` and :math:`(B, G, S, K, V)` → :math:`(B, G, S, U, V)`
    """
    (rows, inner), columns = left.shape[-2:], right.shape[-1]
    entries = max(left.numel() * columns, right.numel() * rows) // inner
    if entries < LARGE:
        return left @ right
    stack = tuple(map(max, left.shape[:-2], right.shape[:-2]))
    one = left.expand(*stack, rows, inner).reshape(-1, rows, inner)
    other = right.expand(*stack, inner, columns).reshape(-1, inner, columns)
    if not (left.requires_grad or right.requires_grad):
        out = room(entries, (len(one), rows, columns), left)
        if out is None:
            out = left.new_empty(len(one), rows, columns)
        multiply(one, other, out)
    elif suits_core(one, other):
        out = StackProduct.apply(one, other)  # type: ignore[no-untyped-call]  # torch has no types here
    else:
        return left @ right
    return out.view(*stack, rows, columns)


def times(table: Tensor, factor: Tensor, ours: bool = True) -> Tensor:
    """The product; in place if the table may be overwritten (`ours`) and has the shape of the product."""
    if table.numel() < LARGE or table.requires_grad or factor.requires_grad:
        return table * factor
    shape = tuple(map(max, table.shape, factor.shape))
    if ours and shape == table.shape:
        return table.mul_(factor)
    return torch.mul(table, factor, out=room(table.numel(), shape, table))


def over(table: Tensor, divisor: Tensor) -> Tensor:
    """The quotient, in place unless a gradient is needed."""
    return table / divisor if table.requires_grad or divisor.requires_grad else table.div_(divisor)


def corner(tables: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The first entries of the last axes, as many as `shape` says. Shapes: :math:`(*, D, …) → (*, *shape)`"""
    first = tables.dim() - len(shape)
    for axis, size in enumerate(shape):
        if tables.shape[first + axis] != size:
            tables = tables.narrow(first + axis, 0, size)
    return tables
