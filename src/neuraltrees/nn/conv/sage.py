"""GraphSAGE with the mean aggregator (Hamilton, Ying and Leskovec 2017)."""

from __future__ import annotations

from torch import Tensor, nn

from neuraltrees.nn.conv.convolution import Convolution, ConvOptions, LinearRound, Term
from neuraltrees.nn.ensemble.backend import SCATTER, Backend
from neuraltrees.nn.ensemble.linear import RunLinear, States
from neuraltrees.nn.ensemble.sparse import Coefficients
from neuraltrees.nn.messages import Messages


class SAGEConv(Convolution):
    r""":math:`h'_v = \mathrm{mean}_{u ∈ N(v)} (h_u W_l + e_{uv} W_e) + h_v W_r + b`.

    With more than one relation, each has its own :math:`W_l`; the mean is over all neighbours.
    """

    pools = True
    multiplies = True
    reads_edges = True

    def __init__(self, in_channels: int, out_channels: int, options: ConvOptions = ConvOptions()) -> None:
        super().__init__(in_channels, out_channels, options)
        self.neighbours = nn.ModuleList(
            RunLinear(in_channels, out_channels, options.runs, bias=False) for _ in range(options.relations)
        )
        self.own = RunLinear(in_channels, out_channels, options.runs)
        self.lin_edge = self.edge_linear(out_channels)

    def bind(self, messages: Messages, backend: Backend = SCATTER, pool: Coefficients | None = None) -> LinearRound:
        share = 1 / messages.degree.clamp(min=1)[messages.target]
        several = len(self.neighbours) > 1
        parts = [messages.neighbours(share, kind if several else None) for kind in range(len(self.neighbours))]
        pairs = zip([*parts, messages.selves()], [*self.neighbours, self.own], strict=True)
        edges = None if self.lin_edge is None else Term.of(messages.edges(share), self.lin_edge, backend, pool)
        return LinearRound(tuple(Term.of(part, lin, backend, pool) for part, lin in pairs), edges)

    def forward(self, h: States, bound: LinearRound, edges: Tensor | None = None) -> Tensor:
        return self.own.shift(bound(h, [*self.neighbours, self.own], edges, self.lin_edge))
