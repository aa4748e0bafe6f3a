"""GAT (Veličković et al. 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from neuraltrees.nn.conv.convolution import Convolution, ConvOptions, needed
from neuraltrees.nn.ensemble.backend import SCATTER, Backend
from neuraltrees.nn.ensemble.dropout import Dropout
from neuraltrees.nn.ensemble.linear import RunLinear, States, product
from neuraltrees.nn.ensemble.sparse import Coefficients, Map
from neuraltrees.nn.ensemble.weighted_sum import SumEntries, WeightedSum
from neuraltrees.nn.messages import Messages


class GATConv(Convolution):
    r"""Multi-head attention over the neighbours and the node itself.

    :math:`h'_v = b + \big\Vert_k \sum_u α^k_{uv} (h_u W^k + e_{uv} W_e^k)` with
    :math:`α^k_{uv} = \mathrm{softmax}_u\, \mathrm{LeakyReLU}(a^k_s · h_u W^k + a^k_t · h_v W^k +
    a^k_e · e_{uv} W_e^k)`:
    edge features enter both the attention, as in PyG, and the message; the node itself has none. The heads are
    concatenated, or averaged if `concat` is false. With more than one relation, each relation has its own :math:`W` and
    :math:`a_s`.

    Args:
        in_channels: size of the states.
        out_channels: size of the result of one head.
        options: runs, relations, edge features, heads and dropout of the attention weights.
        concat: whether the heads are concatenated; by default in every round but the last.
    """

    reads_edges = True
    multiplies = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        options: ConvOptions = ConvOptions(),
        concat: bool | None = None,
    ) -> None:
        super().__init__(in_channels, out_channels, options)
        runs, heads = options.runs, options.heads
        lead = () if runs is None else (runs,)
        self.heads, self.concat = heads, not options.last if concat is None else concat
        self.width = heads * out_channels if self.concat else out_channels
        count = 1 if options.relations == 1 else options.relations + 1
        self.lins = nn.ModuleList(
            RunLinear(in_channels, heads * out_channels, runs, bias=False, glorot=True) for _ in range(count)
        )
        self.att_source = nn.ParameterList(torch.empty(*lead, heads, out_channels) for _ in range(count))
        self.att_target = nn.Parameter(torch.empty(*lead, heads, out_channels))
        self.bias = nn.Parameter(torch.empty(*lead, self.width))
        self.lin_edge = self.edge_linear(heads * out_channels, glorot=True)
        if self.lin_edge is not None:
            self.att_edge = nn.Parameter(torch.empty(*lead, heads, out_channels))
        self.dropout = Dropout(options.dropout)
        self.reset_parameters()

    def activation(self, h: Tensor) -> Tensor:
        return F.elu(h)

    def reset_parameters(self) -> None:
        bound = math.sqrt(6 / (self.heads + self.out_channels))
        super().reset_parameters()
        of_edges = () if self.lin_edge is None else (self.att_edge,)
        for attention in (*self.att_source, self.att_target, *of_edges):
            nn.init.uniform_(attention, -bound, bound)
        nn.init.zeros_(self.bias)

    def bind(self, messages: Messages, backend: Backend = SCATTER, pool: Coefficients | None = None) -> Attention:
        (rows, columns), count = messages.shape, messages.num_messages
        each = torch.arange(count, device=messages.source.device)
        everyone = torch.arange(rows, device=messages.source.device)
        ones, own = torch.ones_like(messages.count), torch.ones_like(messages.degree)
        several = len(self.lins) > 1
        # The states multiplied by the weights of each relation are stacked, one relation after another.
        block = messages.relation if several else torch.zeros_like(messages.relation)
        last = torch.full_like(messages.own, len(self.lins) - 1)
        height = len(self.lins) * columns
        at_own = messages.own + last * columns
        # Every node attends to itself as well; a zero state takes part in the softmax only.
        state, part = torch.cat([messages.source, messages.own]), torch.cat([block, last])
        used, size = torch.ones_like(state, dtype=torch.bool), columns
        if messages.zero:
            used, size = state < columns - 1, columns - 1
        whole = SumEntries(
            row=torch.cat([messages.target, everyone]),
            col=torch.where(used, state + part * size, 0),
            used=used,
            shape=(rows, len(self.lins) * size),
        )
        return Attention(
            source=backend.map(Coefficients(each, messages.source + block * columns, ones, (count, height))),
            target=backend.map(Coefficients(each, messages.target, ones, (count, rows))),
            own=backend.map(Coefficients(everyone, at_own, own, (rows, height))),
            sum=backend.map(Coefficients(messages.target, each, ones, (rows, count))),
            spread=backend.weighted_sum(whole),
            index=messages.target.to(self.bias.device),
            count=messages.count.to(self.bias),
            zero=messages.zero,
            few=backend.prepared and columns < self.in_channels,
            edges=None if self.lin_edge is None else _edge_attention(messages, backend),
            numbers=None if messages.numbers is None else messages.numbers.both.to(self.bias.device),
        )

    def forward(self, h: States, bound: Attention, edges: Tensor | None = None) -> Tensor:
        weights = [cast(RunLinear, lin).weight for lin in self.lins]
        z = self._by_head(_joined([product(h, weight) for weight in weights]))
        logits = self._logits(z) if bound.few else self._logits_before(h, weights)
        if bound.zero:
            logits = [part for each in logits for part in (each, each.new_zeros(1, *each.shape[1:]))]
        both = _joined(logits)
        from_source = both[..., 0]
        own_source, at_target = bound.own(both).unbind(-1)
        of_messages, of_edges = bound.source(from_source) + bound.target(at_target), None
        if self.lin_edge is not None and bound.edges is not None:
            of_edges = self._by_head(self.lin_edge.multiply(needed(edges)))
            of_messages = of_messages + bound.edges.carried((of_edges * self.att_edge).sum(-1))
        logit = F.leaky_relu(of_messages, 0.2)
        own = F.leaky_relu(own_source + at_target, 0.2)
        weight, own = _attention(logit, own, bound)
        shares = self.dropout(torch.cat([weight, own]), bound.numbers)
        out = bound.spread(z, shares)
        if of_edges is not None and bound.edges is not None:
            out = out + bound.edges.spread(of_edges, shares[: weight.shape[0]])
        return (out.flatten(-2) if self.concat else out.mean(-2)) + self.bias

    def _by_head(self, z: Tensor) -> Tensor:
        return z.view(*z.shape[:-1], self.heads, self.out_channels)

    def _logits(self, z: Tensor) -> list[Tensor]:
        """Attention logits of every state as a source and as a target, per head and relation.

        Shapes: z :math:`(N, *, heads, O)` → a list of :math:`(N, *, heads, 2)`
        """
        parts = z.tensor_split(len(self.lins))
        # Every head of every run has its own weights, so heads are treated as runs here.
        pairs = [torch.stack([a, self.att_target], -1).view(-1, self.out_channels, 2) for a in self.att_source]
        logits = [product(part.flatten(1, -2), pair) for part, pair in zip(parts, pairs, strict=True)]
        return [each.view(-1, *z.shape[1:-1], 2) for each in logits]

    def _logits_before(self, h: States, weights: Sequence[Tensor]) -> list[Tensor]:
        """The same from the states before the product: :math:`a · (h W) = h (W a)` costs a few more columns of W."""
        logits = []
        for attention, weight in zip(self.att_source, weights, strict=True):
            by_head = self._by_head(weight)
            columns = [(by_head * a.unsqueeze(-3)).sum(-1) for a in (attention, self.att_target)]
            both = product(h, torch.stack(columns, -1).flatten(-2))
            logits.append(both.view(*both.shape[:-1], self.heads, 2))
        return logits


def _attention(logit: Tensor, own: Tensor, bound: Attention) -> tuple[Tensor, Tensor]:
    """The attention weights: the share of every message, and of the state itself.

    Shapes: logit :math:`(E, *, heads)`, own :math:`(M, *, heads)` → the same
    """
    kind = torch.promote_types(logit.dtype, own.dtype)  # they differ under autocast
    logit, own = logit.to(kind), own.to(kind)
    count = bound.count.to(kind).view(-1, *[1] * (logit.dim() - 1))
    if torch.compiler.is_exporting():
        # Programs of AOTInductor crash if several rounds compute a maximum per state (`scatter_reduce`). In double
        # precision one maximum for all states suffices: shares below exp(-700) are zero.
        logit, own, count = logit.double(), own.double(), count.double()
        highest = torch.cat([logit, own]).amax(0)
        weight, own = (logit - highest).exp() * count, (own - highest).exp()
        total = own + bound.sum(weight)
        return (weight / bound.target(total)).to(kind), (own / total).to(kind)
    # Every node attends to itself as well, so the maximum of each softmax starts at the node's own logit.
    where = bound.index.view(-1, *[1] * (logit.dim() - 1)).expand_as(logit)
    peak = own.detach().scatter_reduce(0, where, logit.detach(), "amax")
    weight, own = (logit - bound.target(peak)).exp() * count, (own - peak).exp()
    total = own + bound.sum(weight)
    return weight / bound.target(total), own / total


def _joined(parts: Sequence[Tensor]) -> Tensor:
    """The states of all relations, one after another."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


def _edge_attention(messages: Messages, backend: Backend) -> EdgeAttention:
    carried = messages.carried()
    used = carried.value != 0
    entries = SumEntries(messages.target, carried.col, used, (messages.shape[0], carried.shape[1]))
    return EdgeAttention(backend.map(carried), backend.weighted_sum(entries))


@dataclass(frozen=True)
class EdgeAttention:
    """The map from edge features to the messages that carry them, and their sum weighted by attention."""

    carried: Map
    spread: WeightedSum


@dataclass(frozen=True)
class Attention:
    """The maps of a round and its constants.

    Args:
        source, target: from states before and after the round to messages.
        own: from states before the round to the same node's state after it.
        sum: from messages to the states that receive them.
        spread: the sum of the attended states.
        index, count: for every message, the state that receives it and how many equal messages it stands for.
        zero: whether the last state before the round is zero and omitted.
        few: whether there are fewer states than channels.
        edges: the maps of edge features, if there are any.
        numbers: see `Numbers`; None for a whole graph or tree.
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
    edges: EdgeAttention | None = None
    numbers: Tensor | None = None
