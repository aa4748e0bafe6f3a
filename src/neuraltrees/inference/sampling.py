"""Assignments from the roots down: states of the residual of every clique, given those of its separator."""

from __future__ import annotations

import torch
from torch import Tensor

from neuraltrees.inference.plan import Clique, Plan


def trace(plan: Plan, tables: list[Tensor], evidence: dict[int, int], num_variables: int, like: Tensor) -> Tensor:
    """The assignment of the largest entries.

    Shapes: tables :math:`(R, S, B)`, like :math:`(B)` → :math:`(B, n)`
    """
    states = _observed(evidence, (len(like), num_variables), like)
    entry = torch.arange(len(like), device=like.device)
    for clique, table in zip(plan.cliques, tables, strict=True):
        rows = table[:, _column(clique, states), entry].argmax(0)
        _assign(clique, rows, states)
    return states


def draw(
    plan: Plan,
    conditionals: list[Tensor],
    evidence: dict[int, int],
    num_variables: int,
    like: Tensor,
    count: int,
    generator: torch.Generator | None,
) -> Tensor:
    """Samples: the row of each clique is where the cumulative sum of its column first exceeds a uniform random share.

    Shapes: conditionals :math:`(R, S, B)`, like :math:`(B)` → :math:`(count, B, n)`
    """
    batch = len(like)
    states = _observed(evidence, (count, batch, num_variables), like)
    entry = torch.arange(batch, device=like.device)
    for clique, table in zip(plan.cliques, conditionals, strict=True):
        if clique.rows == 1:
            continue
        sums = table.to(torch.float64).cumsum(0)
        column = _column(clique, states)
        uniform = torch.rand(count, batch, dtype=torch.float64, device=states.device, generator=generator)
        target = uniform * sums[-1, column, entry]
        low, high = torch.zeros_like(column), torch.full_like(column, clique.rows - 1)
        for _ in range((clique.rows - 1).bit_length()):
            middle = (low + high) // 2
            beyond = sums[middle, column, entry] > target
            high = torch.where(beyond, middle, high)
            low = torch.where(beyond, low, middle + 1)
        _assign(clique, high, states)
    return states


def _observed(evidence: dict[int, int], shape: tuple[int, ...], like: Tensor) -> Tensor:
    states = torch.zeros(shape, dtype=torch.int64, device=like.device)
    for variable, state in evidence.items():
        states[..., variable] = state
    return states


def _column(clique: Clique, states: Tensor) -> Tensor:
    column = torch.zeros(states.shape[:-1], dtype=torch.int64, device=states.device)
    for variable, size in zip(clique.separator, clique.separator_shape, strict=True):
        column = column * size + states[..., variable]
    return column


def _assign(clique: Clique, rows: Tensor, states: Tensor) -> None:
    for variable, size in zip(reversed(clique.residual), reversed(clique.residual_shape), strict=True):
        states[..., variable] = rows % size
        rows = rows // size
