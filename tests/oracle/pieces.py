"""A typed graph split at its rooms, array by array."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from neuraltrees.graph import Graph
from neuraltrees.scenes.pieces import Pieces
from neuraltrees.scenes.scene import Int64
from neuraltrees.scenes.spec import ROOM
from neuraltrees.scenes.typed_graphs import TypedGraph

NONE = -1


def take_apart(graph: TypedGraph) -> Pieces:
    """The pieces of a graph."""
    n = graph.num_nodes
    is_room = np.zeros(n, dtype=bool)
    if ROOM in graph.types:
        is_room = graph.node_type == graph.types.index(ROOM)
    rooms = np.flatnonzero(is_room)
    source, target = graph.edges[:, 0], graph.edges[:, 1]
    touches_room = is_room[graph.edges]
    inner = ~(touches_room[:, 0] | touches_room[:, 1])
    cluster = Graph(np.ascontiguousarray(graph.edges[inner].T), num_nodes=n).component.astype(np.int64)
    # The room that a cluster touches, if it is one alone: the least and the greatest of them agree.
    mixed = np.flatnonzero(touches_room[:, 0] != touches_room[:, 1])
    turned = touches_room[mixed, 0]
    room_end = np.where(turned, source[mixed], target[mixed])
    other_end = np.where(turned, target[mixed], source[mixed])
    least, most = np.full(n, n), np.full(n, NONE)
    np.minimum.at(least, cluster[other_end], room_end)
    np.maximum.at(most, cluster[other_end], room_end)
    # Every piece has a key: its room; n + cluster for one without a room; 2 n + component for those of the core.
    of_cluster = np.where(least == most, least, np.where(most == NONE, n + np.arange(n), NONE))
    key = of_cluster[cluster]
    key[rooms] = NONE
    in_core = key == NONE
    core_edge = in_core[source] & in_core[target]
    core = Graph(np.ascontiguousarray(graph.edges[core_edge].T), num_nodes=n).component.astype(np.int64)
    alone = np.bincount(core[in_core], minlength=n) == 1
    has_piece = np.zeros(n, dtype=bool)
    has_piece[key[~in_core & (key < n)]] = True
    moved = is_room & has_piece & alone[core]  # rooms that are alone in the core and have a piece of their own
    stays = in_core & ~moved
    key = np.where(stays, 2 * n + core, key)
    key[moved] = np.flatnonzero(moved)
    joint = np.flatnonzero(is_room & has_piece & stays)
    return _sorted(graph, key, core_edge, joint)


def _sorted(graph: TypedGraph, key: Int64, core_edge: npt.NDArray[np.bool_], joint: Int64) -> Pieces:
    n = graph.num_nodes
    component = graph.graph.component.astype(np.int64)
    # Places: every node in its piece, then rooms a second time, in the pieces of their own.
    nodes, keys = np.concatenate([np.arange(n), joint]), np.concatenate([key, joint])
    lowest = np.full(3 * n, n)
    np.minimum.at(lowest, keys, nodes)
    order = np.lexsort((nodes, lowest[keys], keys < 2 * n, component[nodes]))
    members = nodes[order]
    begins = np.diff(keys[order], prepend=-1) != 0
    of_place = begins.cumsum() - 1
    ptr = np.append(np.flatnonzero(begins), len(members))
    place = np.empty(len(members), np.int64)
    place[order] = np.arange(len(members))
    first, second = place[:n], np.full(n, NONE)
    second[joint] = place[n:]
    # An edge of the core joins first places; any other joins nodes of a piece, its room at the second place.
    ends = first[graph.edges]
    again = second[graph.edges]
    ends = np.where((again != NONE) & ~core_edge[:, None], again, ends)
    of_edge = of_place[ends[:, 0]]
    edge_order = np.argsort(of_edge, kind="stable")
    edge_ptr = np.concatenate([np.zeros(1, np.int64), np.bincount(of_edge, minlength=len(ptr) - 1).cumsum()])
    joints = np.stack([first[joint], second[joint]], 1)
    joints = joints[np.argsort(joints[:, 1])]
    return Pieces(members, ptr, edge_order, edge_ptr, ends[edge_order], joints, component[members[ptr[:-1]]])
