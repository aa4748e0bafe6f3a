"""GAT (Veličković et al. 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from neuraltrees.nn.convolution import Convolution
from neuraltrees.nn.dropout import Dropout
from neuraltrees.nn.linear import RunLinear, product
from neuraltrees.nn.links import Links
from neuraltrees.nn.maps import Coefficients, MakeMap, Map, ScatterMap, SparseMap


class GAT(Convolution):
    r"""Multi-head attention over the neighbours and the node itself.

    :math:`h'_v = b + \big\Vert_k \sum_u α^k_{uv} h_u W^k` with
    :math:`α^k_{uv} = \mathrm{softmax}_u\, \mathrm{LeakyReLU}(a^k_s · h_u W^k + a^k_t · h_v W^k)`; the heads are
    concatenated, or averaged if `concat` is false. With more than one relation, neighbours of each have a :math:`W`
    and an :math:`a_s` of their own.

    Args:
        in_channels: size of the states.
        out_channels: size of the result of one head.
        runs: number of independent runs.
        relations: number of edge types that differ.
        heads: number of heads.
        concat: whether the heads are concatenated.
        dropout: share of the attention weights dropped in training.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        runs: int | None = None,
        relations: int = 1,
        heads: int = 1,
        concat: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        lead = () if runs is None else (runs,)
        self.heads, self.out_channels, self.concat = heads, out_channels, concat
        count = 1 if relations == 1 else relations + 1
        self.lins = nn.ModuleList(
            RunLinear(in_channels, heads * out_channels, runs, bias=False, glorot=True) for _ in range(count)
        )
        self.att_source = nn.ParameterList(torch.empty(*lead, heads, out_channels) for _ in range(count))
        self.att_target = nn.Parameter(torch.empty(*lead, heads, out_channels))
        self.bias = nn.Parameter(torch.empty(*lead, heads * out_channels if concat else out_channels))
        self.dropout = Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = math.sqrt(6 / (self.heads + self.out_channels))
        super().reset_parameters()
        for attention in (*self.att_source, self.att_target):
            nn.init.uniform_(attention, -bound, bound)
        nn.init.zeros_(self.bias)

    def bind(self, links: Links, make: MakeMap = ScatterMap, pool: Coefficients | None = None) -> Attention:
        (rows, columns), count = links.shape, links.source.shape[0]
        messages = torch.arange(count, device=links.source.device)
        ones, own = torch.ones_like(links.count), torch.ones_like(links.degree)
        several = len(self.lins) > 1
        # The weights of the relations lie one after another, each a row of states.
        source = links.source + (links.relation * columns if several else 0)
        height = len(self.lins) * columns
        at_own = links.own + (len(self.lins) - 1) * columns
        return Attention(
            source=make(Coefficients(messages, source, ones, (count, height))),
            target=make(Coefficients(messages, links.target, ones, (count, rows))),
            own=make(Coefficients(torch.arange(rows, device=own.device), at_own, own, (rows, height))),
            sum=make(Coefficients(links.target, messages, ones, (rows, count))),
            index=links.target.to(self.bias.device),
            count=links.count.to(self.bias),
            zero=links.zero,
        )

    def forward(self, h: Tensor | SparseMap, bound: Attention) -> Tensor:
        weights = [cast(RunLinear, lin).weight for lin in self.lins]
        z = self._by_head(self._states(h, weights, bound))
        # a · (h W) = h (W a): the attention of a state costs as much as a few more columns of W.
        from_source = self._states(
            h, [self._seen_by(a, w) for a, w in zip(self.att_source, weights, strict=True)], bound
        )
        at_target = bound.own(self._states(h, [self._seen_by(self.att_target, w) for w in weights], bound))
        logit = F.leaky_relu(bound.source(from_source) + bound.target(at_target), 0.2)
        own = F.leaky_relu(bound.own(from_source) + at_target, 0.2)
        # Every node attends to itself as well, so its own logit is a start for the maximum of each softmax.
        where = bound.index.view(-1, *[1] * (logit.dim() - 1)).expand_as(logit)
        peak = own.detach().scatter_reduce(0, where, logit.detach(), "amax")
        count = bound.count.view(-1, *[1] * (logit.dim() - 1))
        weight, own = (logit - bound.target(peak)).exp() * count, (own - peak).exp()
        total = own + bound.sum(weight)
        shares = self.dropout(torch.cat([weight / bound.target(total), own / total]))
        weight, own = shares.split_with_sizes([weight.shape[0], own.shape[0]])
        out: Tensor = bound.sum(bound.source(z) * weight.unsqueeze(-1)) + bound.own(z) * own.unsqueeze(-1)
        return (out.flatten(-2) if self.concat else out.mean(-2)) + self.bias

    def _by_head(self, z: Tensor) -> Tensor:
        return z.view(*z.shape[:-1], self.heads, self.out_channels)

    def _seen_by(self, attention: Tensor, weight: Tensor) -> Tensor:
        return (self._by_head(weight) * attention.unsqueeze(-3)).sum(-1)

    def _states(self, h: Tensor | SparseMap, weights: Sequence[Tensor], bound: Attention) -> Tensor:
        """The products with the weights of all relations, one after another, each with the state of zero if needed."""
        parts = [product(h, weight) for weight in weights]
        if bound.zero:
            parts = [part for z in parts for part in (z, z.new_zeros(1, *z.shape[1:]))]
        return parts[0] if len(parts) == 1 else torch.cat(parts)


@dataclass(frozen=True)
class Attention:
    """The maps of a round: from states to messages, from messages to states, and from states to their later selves."""

    source: Map
    target: Map
    own: Map
    sum: Map
    index: Tensor
    count: Tensor
    zero: bool
