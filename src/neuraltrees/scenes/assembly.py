"""Trees of pieces put together to the tree of the whole graph; what did not change since the last time is copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuraltrees.scenes.pieces import Pieces
from neuraltrees.scenes.rooms import NOWHERE
from neuraltrees.scenes.scene import Int64
from neuraltrees.scenes.tree_part import Bounds, Run, TreePart, join, run_of
from neuraltrees.scenes.typed_graphs import TypedGraph
from neuraltrees.scenes.typed_trees import TypedTree, glue


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece with its tree.

    Shapes: members :math:`(k)`, edges :math:`(e, 2)`, relation :math:`(e)`

    Args:
        room: the room of its objects, -1 for none.
        in_core: whether it has no objects.
        members, edges: sorted nodes, and ends of edges, as slots.
        relation: numbers of the relations of the edges.
        run: its tree.
    """

    room: int
    in_core: bool
    members: Int64
    edges: Int64
    relation: Int64
    run: Run

    @cached_property
    def first(self) -> int:
        return int(self.members[0])

    @cached_property
    def room_place(self) -> int:
        """The place of the room among the members."""
        return int(np.searchsorted(self.members, self.room))


@dataclass(frozen=True, eq=False)
class _Layout:
    """All pieces in the order of `take_apart`, and where rooms are that two of them have."""

    placed: list[Piece]
    joints: Int64
    component: Int64


class Assembly:
    """The pieces of a graph: those of every room, -1 for objects without one, and those of the core."""

    def __init__(self) -> None:
        self._own: dict[int, list[Piece]] = {}
        self._core: list[Piece] = []
        self._core_of: dict[int, tuple[int, int]] = {}
        self._last: tuple[list[Piece], TreePart, Bounds] | None = None
        self._layout: _Layout | None = None

    @property
    def rooms(self) -> set[int]:
        """The rooms that have a piece."""
        return self._own.keys() - {NOWHERE}

    @property
    def is_empty(self) -> bool:
        return not self._own and not self._core

    def set_room(self, room: int, pieces: list[Piece]) -> None:
        """Replaces the pieces of a room."""
        self._layout = None
        if pieces:
            self._own[room] = pieces
        else:
            self._own.pop(room, None)

    def set_core(self, pieces: list[Piece]) -> None:
        """Replaces the pieces of the core."""
        self._layout = None
        self._core = pieces
        self._core_of = {
            slot: (number, place)
            for number, piece in enumerate(pieces)
            for place, slot in enumerate(piece.members.tolist())
        }

    def edges(self) -> tuple[Int64, Int64]:
        """Ends, as slots, and relations of all edges, in the order of `tree`."""
        placed = self._laid_out().placed
        return np.concatenate([piece.edges for piece in placed]), np.concatenate([piece.relation for piece in placed])

    def tree(self, graph: TypedGraph, number: Int64) -> TypedTree:
        """The tree of the whole graph, whose edges are in the order of `edges`.

        Args:
            number: the node of the graph in every slot.
        """
        layout = self._laid_out()
        placed = layout.placed
        members = np.cumsum([0, *(len(piece.members) for piece in placed)])
        edges = np.cumsum([0, *(len(piece.edges) for piece in placed)])
        part = join(self._runs(placed))
        self._last = (placed, part, Bounds.of(part, members, edges))
        inside = number[np.concatenate([piece.members for piece in placed])]
        nothing = np.zeros(0, np.int64)
        pieces = Pieces(inside, members, nothing, edges, nothing.reshape(0, 2), layout.joints, layout.component)
        return glue(graph, pieces, part)

    def _laid_out(self) -> _Layout:
        if self._layout is None:
            self._layout = self._new_layout()
        return self._layout

    def _new_layout(self) -> _Layout:
        own = [piece for pieces in self._own.values() for piece in pieces]
        count = len(self._core)
        everything = [*self._core, *own]
        first = np.array([piece.first for piece in everything], dtype=np.int64)
        home = np.array([self._core_of.get(piece.room, (NOWHERE, 0)) for piece in own], dtype=np.int64).reshape(-1, 2)
        glued = np.flatnonzero(home[:, 0] != NOWHERE)
        # The first node of the component of every piece: pieces that are glued to the core share the core's.
        lowest = first.copy()
        np.minimum.at(lowest, home[glued, 0], first[count + glued])
        lowest[count + glued] = lowest[home[glued, 0]]
        order = np.lexsort((first, np.arange(len(first)) >= count, lowest))
        sizes = np.array([len(piece.members) for piece in everything], dtype=np.int64)[order]
        start = np.empty(len(order), np.int64)
        start[order] = sizes.cumsum() - sizes
        places = np.array([piece.room_place for piece in own], dtype=np.int64)
        joints = np.stack([start[home[glued, 0]] + home[glued, 1], start[count + glued] + places[glued]], 1)
        component = np.concatenate([np.zeros(1, np.int64), (np.diff(lowest[order]) != 0).cumsum()])
        return _Layout([everything[i] for i in order.tolist()], joints[np.argsort(joints[:, 1])], component)

    def _runs(self, placed: Sequence[Piece]) -> list[Run]:
        """The trees of pieces, long runs of pieces that were together the last time as one."""
        if self._last is None:
            return [piece.run for piece in placed]
        before, part, bounds = self._last
        place = {id(piece): i for i, piece in enumerate(before)}
        where = [place.get(id(piece), -2) for piece in placed]
        found: list[Run] = []
        start = 0
        for i in range(1, len(where) + 1):
            if i < len(where) and where[i] == where[i - 1] + 1 and where[i - 1] >= 0:
                continue
            if where[start] < 0:
                found.append(placed[start].run)
            else:
                found.append(run_of(part, bounds, where[start], where[i - 1] + 1))
            start = i
        return found
