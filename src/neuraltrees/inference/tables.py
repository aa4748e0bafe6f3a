"""Operations on tables of log-potentials and of probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from neuraltrees.inference.sums import Kind, Sum, Term

# For fewer entries an allocation costs little.
LARGE = 2**14
_NUMPY = {torch.float32: np.float32, torch.float64: np.float64}


def room(entries: int, shape: tuple[int, ...], like: Tensor) -> Tensor | None:
    """Memory for a large table; None if torch should allocate it.

    NumPy asks the system for huge pages, which makes filling a large table several times faster.
    """
    if entries < LARGE or not like.is_cpu:
        return None
    return torch.from_numpy(np.empty(shape, dtype=_NUMPY[like.dtype]))


def add_up(table: Sum, potentials: Sequence[Tensor], messages: dict[int, Tensor], like: Tensor, batch: int) -> Tensor:
    """A new table, the sum of its terms; messages are removed from the dictionary.

    Shapes: potentials and messages :math:`(d_{c_0}, \\dots, B)` → :math:`(*shape, B)`
    """
    shape = (*table.shape, batch)
    total: Tensor | None = None
    first: Tensor | None = None
    for term in table.terms:
        if term.kind == "potential":
            source = potentials[term.number]
        elif term.part is not None:
            source = add_up(term.part, potentials, messages, like, batch)
        else:
            source = messages.pop(term.number)
        if term.order is not None:
            source = compact(source.permute(term.order))
        added = source.view(*term.shape, batch)
        if first is None:
            first = added
        elif first.requires_grad or added.requires_grad:
            first = total = torch.add(first.expand(shape), added)
        elif total is None:
            first = total = torch.add(first.expand(shape), added, out=room(table.size * batch, shape, like))
        else:
            total.add_(added)
    if total is not None:
        return total.contiguous()
    if first is None:
        return like.new_zeros(shape)
    return compact(first.expand(shape), always=True)


def compact(table: Tensor, always: bool = False) -> Tensor:
    """The table in contiguous memory; a copy if it is not contiguous, or `always`."""
    if table.requires_grad or (not always and table.is_contiguous()):
        return table.contiguous()
    new = room(table.numel(), tuple(table.shape), table)
    return table.clone(memory_format=torch.contiguous_format) if new is None else new.copy_(table)


def spread(table: Sum, probabilities: Tensor, kind: Kind) -> Iterator[tuple[int, Tensor]]:
    """The marginals of all terms of one kind, with their numbers."""
    for term in table.terms:
        if term.part is not None and kind in term.part.kinds:
            yield from spread(term.part, take(probabilities, term), kind)
        elif term.kind == kind:
            yield term.number, take(probabilities, term)


def take(table: Tensor, term: Term) -> Tensor:
    """The sum of a table over the axes that a term does not have, with the others in the order of the term's source."""
    table = sum_out(table, term.missing)
    return table if term.back is None else compact(table.permute(term.back))


def sum_out(table: Tensor, axes: tuple[int, ...]) -> Tensor:
    if not axes:
        return table
    if table.requires_grad or table.numel() < LARGE:
        return table.sum(axes)
    shape = tuple(n for axis, n in enumerate(table.shape) if axis not in axes)
    return torch.sum(table, axes, out=room(table.numel(), shape, table))


class LogSumExp(torch.autograd.Function):
    """Log-sum-exp over the first axis whose gradient is zero, not nan, in a column of -inf."""

    @staticmethod
    def forward(ctx: Any, table: Tensor) -> Tensor:
        out = torch.logsumexp(table, 0)
        ctx.save_for_backward(table, out)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        table, out = ctx.saved_tensors
        share: Tensor = (table - out.clamp_min(torch.finfo(table.dtype).min)).exp()
        return gradients[0] * share
