"""GCN (Kipf and Welling 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuraltrees.nn.convolution import Convolution, Edges
from neuraltrees.nn.linear import RunLinear


class GCN(Convolution):
    r""":math:`h'_v = b + \sum_{u ∈ N(v) ∪ \{v\}} h_u W / \sqrt{d_u d_v}`, where :math:`d_v = |N(v)| + 1`."""

    def __init__(self, in_channels: int, out_channels: int, runs: int | None = None) -> None:
        super().__init__()
        self.lin = RunLinear(in_channels, out_channels, runs, bias=False, glorot=True)
        self.bias = nn.Parameter(torch.zeros(*self.lin.weight.shape[:-2], out_channels))

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()
        nn.init.zeros_(self.bias)

    def transform(self, h: Tensor) -> Tensor:
        return self.lin(h)  # type: ignore[no-any-return]

    def propagate(self, z: Tensor, edges: Edges) -> Tensor:
        scale = (edges.degree(z) + 1).rsqrt().view(-1, *[1] * (z.dim() - 1))
        scaled = z * scale
        return (edges.sum(scaled) + scaled) * scale + self.bias
