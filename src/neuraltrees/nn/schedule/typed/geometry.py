"""Relative geometry as states: of the edges of a scene graph, and of the edges of its H-tree."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.ensemble.sparse import Map
from neuraltrees.nn.schedule.typed.structure import GEOMETRY

LENGTHS = 4  # the first numbers of a geometry are lengths: offset and distance


class RunTable(nn.Module):
    """A learned vector per number.

    Args:
        rows: how many there are.
        width: their size.
        runs: number of independent runs.
        start: the value they start at; None for random ones.

    Shapes: a map from the rows to :math:`M` of them → :math:`(M, *, width)`
    """

    def __init__(self, rows: int, width: int, runs: int | None, start: float | None = None) -> None:
        super().__init__()
        self.start = start
        self.weight = nn.Parameter(torch.empty(*(() if runs is None else (runs,)), rows, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.start is not None:
            nn.init.constant_(self.weight, self.start)
            return
        bound = 1 / math.sqrt(self.weight.shape[-1])
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, chosen: Map) -> Tensor:
        return chosen(self.weight if self.weight.dim() == 2 else self.weight.transpose(0, 1))


class EdgeGeometry(nn.Module):
    r""":math:`φ_ρ` of the edges of the graph: a layer of its own for every relation, ReLU, then linear maps to first
    states of the bag where an edge is at home, and of its source and its target.

    Args:
        relations: number of relations.
        width: size of first states.
        runs: number of independent runs.
        hidden: size between.

    Shapes: `forward` rows :math:`(m, relations · 14)`, see `by_relation` → :math:`(n + B, *, width)`
    """

    def __init__(self, relations: int, width: int, runs: int | None, hidden: int) -> None:
        super().__init__()
        self.first = RunLinear((GEOMETRY + 1) * relations, hidden, runs, bias=False)
        self.home = RunLinear(hidden, width, runs, bias=False)
        self.source = RunLinear(hidden, width, runs, bias=False)
        self.target = RunLinear(hidden, width, runs, bias=False)
        self.reset_parameters()

    def forward(self, rows: Tensor, to_source: Map, to_target: Map, to_home: Map) -> Tensor:
        z = self.first.multiply(rows).relu()
        nodes = self.source.multiply(to_source(z)) + self.target.multiply(to_target(z))
        return torch.cat([nodes, self.home.multiply(to_home(z))])

    def reset_parameters(self) -> None:
        for lin in (self.first, self.home, self.source, self.target):
            lin.reset_parameters()
        # A row has the numbers of one relation alone.
        bound = 1 / math.sqrt(GEOMETRY + 1)
        nn.init.uniform_(self.first.weight, -bound, bound)


def by_relation(geometry: Tensor, relation: Tensor, relations: int) -> Tensor:
    """The geometry of every edge, and a one, in the columns of its relation; lengths by their signed logarithm.

    Shapes: geometry :math:`(m, 13)`, relation :math:`(m)` → :math:`(m, relations · 14)`
    """
    one = geometry.new_ones(geometry.shape[0], 1)
    numbers = torch.cat([signed_log(geometry[:, :LENGTHS]), geometry[:, LENGTHS:], one], 1)
    mine = nn.functional.one_hot(relation, relations).to(numbers.dtype)
    return (mine.unsqueeze(2) * numbers.unsqueeze(1)).flatten(1)


class TreeOffsets(nn.Module):
    """What the messages of tree edges carry: a layer of their offsets, with a vector per relation, and ReLU.

    Shapes: `forward` rows :math:`(E, 4)`, a map from relations to edges → :math:`(E, *, width)`
    """

    def __init__(self, relations: int, width: int, runs: int | None) -> None:
        super().__init__()
        self.lin = RunLinear(LENGTHS, width, runs, bias=False)
        self.relation = RunTable(relations, width, runs)

    def forward(self, rows: Tensor, relation: Map) -> Tensor:
        carried: Tensor = self.lin.multiply(rows) + self.relation(relation)
        return carried.relu()

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()
        self.relation.reset_parameters()


def offset_rows(offset: Tensor) -> Tensor:
    """Offset and distance, by their signed logarithm. Shapes: :math:`(E, 3)` → :math:`(E, 4)`"""
    return signed_log(torch.cat([offset, offset.square().sum(1, keepdim=True).sqrt()], 1))


def signed_log(lengths: Tensor) -> Tensor:
    """:math:`\\mathrm{sign}(x) \\log(1 + |x|)`: nearly x for what is near, and small for what is far away."""
    return lengths.sign() * lengths.abs().log1p()
