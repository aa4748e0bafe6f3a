"""GAT (Veličković et al. 2018)."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from neuraltrees.nn.convolution import Convolution, Edges
from neuraltrees.nn.linear import RunLinear


class GAT(Convolution):
    r"""Multi-head attention over the neighbours and the node itself.

    :math:`h'_v = b + \big\Vert_k \sum_u α^k_{uv} h_u W^k` with
    :math:`α^k_{uv} = \mathrm{softmax}_u\, \mathrm{LeakyReLU}(a^k_s · h_u W^k + a^k_t · h_v W^k)`; the heads are
    concatenated, or averaged if `concat` is false.

    Args:
        in_channels: size of the states.
        out_channels: size of the result of one head.
        runs: number of independent runs.
        heads: number of heads.
        concat: whether the heads are concatenated.
        dropout: share of the attention weights dropped in training.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        runs: int | None = None,
        heads: int = 1,
        concat: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        lead = () if runs is None else (runs,)
        self.heads, self.out_channels, self.concat, self.dropout = heads, out_channels, concat, dropout
        self.lin = RunLinear(in_channels, heads * out_channels, runs, bias=False, glorot=True)
        self.att_source = nn.Parameter(torch.empty(*lead, heads, out_channels))
        self.att_target = nn.Parameter(torch.empty(*lead, heads, out_channels))
        self.bias = nn.Parameter(torch.empty(*lead, heads * out_channels if concat else out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()
        bound = math.sqrt(6 / (self.heads + self.out_channels))
        nn.init.uniform_(self.att_source, -bound, bound)
        nn.init.uniform_(self.att_target, -bound, bound)
        nn.init.zeros_(self.bias)

    def transform(self, h: Tensor) -> Tensor:
        return self.lin(h)  # type: ignore[no-any-return]

    def propagate(self, z: Tensor, edges: Edges) -> Tensor:
        z = z.view(*z.shape[:-1], self.heads, self.out_channels)
        source, target = (z * self.att_source).sum(-1), (z * self.att_target).sum(-1)
        logit = F.leaky_relu(source[edges.source] + target[edges.target], 0.2)
        own = F.leaky_relu(source + target, 0.2)
        # Every node attends to itself as well, so its own logit is a start for the maximum of each softmax.
        where = edges.target.view(-1, *[1] * (logit.dim() - 1)).expand_as(logit)
        peak = own.detach().scatter_reduce(0, where, logit.detach(), "amax")
        weight, own = (logit - peak[edges.target]).exp(), (own - peak).exp()
        total = own.index_add(0, edges.target, weight)
        weight = F.dropout(weight / total[edges.target], self.dropout, self.training)
        own = F.dropout(own / total, self.dropout, self.training)
        out = edges.sum(z, weight) + own.unsqueeze(-1) * z
        return (out.flatten(-2) if self.concat else out.mean(-2)) + self.bias
