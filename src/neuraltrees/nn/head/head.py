"""The interface of a head: how the states of graph nodes become answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.nn.ensemble.incidence import Incidence
from neuraltrees.nn.ensemble.sparse import Coefficients, SparseMap
from neuraltrees.nn.parallel import Part
from neuraltrees.nn.reset import reset_children

Level: TypeAlias = Literal["node", "graph"]


@dataclass(frozen=True)
class Places:
    """The type and the graph of every node.

    Args:
        node_type: the type of every node, from 0; None if there is one type.
        graph: the graph of every node, from 0; None if there is one graph.
        num_graphs: number of graphs.
        bag_graph: the graph of every bag, for heads that read bags.
        padded: whether there are rows that belong to no graph; their graph is `num_graphs`.
        views: how many nodes of every graph have each state, if states are those of views instead of nodes.

    Shapes: node_type and graph :math:`(n)`, bag_graph :math:`(B)`
    """

    node_type: Tensor | None = None
    graph: Tensor | None = None
    num_graphs: int = 1
    bag_graph: Tensor | None = None
    padded: bool = False
    views: SparseMap | None = None

    def with_views(self, view: Incidence, dtype: torch.dtype) -> Places:
        """The same for states of views, given the view of every node."""
        assert self.graph is not None
        pair, count = torch.unique(self.graph * view.rows + view.index, return_counts=True)
        shape = self.num_graphs, view.rows
        entries = Coefficients(pair // view.rows, pair % view.rows, count.to(dtype), shape)
        return replace(self, views=SparseMap.of(entries, dtype, self.graph.device))

    def of_rows(self, rows: Tensor) -> Places:
        """The places of some of the nodes. Shapes: rows :math:`(n')`"""
        node_type, graph = (None if each is None else each.cpu()[rows] for each in (self.node_type, self.graph))
        return replace(self, node_type=node_type, graph=graph)

    @classmethod
    def of(cls, data: Data) -> Places:
        """The places of a graph, or of a batch of graphs."""
        return cls(data.get("node_type"), data.get("batch"), int(getattr(data, "num_graphs", None) or 1))


class Head(nn.Module):
    """Answers from states.

    Your own head is a subclass with a constructor `(in_channels, out_channels, runs)` and `forward`; a head that reads
    more of the data than node types and graphs, such as edges, also overrides `plan`.

    - `level`: whether it answers per node or per graph.
    - `reads_labels`: whether its answers depend on known labels. Then `plan` takes them, and `lessons` and `loss`
      define how it is trained.
    - `reads_edges`: whether it is constructed with `edge_channels` and called with the features of edges.
    - `by_row`: whether the answer of a node depends only on its own state, type and graph; then a process can answer
      for some nodes of a graph.
    - `reads_bags`: whether it is called with the states of bags in addition to those of nodes.
    - `takes_views`: whether it also answers from states of views; see `Places`.
    """

    level: ClassVar[Level] = "node"
    reads_labels: ClassVar[bool] = False
    reads_edges: ClassVar[bool] = False
    by_row: ClassVar[bool] = False
    reads_bags: bool = False
    takes_views: bool = False

    def __init__(self, in_channels: int, out_channels: int | Mapping[str, int], runs: int | None = None) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.runs = in_channels, out_channels, runs

    def plan(self, data: Data, known: Tensor | None = None) -> Any:
        """What `forward` needs to know about a graph or a batch of graphs; movable as `Schedule.plan` is.

        Args:
            data: the graph or the batch.
            known: known labels, -1 elsewhere; only for a head that reads labels.

        Shapes: known :math:`(n)` or :math:`(n, R)`
        """
        return Places.of(data)

    def part(self, data: Data, part: Part, known: Tensor | None = None) -> Any:
        """As `plan`, for a process that has the states of some nodes and answers for these."""
        if not self.by_row:
            raise InputError(
                f"Expected a head that can be computed in parts, such as 'node' or 'crf'; got {type(self).__name__}, "
                f"whose answers depend on several nodes. Use head='node', or one process."
            )
        return Places.of(data).of_rows(part.owned.cpu())

    def part_lessons(self, data: Data, part: Part, known: Tensor, seeds: Sequence[int]) -> Sequence[Any]:
        """As `lessons`, for such a process."""
        raise NotImplementedError

    def begin(self, h: Tensor, places: Any) -> Tensor:
        """Adds known labels to the states before the first round; by default nothing."""
        return h

    def forward(self, h: Tensor, places: Any) -> Tensor:
        """Shapes: h :math:`(n, *, F)` → :math:`(n, *, C)` per node, :math:`(G, *, C)` per graph"""
        raise NotImplementedError

    def lessons(self, data: Data, known: Tensor, seeds: Sequence[int]) -> Sequence[Any]:
        """The lessons that a head that reads labels is trained with; see `turn`.

        Shapes: known :math:`(n, R)`, -1 where there is no training label
        """
        raise NotImplementedError

    def turn(self, done: int, epochs: int, lessons: int) -> int:
        """The number of the lesson of the next epoch, after `done` of `epochs`."""
        return done % lessons

    def loss(self, h: Tensor, lesson: Any) -> Tensor:
        """The loss of every node in a lesson, zero where it has none. Shapes: → :math:`(n, R)`"""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Resets all parameters to new random values."""
        reset_children(self)


class NoHead(Head):
    """The states after the last round are the answers."""

    by_row = True

    def forward(self, h: Tensor, places: Any) -> Tensor:
        return h
