"""GCN (Kipf and Welling 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuraltrees.nn.conv.convolution import Convolution, Term, total
from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.ensemble.sparse import Coefficients, MakeMap, ScatterMap, SparseMap
from neuraltrees.nn.schedule.messages import Links


class GCN(Convolution):
    r""":math:`h'_v = b + \sum_{u ∈ N(v) ∪ \{v\}} h_u W / \sqrt{d_u d_v}`, where :math:`d_v = |N(v)| + 1`.

    With more than one relation, neighbours of each and the node itself have weights of their own.
    """

    pools = True

    def __init__(self, in_channels: int, out_channels: int, runs: int | None = None, relations: int = 1) -> None:
        super().__init__()
        count = 1 if relations == 1 else relations + 1
        self.lins = nn.ModuleList(
            RunLinear(in_channels, out_channels, runs, bias=False, glorot=True) for _ in range(count)
        )
        self.bias = nn.Parameter(torch.zeros(*([] if runs is None else [runs]), out_channels))

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.zeros_(self.bias)

    def bind(self, links: Links, make: MakeMap = ScatterMap, pool: Coefficients | None = None) -> list[Term]:
        scale, earlier = (links.degree + 1).rsqrt(), (links.source_degree + 1).rsqrt()
        weight, own = scale[links.target] * earlier[links.source], links.selves(scale * scale)
        if len(self.lins) == 1:
            parts = [links.neighbours(weight) + own]
        else:
            parts = [*(links.neighbours(weight, relation) for relation in range(len(self.lins) - 1)), own]
        return [Term.of(part, lin, make, pool) for part, lin in zip(parts, self.lins, strict=True)]

    def forward(self, h: Tensor | SparseMap, bound: list[Term]) -> Tensor:
        return total(term(h, lin) for term, lin in zip(bound, self.lins, strict=True)) + self.bias
