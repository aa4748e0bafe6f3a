"""GIN-ε (Xu, Hu, Leskovec and Jegelka 2019)."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from neuraltrees.nn.conv.convolution import Convolution, total
from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.ensemble.sparse import Coefficients, MakeMap, Map, ScatterMap, SparseMap
from neuraltrees.nn.schedule.messages import Links


class GIN(Convolution):
    r""":math:`h'_v = \mathrm{MLP}\big((1 + ε) h_v + \sum_{u ∈ N(v)} h_u\big)`, a two-layer MLP and a trained ε.

    The first layer of the MLP is linear, so it is applied before the sum. With more than one relation, it has weights
    of their own for neighbours of each.
    """

    def __init__(self, in_channels: int, out_channels: int, runs: int | None = None, relations: int = 1) -> None:
        super().__init__()
        self.lin1 = RunLinear(in_channels, out_channels, runs)
        others = range(relations) if relations > 1 else range(0)
        self.neighbours = nn.ModuleList(RunLinear(in_channels, out_channels, runs, bias=False) for _ in others)
        self.lin2 = RunLinear(out_channels, out_channels, runs)
        self.eps = nn.Parameter(torch.zeros(() if runs is None else (runs, 1)))

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.zeros_(self.eps)

    def bind(self, links: Links, make: MakeMap = ScatterMap, pool: Coefficients | None = None) -> list[Map]:
        kinds = range(len(self.neighbours)) if self.neighbours else [None]
        return [make(links.selves()), *(make(links.neighbours(relation=kind)) for kind in kinds)]

    def forward(self, h: Tensor | SparseMap, bound: list[Map]) -> Tensor:
        z, (own, *sums) = self.lin1.multiply(h), bound
        others = [cast(RunLinear, lin).multiply(h) for lin in self.neighbours] or [z]
        messages = total(map(other) for map, other in zip(sums, others, strict=True))
        hidden = self.lin1.shift((1 + self.eps) * own(z) + messages)
        return self.lin2(hidden.relu())  # type: ignore[no-any-return]
