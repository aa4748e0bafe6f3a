"""GraphSAGE with the mean aggregator (Hamilton, Ying and Leskovec 2017)."""

from __future__ import annotations

from torch import Tensor, nn

from neuraltrees.nn.conv.convolution import Convolution, Term, total
from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.ensemble.sparse import Coefficients, MakeMap, ScatterMap, SparseMap
from neuraltrees.nn.schedule.messages import Links


class SAGE(Convolution):
    r""":math:`h'_v = \mathrm{mean}_{u ∈ N(v)} h_u\, W_l + h_v W_r + b`.

    With more than one relation, neighbours of each have a :math:`W_l` of their own; the mean is over all of them.
    """

    pools = True

    def __init__(self, in_channels: int, out_channels: int, runs: int | None = None, relations: int = 1) -> None:
        super().__init__()
        self.neighbours = nn.ModuleList(
            RunLinear(in_channels, out_channels, runs, bias=False) for _ in range(relations)
        )
        self.own = RunLinear(in_channels, out_channels, runs)

    def bind(self, links: Links, make: MakeMap = ScatterMap, pool: Coefficients | None = None) -> list[Term]:
        share = 1 / links.degree.clamp(min=1)[links.target]
        several = len(self.neighbours) > 1
        parts = [links.neighbours(share, kind if several else None) for kind in range(len(self.neighbours))]
        lins = [*self.neighbours, self.own]
        return [Term.of(part, lin, make, pool) for part, lin in zip([*parts, links.selves()], lins, strict=True)]

    def forward(self, h: Tensor | SparseMap, bound: list[Term]) -> Tensor:
        lins = [*self.neighbours, self.own]
        return self.own.shift(total(term(h, lin) for term, lin in zip(bound, lins, strict=True)))
