"""The graph of a conditional random field and its tables' numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from neuraltrees.graph import Graph, Int64


@dataclass(frozen=True, eq=False)
class Factors:
    """Edges, or cliques of one size: their nodes, and the numbers of their tables; see `FactorTables`.

    Args:
        nodes: the nodes of each; those of an edge with the lower number first.
        index: the numbers of the tables of each.
        num_tables: number of shared tables.
        weighted: whether tables have weights.

    Shapes: nodes :math:`(F, r)`, index :math:`(F, J)`
    """

    nodes: Tensor
    index: Tensor
    num_tables: int
    weighted: bool = False

    @property
    def order(self) -> int:
        return self.nodes.shape[1]

    @property
    def shared(self) -> bool:
        """Whether each has one of the shared tables as it is."""
        return not self.weighted and self.index.shape[1] == 1

    @property
    def transposed(self) -> bool:
        """Whether some table is transposed."""
        return bool((self.index >= self.num_tables).any())

    def repeated(self, copies: int, num_nodes: int) -> Tensor:
        """The nodes in `copies` copies of the graph. Shapes: :math:`(copies · F, r)`"""
        if copies == 1:
            return self.nodes
        shift = num_nodes * torch.arange(copies, device=self.nodes.device)
        return (self.nodes.unsqueeze(0) + shift.view(-1, 1, 1)).flatten(0, 1)

    def tables_of(self, copies: int) -> Int64:
        """The number of the table of each in all copies, if each has one table; copies have different tables."""
        number, count = self.index[:, 0].cpu().numpy(), self.num_tables
        transposed = number >= count
        place = np.arange(copies)[:, None] * count + (number - count * transposed)
        found: Int64 = (place + copies * count * transposed).reshape(-1)
        return found


@dataclass(frozen=True, eq=False)
class Structure:
    """The graph of a conditional random field, or a union of many, with the numbers of the tables of its factors.

    Args:
        graph: the graph.
        labels: number of labels of every node.
        owner: the graph of every node, if it is a union.
        num_graphs: number of graphs.
        factors: the edges, then the cliques of every size.

    Shapes: labels and owner :math:`(n)`
    """

    graph: Graph
    labels: Int64
    owner: Int64
    num_graphs: int
    factors: tuple[Factors, ...]

    @classmethod
    def of(
        cls,
        graph: Graph,
        labels: Int64,
        owner: Int64,
        num_graphs: int,
        index: Int64,
        num_tables: int,
        weighted: bool = False,
        cliques: Sequence[Factors] = (),
    ) -> Structure:
        """Args: index, num_tables and weighted: those of the edges; see `Factors`"""
        ends = torch.from_numpy(np.stack(graph._upper_edges())).t()  # so that each column is contiguous
        edges = Factors(ends, torch.from_numpy(index), num_tables, weighted)
        return cls(graph, labels, owner, num_graphs, (edges, *cliques))

    @property
    def num_nodes(self) -> int:
        return self.graph.num_nodes

    @property
    def index(self) -> Tensor:
        """The numbers of the tables of every edge. Shapes: :math:`(E, J)`"""
        return self.factors[0].index

    @property
    def ends(self) -> Tensor:
        """Both ends of every edge, the lower number first. Shapes: :math:`(2, E)`"""
        return self.factors[0].nodes.t()
