"""The tables of triangles that a CRF head learns."""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations

import numpy as np
import torch
from torch import Tensor, nn

from neuraltrees.graph import Graph, Int64
from neuraltrees.inference.crf import Factors, FactorTables


class Triangles(nn.Module):
    """A table per triple of node types, for three nodes that are joined by edges with each other.

    The axes of a table are the nodes by ascending type. It is the mean over all orders of the nodes of the same type,
    so that their numbers do not matter.

    Args:
        labels: number of labels of every node type.
        runs: number of independent runs.
    """

    def __init__(self, labels: tuple[int, ...], runs: int | None = None) -> None:
        super().__init__()
        self.runs = runs
        self.kinds = list(combinations_with_replacement(range(len(labels)), 3))
        lead = () if runs is None else (runs,)
        self.table = nn.Parameter(torch.empty(*lead, len(self.kinds), *[max(labels)] * 3))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Tables start at zero, as if there were no triangles."""
        nn.init.zeros_(self.table)

    def plan(self, graph: Graph, node_type: Int64) -> Factors:
        """The triangles of a graph with the numbers of their tables."""
        nodes = find_triangles(graph)
        order = np.argsort(node_type[nodes], 1, kind="stable")
        nodes = np.take_along_axis(nodes, order, 1)
        number = {kind: place for place, kind in enumerate(self.kinds)}
        index = np.array([number[tuple(kind)] for kind in node_type[nodes].tolist()], np.int64)
        return Factors(torch.from_numpy(nodes), torch.from_numpy(index).view(-1, 1), len(self.kinds))

    def forward(self, index: Tensor) -> FactorTables:
        """The tables of all runs. Shapes: index :math:`(F, 1)`"""
        table = self.table.unsqueeze(0) if self.runs is None else self.table
        return FactorTables(torch.stack([_mean(each, kind) for each, kind in self._by_kind(table)], 1), index)

    def _by_kind(self, table: Tensor) -> list[tuple[Tensor, tuple[int, ...]]]:
        return list(zip(table.unbind(1), self.kinds, strict=True))


def _mean(table: Tensor, kind: tuple[int, ...]) -> Tensor:
    """The mean over the orders of axes that leave the types in place. Shapes: :math:`(R, C, C, C)`"""
    orders = [axes for axes in permutations(range(3)) if all(kind[axis] == kind[i] for i, axis in enumerate(axes))]
    return torch.stack([table.permute(0, *(1 + axis for axis in axes)) for axes in orders]).mean(0)


def find_triangles(graph: Graph) -> Int64:
    """All sets of three nodes that are joined by edges with each other, in ascending order. Shapes: :math:`(F, 3)`

    >>> find_triangles(Graph([[0, 0, 0, 1, 2], [1, 2, 3, 2, 3]])).tolist()
    [[0, 1, 2], [0, 2, 3]]
    """
    source, target = graph._upper_edges()
    start = np.searchsorted(source, np.arange(graph.num_nodes + 1))
    # For every edge uv, u < v: all edges vw, v < w, that close a triangle with an edge uw.
    count = (start[1:] - start[:-1])[target]
    edge = np.repeat(np.arange(len(source)), count)
    third = target[np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(start[target], count)]
    code = source * graph.num_nodes + target  # ascending
    wanted = source[edge] * graph.num_nodes + third
    place = np.minimum(np.searchsorted(code, wanted), max(0, len(code) - 1))
    closed = code[place] == wanted if len(code) else np.zeros(0, bool)
    found: Int64 = np.stack([source[edge], target[edge], third], 1)[closed]
    return found
