"""The two passes of the junction-tree algorithm: collect to the roots, distribute from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from neuraltrees.inference.plan import Plan
from neuraltrees.inference.tables import LogSumExp, add_up, room, spread, sum_out

Progress: TypeAlias = Callable[[int], object]


class Reduced(NamedTuple):
    """What is kept of a clique's table; the sums of its columns, if it is not divided by them yet; and the message.

    Shapes: table :math:`(R, S, B)`, sums and message :math:`(S, B)`
    """

    table: Tensor
    sums: Tensor | None
    message: Tensor


def collect(
    plan: Plan,
    potentials: Sequence[Tensor],
    like: Tensor,
    reduce: Callable[[Tensor], Reduced],
    progress: Progress | None = None,
) -> tuple[list[Reduced], Tensor]:
    r"""The pass from the leaves to the roots: `reduce` of every clique's table, and the sum of the roots' messages.

    A clique's table is the sum of its potentials and its children's messages; `reduce` takes it as a matrix of residual
    and separator states.

    Shapes: potentials :math:`(d_{c_0}, \dots, B)`, like :math:`(B)` → tables :math:`(R, S, B)`, and :math:`(B)`
    """
    batch = len(like)
    reduced: list[Reduced] = []
    messages: dict[int, Tensor] = {}
    total = torch.zeros_like(like)
    for k in plan.constants:
        total = total + potentials[k]
    for c in range(len(plan.cliques) - 1, -1, -1):
        clique = plan.cliques[c]
        table = add_up(clique.table, potentials, messages, like, batch)
        found = reduce(table.view(clique.rows, clique.columns, batch))
        if clique.parent < 0:
            total = total + found.message[0]
        else:
            messages[c] = found.message.view(*clique.separator_shape, batch)
        reduced.append(found._replace(message=like))
        if progress is not None:
            progress(clique.entries)
    return reduced[::-1], total


def condition(table: Tensor) -> Reduced:
    r"""A table of log-potentials → the residual's distribution given the separator, and the message.

    .. math:: m(s) = \log \sum_r e^{\theta(r, s)}, \qquad p(r \mid s) = e^{\theta(r, s) - m(s)}

    The largest entry of every column is subtracted before the exponential, so that there is no overflow; a column of
    -inf has the message -inf and a distribution of zeros.

    Shapes: table :math:`(R, S, B)`, which is overwritten
    """
    lowest = torch.finfo(table.dtype).min
    if table.requires_grad:
        message: Tensor = LogSumExp.apply(table)  # type: ignore[no-untyped-call]  # torch has no types here
        return Reduced((table - message.clamp_min(lowest)).exp(), None, message)
    shape = (table.shape[1], table.shape[2])
    new = partial(room, table.numel(), shape, table)
    top = torch.amax(table, 0, out=new()).clamp_min_(lowest)
    sums = torch.sum(table.sub_(top).exp_(), 0, out=new())
    # The largest entry contributes 1 to a sum; a sum below 1 belongs to a column of -inf, whose message becomes -inf.
    message = torch.log(sums.clamp_min_(1.0), out=new()).add_(top)
    return Reduced(table, sums, torch.threshold_(message, lowest, -torch.inf))


def sum_out_residual(table: Tensor) -> Reduced:
    """The message of `condition`, without the table."""
    message = condition(table).message
    return Reduced(message, None, message)


def maximise(table: Tensor) -> Reduced:
    r"""The table itself, and the message :math:`\max_r \theta(r, s)`."""
    return Reduced(table, None, table.amax(0))


def distribute(
    plan: Plan, reduced: list[Reduced], progress: Progress | None = None
) -> tuple[list[Tensor], dict[int, Tensor]]:
    r"""The pass from the roots to the leaves: :math:`p(r, s) = p(r \mid s)\, p(s)` of every clique, and all marginals.

    Shapes: → tables :math:`(R, S, B)` in the place of those given, marginal v :math:`(d_v, B)`
    """
    tables: list[Tensor] = []
    marginals: dict[int, Tensor] = {}
    above: dict[int, Tensor] = {}
    batch = len(reduced[0].message) if reduced else 0
    for c, clique in enumerate(plan.cliques):
        table, sums, like = reduced[c]
        reduced[c] = Reduced(like, None, like)
        if clique.parent >= 0:
            separator = above.pop(c)
            _marginals(clique.separator, separator, clique.from_columns, marginals)
            weight = separator.reshape(clique.columns, batch)
            weight = weight if sums is None else sums.reciprocal_().mul_(weight)
            table = table * weight if table.requires_grad or weight.requires_grad else table.mul_(weight)
        elif sums is not None:
            table = table.div_(sums)
        whole = table.view(*clique.table.shape, batch)
        if "message" in clique.table.kinds:
            above.update(spread(clique.table, whole, "message"))
        if clique.from_rows:
            rows = sum_out(table, (1,)) if clique.columns > 1 else table.squeeze(1)
            rows = rows.view(*clique.residual_shape, batch)
            _marginals(clique.residual, rows, clique.from_rows, marginals)
        tables.append(table)
        if progress is not None:
            progress(clique.entries)
    return tables, marginals


def _marginals(variables: tuple[int, ...], table: Tensor, axes: tuple[int, ...], marginals: dict[int, Tensor]) -> None:
    """The distributions of some variables of a table, each by summing out the others."""
    for axis in axes:
        others = tuple(other for other in range(len(variables)) if other != axis)
        marginals[variables[axis]] = sum_out(table, others)
