"""The two passes of the junction-tree algorithm: collect to the roots, distribute from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from neuraltrees.inference.plan import Clique, Plan, Term

Progress: TypeAlias = Callable[[int], object]
Reduce: TypeAlias = Callable[[Tensor], tuple[Tensor, Tensor]]


def collect(
    plan: Plan, potentials: Sequence[Tensor], batch: int, reduce: Reduce, progress: Progress | None = None
) -> tuple[list[Tensor], Tensor]:
    r"""From the leaves to the roots: what `reduce` makes of every clique's table, and the sum of the roots' messages.

    A clique's table is the sum of its potentials and of its children's messages; `reduce` takes it as a matrix of residual
    and separator states and returns what to keep of it and the message, which has separator states alone.

    Shapes: potentials :math:`(d_{c_0}, \dots, B)`, tables :math:`(R, S, B)`
    """
    like = potentials[0] if potentials else torch.zeros(())
    kept: list[Tensor] = [like] * len(plan.cliques)
    messages: list[Tensor | None] = [None] * len(plan.cliques)
    total = like.new_zeros(batch)
    for k in plan.constants:
        total = total + potentials[k]
    for c in range(len(plan.cliques) - 1, -1, -1):
        clique = plan.cliques[c]
        table = _table(clique, potentials, messages, batch, like).view(clique.rows, clique.columns, batch)
        kept[c], message = reduce(table)
        if clique.parent < 0:
            total = total + message[0]
        else:
            messages[c] = message.view(*clique.separator_shape, batch)
        if progress is not None:
            progress(clique.entries)
    return kept, total


def _table(
    clique: Clique, potentials: Sequence[Tensor], messages: list[Tensor | None], batch: int, like: Tensor
) -> Tensor:
    """A table of its own for the clique: its terms added up."""
    added = []
    for term in clique.terms:
        if term.kind == "part":
            part = clique.parts[term.source]
            inside = [_placed(potentials[each.source], each, batch) for each in part.terms]
            added.append(_sum(inside, (*part.shape, batch), like).view(*term.shape, batch))
        else:
            added.append(_placed(potentials[term.source], term, batch))
    for child, term in clique.children:
        message = messages[child]
        messages[child] = None
        if message is not None:
            added.append(_placed(message, term, batch))
    return _sum(added, (*clique.shape, batch), like)


def _placed(table: Tensor, term: Term, batch: int) -> Tensor:
    if term.order is not None:
        table = table.permute(*term.order, len(term.order))
    return table.reshape(*term.shape, batch)


def _sum(added: list[Tensor], shape: tuple[int, ...], like: Tensor) -> Tensor:
    if not added:
        return like.new_zeros(shape)
    if len(added) == 1:
        return added[0].expand(shape).clone(memory_format=torch.contiguous_format)
    total = torch.add(added[0].expand(shape), added[1]).contiguous()
    for table in added[2:]:
        total = total + table if total.requires_grad or table.requires_grad else total.add_(table)
    return total


def condition(table: Tensor) -> tuple[Tensor, Tensor]:
    r"""A table of log-potentials → the residual's distribution given the separator, and the message.

    .. math:: m(s) = \log \sum_r e^{\theta(r, s)}, \qquad p(r \mid s) = e^{\theta(r, s) - m(s)}

    The largest entry of every column is taken out before the exponential, so that neither large nor small numbers are lost;
    a column of -inf has the message -inf and, as its distribution, zeros.

    Shapes: table :math:`(R, S, B)` → :math:`(R, S, B)` and :math:`(S, B)`
    """
    lowest = torch.finfo(table.dtype).min
    if table.requires_grad:
        message: Tensor = LogSumExp.apply(table)
        return (table - message.clamp_min(lowest)).exp(), message
    if table.shape[0] == 1:
        message = table[0].clone()
        return table.sub_(message.clamp_min(lowest)).exp_(), message
    top = table.amax(0).clamp_min_(lowest)
    sums = table.sub_(top).exp_().sum(0)
    return table.div_(sums.clamp_min(1.0)), sums.log().add_(top)


def maximise(table: Tensor) -> tuple[Tensor, Tensor]:
    r"""The table as it is, and the message :math:`\max_r \theta(r, s)`."""
    return table, table.amax(0)


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


def distribute(plan: Plan, conditionals: list[Tensor], batch: int, progress: Progress | None = None) -> list[Tensor]:
    r"""From the roots to the leaves: :math:`p(r, s) = p(r \mid s)\, p(s)` for every clique, in the place of `conditionals`.

    Shapes: conditionals :math:`(R, S, B)` → probabilities :math:`(d_{c_0}, \dots, B)`
    """
    for c, clique in enumerate(plan.cliques):
        table = conditionals[c].view(*clique.shape, batch)
        if clique.parent >= 0:
            above = conditionals[clique.parent]
            term = next(term for child, term in plan.cliques[clique.parent].children if child == c)
            separator = take(above, term)
            table = table * separator if table.requires_grad or separator.requires_grad else table.mul_(separator)
        conditionals[c] = table
        if progress is not None:
            progress(clique.entries)
    return conditionals


def take(table: Tensor, term: Term) -> Tensor:
    """The sum of a table over the axes that a term does not have; the others in the order that the term's source has."""
    if term.missing:
        table = table.sum(term.missing)
    if term.order is None:
        return table
    back = sorted(range(len(term.order)), key=lambda i: term.order[i])  # type: ignore[index]
    return table.permute(*back, len(back))
