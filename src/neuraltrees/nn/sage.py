"""GraphSAGE with the mean aggregator (Hamilton, Ying and Leskovec 2017)."""

from __future__ import annotations

import torch
from torch import Tensor

from neuraltrees.nn.convolution import Convolution, Edges
from neuraltrees.nn.linear import RunLinear


class SAGE(Convolution):
    r""":math:`h'_v = \mathrm{mean}_{u ∈ N(v)} h_u\, W_l + h_v W_r + b`."""

    def __init__(self, in_channels: int, out_channels: int, runs: int | None = None) -> None:
        super().__init__()
        self.lin_l = RunLinear(in_channels, out_channels, runs)
        self.lin_r = RunLinear(in_channels, out_channels, runs, bias=False)
        self.out_channels = out_channels

    def reset_parameters(self) -> None:
        self.lin_l.reset_parameters()
        self.lin_r.reset_parameters()

    def transform(self, h: Tensor) -> Tensor:
        return torch.cat([self.lin_l.multiply(h), self.lin_r(h)], dim=-1)

    def propagate(self, z: Tensor, edges: Edges) -> Tensor:
        neighbours, own = z[..., : self.out_channels], z[..., self.out_channels :]
        return self.lin_l.shift(edges.mean(neighbours) + own)
