"""The typed H-tree as plain tensors, as typed rounds read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.nn.ensemble.scatter import sum_rows
from neuraltrees.nn.ensemble.sparse import stable_order
from neuraltrees.nn.messages import Messages

DOWN = 2  # edge type of messages from a bag to its children
GEOMETRY = 13  # numbers per edge of the graph: offset, distance, sizes of both ends, which of these are known
# For batches: what the numbers in each attribute of a graph with a typed tree refer to, if anything; see `SceneData`.
SCENE_ATTRIBUTES = {
    "scene_kind": None,
    "scene_offset": None,
    "scene_ends": "graph nodes",
    "scene_home": "tree nodes",
    "scene_relation": None,
    "scene_geometry": None,
}


@dataclass(frozen=True, eq=False)
class TypedStructure:
    r"""A typed H-tree of N nodes, L of them leaves and B bags, of a graph of n nodes and m edges.

    Shapes: leaf, kappa and leaf_edge :math:`(L)`, bag :math:`(B)`, kind :math:`(N)`, edge_index :math:`(2, E)`,
    edge_type :math:`(E)`, offset :math:`(E, 3)`, ends :math:`(2, m)`, home and relation :math:`(m)`, geometry
    :math:`(m, 13)`

    Args:
        num_nodes: the number n of graph nodes.
        leaf, bag: the tree nodes that are leaves, and the others.
        kappa: the graph node of every leaf.
        leaf_edge: for every leaf, the edge from its bag to it, as a column of `edge_index`.
        kind: type of a leaf; for a bag the number of types plus :math:`\sum 2^t` over the set of its types.
        edge_index, edge_type: both directions of the tree's edges, sorted by target; 0 root-root, 1 up, 2 down.
        offset: for every tree edge, the centre of its source minus the centre of its target.
        ends: source and target of every edge of the graph.
        home: for every edge of the graph, the bag to which its geometry is added.
        relation: the relation of every edge of the graph.
        geometry: the geometry of every edge of the graph; see `TypedTree`.
    """

    num_nodes: int
    leaf: Tensor
    bag: Tensor
    kappa: Tensor
    leaf_edge: Tensor
    kind: Tensor
    edge_index: Tensor
    edge_type: Tensor
    offset: Tensor
    ends: Tensor
    home: Tensor
    relation: Tensor
    geometry: Tensor

    @classmethod
    def of(cls, data: Data) -> TypedStructure:
        """The structure of a graph with a typed H-tree, or of a batch of them."""
        check_attributes(data)
        edge_index, edge_type, leaf, kind = (
            data[name].cpu() for name in ("tree_edge_index", "tree_edge_type", "tree_leaf", "scene_kind")
        )
        # Sorted by target, where messages are summed.
        order = torch.from_numpy(stable_order(edge_index[1].numpy(), kind.shape[0]))
        edge_index, edge_type = edge_index[:, order], edge_type[order]
        count = kind.shape[0]
        is_bag = torch.ones(count, dtype=torch.bool)
        is_bag[leaf] = False
        into = torch.empty(count, dtype=torch.int64)
        down = (edge_type == DOWN).nonzero().flatten()
        into[edge_index[1, down]] = down
        rest: Any = (data[name].cpu() for name in list(SCENE_ATTRIBUTES)[2:])
        return cls(
            int(data.num_nodes),
            leaf,
            is_bag.nonzero().flatten(),
            data.tree_kappa.cpu(),
            into[leaf],
            kind,
            edge_index,
            edge_type,
            data.scene_offset.cpu()[order],
            *rest,
        )

    @cached_property
    def first_states(self) -> Tensor:
        """The row of every tree node in the initial states, graph nodes then bags. Shapes: → :math:`(N)`"""
        place = torch.empty_like(self.kind)
        place = place.index_copy(0, self.leaf, self.kappa)
        return place.index_copy(0, self.bag, self._bag_rows())

    @cached_property
    def start(self) -> Tensor:
        """Where the edges to every tree node begin in `edge_index`, which is sorted by them. Shapes: → :math:`(N)`"""
        return torch.searchsorted(
            self.edge_index[1].contiguous(), torch.arange(self.kind.shape[0], device=self.kind.device)
        )

    @cached_property
    def bag_rows(self) -> Tensor:
        """The number of every tree node among bags; undefined for leaves. Shapes: → :math:`(N)`"""
        return torch.zeros_like(self.kind).index_copy(0, self.bag, self._bag_rows() - self.num_nodes)

    def _bag_rows(self) -> Tensor:
        return self.num_nodes + torch.arange(self.bag.shape[0], device=self.bag.device)

    def relations(self, types: int) -> Tensor:
        """The relation of every message, (kind, direction, kind), from 0. Shapes: → :math:`(E)`"""
        kinds = num_kinds(types)
        # No bag has an empty set of types, so the kinds of bags are shifted down by one.
        kind = self.kind - (self.kind >= types).long()
        source, target = kind[self.edge_index[0]], kind[self.edge_index[1]]
        return (source * 3 + self.edge_type) * kinds + target

    def degree(self, dtype: torch.dtype) -> Tensor:
        """The number of neighbours of every tree node. Shapes: → :math:`(N)`"""
        return sum_rows(torch.ones_like(self.edge_type, dtype=dtype), self.edge_index[1], self.kind.shape[0])

    def messages(self, first: bool, last: bool, gated: bool, directions: bool, degree: Tensor) -> Messages:
        """The messages of a round.

        Args:
            first: whether the states before it are those of graph nodes and bags; else of tree nodes.
            last: whether the states after it are those of leaves only.
            gated: whether every message has its own row, after those of the states.
            directions: whether the relation of a message is its direction.
            degree: see `degree`; counts have its dtype.

        Shapes: degree :math:`(N)`
        """
        chosen = self.leaf_edge if last else slice(None)
        source, target, kind = self.edge_index[0][chosen], self.edge_index[1][chosen], self.edge_type[chosen]
        count = torch.ones_like(source, dtype=degree.dtype)
        source_degree, before = degree[source], degree
        everyone = torch.arange(self.kind.shape[0], device=self.kind.device)
        own = everyone
        start = None if torch.compiler.is_exporting() else self.start  # which an exported program does not use
        if first:
            # A leaf has its bag as only neighbour.
            before = torch.cat([degree.new_ones(self.num_nodes), degree[self.bag]])
            own = self.first_states
            source = own[source]
        if last:
            own, degree = own[self.leaf], degree[self.leaf]
            target = start = torch.arange(self.leaf.shape[0], device=target.device)
        each = torch.arange(source.shape[0], device=source.device)
        return Messages(
            source=before.shape[0] + each if gated else source,
            target=target,
            count=count,
            relation=kind if directions else torch.zeros_like(kind),
            own=own,
            degree=degree,
            source_degree=torch.cat([before, source_degree]) if gated else before,
            edge=each,
            num_edge_rows=source.shape[0] + 1,
            start=start,
        )

    def senders(self, first: bool, last: bool) -> Tensor:
        """The state that sends every message of a round."""
        source = self.edge_index[0][self.leaf_edge if last else slice(None)]
        return self.first_states[source] if first else source


def check_attributes(data: Data) -> None:
    """Raises `InputError` for a graph without a typed H-tree."""
    present = set(data.keys())
    missing = [name for name in ("tree_leaf", *SCENE_ATTRIBUTES) if name not in present]
    if missing:
        raise InputError(
            f"Expected a graph with a typed H-tree; got {type(data).__name__} without {', '.join(missing)}. Make "
            f"it from a scene with SceneFormat.graph(scene), or use another schedule."
        )


def num_kinds(types: int) -> int:
    """The number of kinds of tree nodes: one per type for leaves, and one per nonempty set of types for bags."""
    return types + (1 << types) - 1
