"""Relative geometry as states: of the edges of a scene graph, and of the edges of its H-tree."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.ensemble.sparse import Map
from neuraltrees.nn.schedule.typed.structure import GEOMETRY

LENGTHS = 4  # the first numbers of a geometry are lengths: offset and distance
NUMBERS = GEOMETRY + 10  # numbers per edge, with those derived from the geometry and a constant 1


FARTHEST = 1e9  # metres; sizes are clamped to it


class RunTable(nn.Module):
    """A table of learned vectors.

    Args:
        rows: number of vectors.
        width: their size.
        runs: number of independent runs.
        start: their initial value; None for random values.

    `forward` adds `shift` to the vectors before it chooses among them.

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

    def forward(self, chosen: Map, shift: float = 0.0) -> Tensor:
        weight = self.weight + shift if shift else self.weight
        return chosen(weight if weight.dim() == 2 else weight.transpose(0, 1))


class EdgeGeometry(nn.Module):
    r""":math:`φ_ρ` of the edges of the graph: a linear layer per relation, ReLU, then linear maps that are added to the
    initial states of the edge's home bag, of its source and of its target. A node gets the mean over its edges of each
    relation, and a function of their number.

    Args:
        relations: number of relations.
        width: size of initial states.
        runs: number of independent runs.
        hidden: size of the hidden layer.

    Shapes: `forward` rows :math:`(m, relations · 23)`, see `by_relation`, counts :math:`(n, 2 · relations)` →
    :math:`(n + B, *, width)`
    """

    def __init__(self, relations: int, width: int, runs: int | None, hidden: int) -> None:
        super().__init__()
        self.first = RunLinear(NUMBERS * relations, hidden, runs, bias=False)
        self.home = RunLinear(hidden, width, runs, bias=False)
        self.source = RunLinear(hidden, width, runs, bias=False)
        self.target = RunLinear(hidden, width, runs, bias=False)
        self.count = RunLinear(2 * relations, width, runs, bias=False)
        self.reset_parameters()

    def forward(self, rows: Tensor, counts: Tensor, to_source: Map, to_target: Map, to_home: Map) -> Tensor:
        z = self.first.multiply(rows).relu()
        nodes = self.source.multiply(to_source(z)) + self.target.multiply(to_target(z)) + self.count.multiply(counts)
        return torch.cat([nodes, self.home.multiply(to_home(z))])

    def reset_parameters(self) -> None:
        for lin in (self.first, self.home, self.source, self.target, self.count):
            lin.reset_parameters()
        # A row is nonzero in the columns of one relation only.
        bound = 1 / math.sqrt(NUMBERS)
        nn.init.uniform_(self.first.weight, -bound, bound)


def by_relation(geometry: Tensor, relation: Tensor, relations: int) -> Tensor:
    """The geometry of every edge, in the columns of its relation, with numbers derived from both boxes: their
    horizontal distance, the differences of their bottoms and tops, and along every axis the gap between them and the
    margin of the smaller one inside the larger one; then a constant 1. Lengths are signed logarithms.

    Shapes: geometry :math:`(m, 13)`, relation :math:`(m)` → :math:`(m, relations · 23)`
    """
    offset, known = geometry[:, :3], geometry[:, 10:].prod(1, keepdim=True)
    sizes = geometry[:, 4:10].exp().clamp(max=FARTHEST)
    half, grown = (sizes[:, :3] - sizes[:, 3:]) / 2, (sizes[:, :3] + sizes[:, 3:]) / 2
    heights = torch.stack([offset[:, 2] - half[:, 2], offset[:, 2] + half[:, 2]], 1)
    boxes = torch.cat([heights, offset.abs() - grown, half.abs() - offset.abs()], 1) * known
    flat = offset[:, :2].square().sum(1, keepdim=True).sqrt()
    lengths = signed_log(torch.cat([geometry[:, :LENGTHS], flat, boxes], 1))
    numbers = torch.cat([lengths, geometry[:, LENGTHS:], torch.ones_like(flat)], 1)
    if torch.compiler.is_exporting():
        mine = nn.functional.one_hot(relation, relations).to(numbers.dtype)
        return (mine.unsqueeze(2) * numbers.unsqueeze(1)).flatten(1)
    rows = numbers.new_zeros(numbers.shape[0], relations, numbers.shape[1])
    rows[torch.arange(len(relation), device=relation.device), relation] = numbers
    return rows.flatten(1)


class TreeOffsets(nn.Module):
    """The features that messages along tree edges carry: a linear layer of the offset plus a vector per relation, ReLU.

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
    """Offset and distance, as signed logarithms. Shapes: :math:`(E, 3)` → :math:`(E, 4)`"""
    return signed_log(torch.cat([offset, offset.square().sum(1, keepdim=True).sqrt()], 1))


def signed_log(lengths: Tensor) -> Tensor:
    """:math:`\\mathrm{sign}(x) \\log(1 + |x|)`: nearly x for small lengths, and compressed for large ones."""
    return lengths.sign() * lengths.abs().log1p()
