"""A typed graph split at its rooms: a piece per room with the nodes that belong to it alone, and a core of the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuraltrees._core import native
from neuraltrees.scenes.scene import Int64
from neuraltrees.scenes.spec import ROOM
from neuraltrees.scenes.typed_graphs import TypedGraph


@dataclass(frozen=True, eq=False)
class Pieces:
    """Connected parts of a graph that meet in single rooms; their disjoint union has a room once per part.

    What remains of the graph without its rooms falls into clusters. A cluster that touches one room belongs to the
    piece of that room; one that touches none is a piece of its own; rooms, and clusters that touch several of them,
    are the core, every component of which is a piece. A room that is alone in the core is only in its own piece. Pieces
    are ordered by the component of the graph, in each the core first, then by their first node.

    Shapes: members :math:`(U)`, ptr :math:`(P + 1)`, edge_order :math:`(m)`, edge_ptr :math:`(P + 1)`, ends
    :math:`(m, 2)`, joints :math:`(J, 2)`, component :math:`(P)`

    Args:
        members: graph nodes of the pieces, sorted in every piece.
        ptr: where the members of every piece begin.
        edge_order: the edges of the graph, piece by piece.
        edge_ptr: where the edges of every piece begin.
        ends: source and target of these edges, as places in `members`.
        joints: two places in `members` of every room that is in the core and in a piece of its own.
        component: the component of the graph that every piece belongs to.
    """

    members: Int64
    ptr: Int64
    edge_order: Int64
    edge_ptr: Int64
    ends: Int64
    joints: Int64
    component: Int64


def one_piece(graph: TypedGraph) -> Pieces:
    """The pieces of a graph that is a room with objects that are all joined to it."""
    n, m = graph.num_nodes, graph.num_edges
    ptr, edge_ptr, first = np.array([0, n]), np.array([0, m]), np.zeros(1, np.int64)
    return Pieces(np.arange(n), ptr, np.arange(m), edge_ptr, graph.edges, np.zeros((0, 2), np.int64), first)


def take_apart(graph: TypedGraph) -> Pieces:
    """The pieces of a graph."""
    is_room = np.zeros(graph.num_nodes, dtype=np.uint8)
    if ROOM in graph.types:
        is_room[graph.node_type == graph.types.index(ROOM)] = 1
    return Pieces(*native.take_apart(np.ascontiguousarray(graph.edges), is_room))
