"""Many graphs in a few arrays, one graph after another: how collections of molecules are stored and read quickly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class PackedGraphs:
    """Graphs one after another; those of `graphs()` share this memory.

    Args:
        x: features of all nodes.
        edge_index: both directions of every edge; nodes are numbered from 0 in every graph.
        y: labels, a row per graph.
        node_ptr, edge_ptr: where the nodes and edges of every graph start, and where the last end.
        edge_attr: features of all edges, if there are any.

    Shapes: x :math:`(N, F)`, edge_index :math:`(2, E)`, y :math:`(G, ...)`, node_ptr and edge_ptr :math:`(G + 1)`,
    edge_attr :math:`(E, D)`

    >>> path = torch.tensor([[0, 1], [1, 0]])
    >>> packed = PackedGraphs(torch.eye(3), path, torch.zeros(2), torch.tensor([0, 2, 3]), torch.tensor([0, 2, 2]))
    >>> packed
    PackedGraphs(2 graphs, 3 nodes, 2 directed edges)
    >>> packed.graphs()[1]
    Data(x=[1, 3], edge_index=[2, 0], y=[1])
    """

    x: Tensor
    edge_index: Tensor
    y: Tensor
    node_ptr: Tensor
    edge_ptr: Tensor
    edge_attr: Tensor | None = None

    def __post_init__(self) -> None:
        _check_pointers("nodes", self.node_ptr, len(self.x), len(self.y))
        _check_pointers("edges", self.edge_ptr, self.edge_index.shape[1], len(self.y))
        if self.edge_attr is not None and len(self.edge_attr) != self.edge_index.shape[1]:
            raise InputError(
                f"Expected features of {self.edge_index.shape[1]:,} edges; got those of {len(self.edge_attr):,}."
            )
        last = self.num_nodes.repeat_interleave(self.num_edges) - 1
        wrong = ((self.edge_index < 0) | (self.edge_index > last)).any(0).nonzero()
        if len(wrong):
            edge = int(wrong[0])
            graph = int(torch.searchsorted(self.edge_ptr, edge, right=True)) - 1
            raise InputError(
                f"Expected edges of graph {graph} between the nodes 0 to {int(last[edge])}; got one between "
                f"{self.edge_index[0, edge]} and {self.edge_index[1, edge]}."
            )

    @classmethod
    def of_edges(
        cls, x: Tensor, edge: Tensor, y: Tensor, node_ptr: Tensor, edge_ptr: Tensor, edge_attr: Tensor | None = None
    ) -> PackedGraphs:
        """The graphs of edges that are stored in one direction; the other direction is added."""
        both = torch.stack([edge, edge.flip(0)], -1).flatten(1)
        attr = None if edge_attr is None else edge_attr.repeat_interleave(2, 0)
        return cls(x, both, y, node_ptr, 2 * edge_ptr, attr)

    @classmethod
    def join(cls, parts: Sequence[PackedGraphs]) -> PackedGraphs:
        """The graphs of all parts, one after another."""
        attr = [part.edge_attr for part in parts if part.edge_attr is not None]
        return cls(
            torch.cat([part.x for part in parts]),
            torch.cat([part.edge_index for part in parts], 1),
            torch.cat([part.y for part in parts]),
            pointers(torch.cat([part.num_nodes for part in parts])),
            pointers(torch.cat([part.num_edges for part in parts])),
            torch.cat(attr) if len(attr) == len(parts) else None,
        )

    @property
    def num_nodes(self) -> Tensor:
        """Nodes of every graph."""
        return self.node_ptr.diff()

    @property
    def num_edges(self) -> Tensor:
        """Directed edges of every graph."""
        return self.edge_ptr.diff()

    def __len__(self) -> int:
        return len(self.y)

    def __iter__(self) -> Iterator[Data]:
        return iter(self.graphs())

    def graphs(self) -> list[Data]:
        """Every graph as PyG data, as views of the arrays."""
        nodes, edges = self.num_nodes.tolist(), self.num_edges.tolist()
        ones = [1] * len(self)
        parts = (
            self.x.split_with_sizes(nodes),
            self.edge_index.split_with_sizes(edges, 1),
            self.y.split_with_sizes(ones),
        )
        if self.edge_attr is None:
            return [Data(x=x, edge_index=e, y=y) for x, e, y in zip(*parts, strict=True)]
        attr = self.edge_attr.split_with_sizes(edges)
        return [Data(x=x, edge_index=e, edge_attr=a, y=y) for x, e, y, a in zip(*parts, attr, strict=True)]

    def __repr__(self) -> str:
        return f"PackedGraphs({len(self):,} graphs, {len(self.x):,} nodes, {self.edge_index.shape[1]:,} directed edges)"


def pointers(counts: Tensor) -> Tensor:
    """Where each of some parts starts, given their sizes, and where the last ends.

    Shapes: :math:`(G)` → :math:`(G + 1)`
    """
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def _check_pointers(what: str, ptr: Tensor, total: int, graphs: int) -> None:
    good = ptr.shape == (graphs + 1,) and int(ptr[0]) == 0 and int(ptr[-1]) == total and bool((ptr.diff() >= 0).all())
    if not good:
        came = f"{len(ptr):,} of them, up to {int(ptr[-1]) if len(ptr) else 0:,}"
        raise InputError(
            f"Expected {graphs + 1:,} rising places where the {what} of {graphs:,} graphs start, up to {total:,}; got "
            f"{came}."
        )
