"""GAT (Veličković et al. 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from neuraltrees.nn.conv.convolution import Convolution
from neuraltrees.nn.ensemble.dropout import Dropout
from neuraltrees.nn.ensemble.linear import RunLinear, product
from neuraltrees.nn.ensemble.sparse import Coefficients, MakeMap, Map, ScatterMap, SparseMap
from neuraltrees.nn.ensemble.weighted_sum import Messages, WeightedSum, weighted_sum
from neuraltrees.nn.schedule.messages import Links


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
        everyone = torch.arange(rows, device=links.source.device)
        ones, own = torch.ones_like(links.count), torch.ones_like(links.degree)
        several = len(self.lins) > 1
        # The weights of the relations lie one after another, each a row of states.
        block = links.relation if several else torch.zeros_like(links.relation)
        last = torch.full_like(links.own, len(self.lins) - 1)
        height = len(self.lins) * columns
        at_own = links.own + last * columns
        # Every node attends to itself as well; what is zero takes part in the softmax alone.
        state, part = torch.cat([links.source, links.own]), torch.cat([block, last])
        used, size = torch.ones_like(state, dtype=torch.bool), columns
        if links.zero:
            used, size = state < columns - 1, columns - 1
        whole = Messages(
            row=torch.cat([links.target, everyone]),
            col=torch.where(used, state + part * size, 0),
            used=used,
            shape=(rows, len(self.lins) * size),
        )
        return Attention(
            source=make(Coefficients(messages, links.source + block * columns, ones, (count, height))),
            target=make(Coefficients(messages, links.target, ones, (count, rows))),
            own=make(Coefficients(everyone, at_own, own, (rows, height))),
            sum=make(Coefficients(links.target, messages, ones, (rows, count))),
            spread=weighted_sum(whole, make, self.bias.device),
            index=links.target.to(self.bias.device),
            count=links.count.to(self.bias),
            zero=links.zero,
            few=make is not ScatterMap and columns < cast(RunLinear, self.lins[0]).in_channels,
        )

    def forward(self, h: Tensor | SparseMap, bound: Attention) -> Tensor:
        weights = [cast(RunLinear, lin).weight for lin in self.lins]
        z = self._by_head(_joined([product(h, weight) for weight in weights]))
        seen = self._seen(z) if bound.few else self._seen_before(h, weights)
        if bound.zero:
            seen = [part for each in seen for part in (each, each.new_zeros(1, *each.shape[1:]))]
        both = _joined(seen)
        from_source = both[..., 0]
        own_source, at_target = bound.own(both).unbind(-1)
        logit = F.leaky_relu(bound.source(from_source) + bound.target(at_target), 0.2)
        own = F.leaky_relu(own_source + at_target, 0.2)
        # Every node attends to itself as well, so its own logit is a start for the maximum of each softmax.
        where = bound.index.view(-1, *[1] * (logit.dim() - 1)).expand_as(logit)
        peak = own.detach().scatter_reduce(0, where, logit.detach(), "amax")
        count = bound.count.view(-1, *[1] * (logit.dim() - 1))
        weight, own = (logit - bound.target(peak)).exp() * count, (own - peak).exp()
        total = own + bound.sum(weight)
        shares = self.dropout(torch.cat([weight / bound.target(total), own / total]))
        out = bound.spread(z, shares)
        return (out.flatten(-2) if self.concat else out.mean(-2)) + self.bias

    def _by_head(self, z: Tensor) -> Tensor:
        return z.view(*z.shape[:-1], self.heads, self.out_channels)

    def _seen(self, z: Tensor) -> list[Tensor]:
        """What every state gives as a source and as a target to each head, for every relation.

        Shapes: z :math:`(N, *, heads, O)` → a list of :math:`(N, *, heads, 2)`
        """
        parts = z.tensor_split(len(self.lins))
        # Every head of every run has weights of its own, so that they all are runs here.
        pairs = [torch.stack([a, self.att_target], -1).view(-1, self.out_channels, 2) for a in self.att_source]
        seen = [product(part.flatten(1, -2), pair) for part, pair in zip(parts, pairs, strict=True)]
        return [each.view(-1, *z.shape[1:-1], 2) for each in seen]

    def _seen_before(self, h: Tensor | SparseMap, weights: Sequence[Tensor]) -> list[Tensor]:
        """The same from the states before: :math:`a · (h W) = h (W a)` costs as much as a few more columns of W."""
        seen = []
        for attention, weight in zip(self.att_source, weights, strict=True):
            by_head = self._by_head(weight)
            columns = [(by_head * a.unsqueeze(-3)).sum(-1) for a in (attention, self.att_target)]
            both = product(h, torch.stack(columns, -1).flatten(-2))
            seen.append(both.view(*both.shape[:-1], self.heads, 2))
        return seen


def _joined(parts: Sequence[Tensor]) -> Tensor:
    """The states of all relations, one after another."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


@dataclass(frozen=True)
class Attention:
    """The maps of a round: from states to messages, from messages to states, from states to their later selves; and
    the sum of all that a node attends to. Whether the states are few beside their size.
    """

    source: Map
    target: Map
    own: Map
    sum: Map
    spread: WeightedSum
    index: Tensor
    count: Tensor
    zero: bool
    few: bool
