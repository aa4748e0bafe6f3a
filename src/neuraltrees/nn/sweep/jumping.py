r"""Sweeps by pointer jumping: plain torch operations, for any device and for trees that are too large for one program.

Let A be the map that sends every node's sum to its parent, times the edge's factor. The first pass is
:math:`(I - A)^{-1} = (I + A)(I + A^2)(I + A^4) \cdots` and the second its transpose. :math:`A^{2^k}` sends a sum to the
ancestor :math:`2^k` edges above, so the number of steps is the number of binary digits of the depth.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from neuraltrees.nn.sweep.plan import SweepPlan


def passes(values: Tensor, factors: Tensor, plan: SweepPlan, keep: bool = True) -> tuple[Tensor | None, Tensor]:
    sums = values
    for jump in _jumps(factors, plan):
        sums = sums.index_add(0, jump.target, torch.where(jump.exists, jump.weight * sums, 0))
    out = torch.where(_Jump.first(factors, plan).exists, sums - factors * factors * sums, sums)
    for jump in _jumps(factors, plan):
        out = out + torch.where(jump.exists, jump.weight * out.index_select(0, jump.target), 0)
    return sums if keep else None, out


def gradients(
    grad: Tensor, factors: Tensor, sums: Tensor | None, out: Tensor | None, plan: SweepPlan
) -> tuple[Tensor, Tensor | None]:
    up, down = passes(grad, factors, plan)
    if sums is None or out is None or up is None:
        return down, None
    edge = _Jump.first(factors, plan)
    beyond_grad = down.index_select(0, edge.target) - factors * up
    beyond = out.index_select(0, edge.target) - factors * sums
    of_factors = torch.where(edge.exists, sums * beyond_grad + up * beyond, 0)
    return down, of_factors.sum(0, keepdim=True) if len(factors) == 1 else of_factors


class _Jump(NamedTuple):
    """For every node, the ancestor at a fixed number of edges above it, or the node itself if there is none, and the
    product of the factors on the way: one row per node, or one row for all.

    Shapes: target :math:`(N)`, exists :math:`(N, 1)`, weight :math:`(N, K)` or :math:`(1, K)`
    """

    target: Tensor
    exists: Tensor
    weight: Tensor

    @classmethod
    def first(cls, factors: Tensor, plan: SweepPlan) -> _Jump:
        above = plan.above
        own = torch.arange(len(above), device=above.device)
        return cls(torch.where(above < 0, own, above), (above >= 0).unsqueeze(1), factors)

    def doubled(self) -> _Jump:
        target, exists, weight = self
        further = exists & exists.index_select(0, target)
        own = torch.arange(len(target), device=target.device)
        return _Jump(
            torch.where(further.squeeze(1), target.index_select(0, target), own),
            further,
            weight * (weight if len(weight) == 1 else weight.index_select(0, target)),
        )


def _jumps(factors: Tensor, plan: SweepPlan) -> Iterator[_Jump]:
    """Jumps over 1, 2, 4, … edges."""
    jump = _Jump.first(factors, plan)
    for step in range(plan.depth.bit_length()):
        jump = jump.doubled() if step else jump
        yield jump
