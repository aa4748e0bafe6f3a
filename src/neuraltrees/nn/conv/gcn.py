"""GCN (Kipf and Welling 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuraltrees.nn.conv.convolution import Convolution, ConvOptions, LinearRound, Term
from neuraltrees.nn.ensemble.backend import SCATTER, Backend
from neuraltrees.nn.ensemble.linear import RunLinear, States
from neuraltrees.nn.ensemble.sparse import Coefficients
from neuraltrees.nn.messages import Messages


class GCNConv(Convolution):
    r""":math:`h'_v = b + \sum_{u ∈ N(v) ∪ \{v\}} (h_u W + e_{uv} W_e) / \sqrt{d_u d_v}`, where
    :math:`d_v = |N(v)| + 1`; the node itself has no edge features.

    With more than one relation, each relation and the node itself have their own weights.
    """

    pools = True
    multiplies = True
    reads_edges = True

    def __init__(self, in_channels: int, out_channels: int, options: ConvOptions = ConvOptions()) -> None:
        super().__init__(in_channels, out_channels, options)
        count = 1 if options.relations == 1 else options.relations + 1
        self.lins = nn.ModuleList(
            RunLinear(in_channels, out_channels, options.runs, bias=False, glorot=True) for _ in range(count)
        )
        self.lin_edge = self.edge_linear(out_channels, glorot=True)
        self.bias = nn.Parameter(torch.zeros(*([] if options.runs is None else [options.runs]), out_channels))

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.zeros_(self.bias)

    def bind(self, messages: Messages, backend: Backend = SCATTER, pool: Coefficients | None = None) -> LinearRound:
        scale, before = (messages.degree + 1).rsqrt(), (messages.source_degree + 1).rsqrt()
        weight, own = scale[messages.target] * before[messages.source], messages.selves(scale * scale)
        if len(self.lins) == 1:
            parts = [messages.neighbours(weight) + own]
        else:
            parts = [*(messages.neighbours(weight, relation) for relation in range(len(self.lins) - 1)), own]
        terms = tuple(Term.of(part, lin, backend, pool) for part, lin in zip(parts, self.lins, strict=True))
        edges = None if self.lin_edge is None else Term.of(messages.edges(weight), self.lin_edge, backend, pool)
        return LinearRound(terms, edges)

    def forward(self, h: States, bound: LinearRound, edges: Tensor | None = None) -> Tensor:
        return bound(h, self.lins, edges, self.lin_edge) + self.bias
