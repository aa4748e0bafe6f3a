"""GIN-ε (Xu, Hu, Leskovec and Jegelka 2019); with edge features GINE (Hu et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from neuraltrees.errors import InputError
from neuraltrees.nn.conv.convolution import Convolution, ConvOptions, needed, total
from neuraltrees.nn.ensemble.backend import SCATTER, Backend
from neuraltrees.nn.ensemble.linear import RunLinear, States
from neuraltrees.nn.ensemble.sparse import Coefficients, Map
from neuraltrees.nn.messages import Messages


class GINConv(Convolution):
    r""":math:`h'_v = \mathrm{MLP}\big((1 + ε) h_v + \sum_{u ∈ N(v)} h_u\big)`, a two-layer MLP and a trained ε.

    With edge features (GINE), a message is :math:`\mathrm{relu}(h_u + e_{uv} W_e + b_e)` instead of :math:`h_u`. The
    first layer of the MLP is linear, so without edge features it is applied before the sum. With more than one
    relation, its weights for the neighbours differ by relation.
    """

    norm = True
    reads_edges = True

    def __init__(self, in_channels: int, out_channels: int, options: ConvOptions = ConvOptions()) -> None:
        super().__init__(in_channels, out_channels, options)
        runs = options.runs
        self.lin1 = RunLinear(in_channels, out_channels, runs)
        others = range(options.relations) if options.relations > 1 else range(0)
        self.neighbours = nn.ModuleList(RunLinear(in_channels, out_channels, runs, bias=False) for _ in others)
        self.lin2 = RunLinear(out_channels, out_channels, runs)
        self.eps = nn.Parameter(torch.zeros(() if runs is None else (runs, 1)))
        edge_channels = options.edge_channels
        self.lin_edge = None if edge_channels is None else RunLinear(edge_channels, in_channels, runs)
        self.multiplies = self.lin_edge is None

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.zeros_(self.eps)

    def bind(self, messages: Messages, backend: Backend = SCATTER, pool: Coefficients | None = None) -> SumRound:
        kinds = range(len(self.neighbours)) if self.neighbours else [None]
        own = backend.map(messages.selves())
        if self.lin_edge is None:
            return SumRound(own, tuple(backend.map(messages.neighbours(relation=kind)) for kind in kinds))
        received = tuple(backend.map(messages.received(kind)) for kind in kinds)
        return SumRound(own, received, backend.map(messages.sent()), backend.map(messages.carried()))

    def forward(self, h: States, bound: SumRound, edges: Tensor | None = None) -> Tensor:
        z = self.lin1.multiply(h)
        first = [cast(RunLinear, lin) for lin in self.neighbours] or [self.lin1]
        if self.lin_edge is None:
            others = [lin.multiply(h) for lin in first] if self.neighbours else [z]
            sums = total(map(other) for map, other in zip(bound.sums, others, strict=True))
        else:
            sent = self._messages(h, bound, needed(edges))
            sums = total(lin.multiply(map(sent)) for map, lin in zip(bound.sums, first, strict=True))
        hidden = self.lin1.shift((1 + self.eps) * bound.own(z) + sums)
        out: Tensor = self.lin2(hidden.relu())
        return out

    def _messages(self, h: States, bound: SumRound, edges: Tensor) -> Tensor:
        assert bound.sent is not None and bound.carried is not None and self.lin_edge is not None
        if not isinstance(h, Tensor) or h.layout != torch.strided:
            raise InputError(
                "Expected dense features for GIN with edge features, which adds node and edge features; got sparse "
                "ones. Use x.to_dense()."
            )
        carried = bound.carried(self.lin_edge.multiply(edges))
        sent = bound.sent(h)
        if sent.dim() < carried.dim():  # features that all runs share
            sent = sent.unsqueeze(1)
        return self.lin_edge.shift(sent + carried).relu()


@dataclass(frozen=True)
class SumRound:
    """The maps of a round: from each state to the same node's next state, and the sums of messages per relation. With
    edge features, also from states and from edge features to messages.
    """

    own: Map
    sums: tuple[Map, ...]
    sent: Map | None = None
    carried: Map | None = None
