"""The two passes of the junction-tree algorithm: collect to the roots, distribute from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from neuraltrees.inference.plan import Kind, Plan, Sum, Term

Progress: TypeAlias = Callable[[int], object]
Reduce: TypeAlias = Callable[[Tensor], tuple[Tensor, Tensor]]


def collect(
    plan: Plan, potentials: Sequence[Tensor], like: Tensor, reduce: Reduce, progress: Progress | None = None
) -> tuple[list[Tensor], Tensor]:
    r"""From the leaves to the roots: what `reduce` keeps of every clique's table, and the sum of the roots' messages.

    A clique's table is the sum of its potentials and its children's messages; `reduce` takes it as a matrix of residual
    and separator states and returns what to keep of it, and the message, which has separator states alone.

    Shapes: potentials :math:`(d_{c_0}, \dots, B)`, like :math:`(B)`, tables :math:`(R, S, B)`
    """
    batch = len(like)
    kept: list[Tensor] = [like] * len(plan.cliques)
    messages: dict[int, Tensor] = {}
    total = torch.zeros_like(like)
    for k in plan.constants:
        total = total + potentials[k]
    for c in range(len(plan.cliques) - 1, -1, -1):
        clique = plan.cliques[c]
        table = add_up(clique.table, potentials, messages, like)
        kept[c], message = reduce(table.view(clique.rows, clique.columns, batch))
        if clique.parent < 0:
            total = total + message[0]
        else:
            messages[c] = message.view(*clique.separator_shape, batch)
        if progress is not None:
            progress(clique.entries)
    return kept, total


def add_up(table: Sum, potentials: Sequence[Tensor], messages: dict[int, Tensor], like: Tensor) -> Tensor:
    """A new table, the sum of its terms; messages are used up."""
    shape = (*table.shape, len(like))
    total: Tensor | None = None
    first: Tensor | None = None
    for term in table.terms:
        if term.kind == "potential":
            source = potentials[term.number]
        elif term.part is not None:
            source = add_up(term.part, potentials, messages, like)
        else:
            source = messages.pop(term.number)
        if term.order is not None:
            source = source.permute(term.order).contiguous()
        added = source.view(*term.shape, len(like))
        if total is not None:
            total = total + added if total.requires_grad or added.requires_grad else total.add_(added)
        elif first is None:
            first = added
        elif first.requires_grad or added.requires_grad:
            total = torch.add(first.expand(shape), added)
        else:
            total = torch.add(first, added, out=like.new_empty(shape)) if _covers(first, added, shape) else None
            if total is None:
                total = like.new_empty(shape).copy_(first).add_(added)
    if total is not None:
        return total.contiguous()
    if first is not None:
        return first.expand(shape).clone(memory_format=torch.contiguous_format)
    return like.new_zeros(shape)


def _covers(first: Tensor, second: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether two tables have all axes between them."""
    return all(n in (a, b) for a, b, n in zip(first.shape, second.shape, shape, strict=True))


def condition(table: Tensor) -> tuple[Tensor, Tensor]:
    r"""A table of log-potentials → the residual's distribution given the separator, and the message.

    .. math:: m(s) = \log \sum_r e^{\theta(r, s)}, \qquad p(r \mid s) = e^{\theta(r, s) - m(s)}

    The largest entry of every column is taken out before the exponential, so that numbers of any size keep their
    digits; a column of -inf has the message -inf and zeros for its distribution.

    Shapes: table :math:`(R, S, B)`, which is overwritten → :math:`(R, S, B)` and :math:`(S, B)`
    """
    lowest = torch.finfo(table.dtype).min
    if table.requires_grad:
        message: Tensor = LogSumExp.apply(table)  # type: ignore[no-untyped-call]
        return (table - message.clamp_min(lowest)).exp(), message
    top = table.amax(0).clamp_min_(lowest)
    sums = table.sub_(top).exp_().sum(0)
    return table.div_(sums.clamp_min(1.0)), sums.log_().add_(top)


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


def distribute(plan: Plan, conditionals: list[Tensor], progress: Progress | None = None) -> list[Tensor]:
    r"""From the roots to the leaves: :math:`p(r, s) = p(r \mid s)\, p(s)` for every clique.

    Shapes: conditionals :math:`(R, S, B)`, which are overwritten → the same
    """
    above: dict[int, Tensor] = {}
    for c, clique in enumerate(plan.cliques):
        table = conditionals[c]
        if clique.parent >= 0:
            separator = above.pop(c).reshape(clique.columns, table.shape[-1])
            table = table * separator if table.requires_grad or separator.requires_grad else table.mul_(separator)
            conditionals[c] = table
        if "message" in clique.table.kinds:
            above.update(spread(clique.table, table.view(*clique.table.shape, table.shape[-1]), "message"))
        if progress is not None:
            progress(clique.entries)
    return conditionals


def spread(table: Sum, probabilities: Tensor, kind: Kind) -> Iterator[tuple[int, Tensor]]:
    """The marginals of all terms of a kind, with their numbers."""
    for term in table.terms:
        if term.part is not None and kind in term.part.kinds:
            yield from spread(term.part, take(probabilities, term), kind)
        elif term.kind == kind:
            yield term.number, take(probabilities, term)


def take(table: Tensor, term: Term) -> Tensor:
    """The sum of a table over the axes that a term has not; the others in the order of the term's source."""
    if term.missing:
        table = table.sum(term.missing)
    return table if term.back is None else table.permute(term.back)
