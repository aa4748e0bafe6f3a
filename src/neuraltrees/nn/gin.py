"""GIN-ε (Xu, Hu, Leskovec and Jegelka 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuraltrees.nn.convolution import Convolution, Edges
from neuraltrees.nn.linear import RunLinear


class GIN(Convolution):
    r""":math:`h'_v = \mathrm{MLP}\big((1 + ε) h_v + \sum_{u ∈ N(v)} h_u\big)`, a two-layer MLP and a trained ε.

    The first layer of the MLP is linear, so it is applied before the sum.
    """

    def __init__(self, in_channels: int, out_channels: int, runs: int | None = None) -> None:
        super().__init__()
        self.lin1 = RunLinear(in_channels, out_channels, runs)
        self.lin2 = RunLinear(out_channels, out_channels, runs)
        self.eps = nn.Parameter(torch.zeros(() if runs is None else (runs, 1)))

    def reset_parameters(self) -> None:
        self.lin1.reset_parameters()
        self.lin2.reset_parameters()
        nn.init.zeros_(self.eps)

    def transform(self, h: Tensor) -> Tensor:
        return self.lin1.multiply(h)

    def propagate(self, z: Tensor, edges: Edges) -> Tensor:
        hidden = self.lin1.shift((1 + self.eps) * z + edges.sum(z))
        return self.lin2(hidden.relu())  # type: ignore[no-any-return]
