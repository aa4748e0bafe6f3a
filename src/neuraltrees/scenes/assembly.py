"""The tree of a whole graph from the trees of its pieces; unchanged pieces are copied from the last tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from neuraltrees.scenes.pieces import Pieces
from neuraltrees.scenes.rooms import NOWHERE
from neuraltrees.scenes.scene import Float64, Int64
from neuraltrees.scenes.tree_part import Bounds, Float32, Run, TreePart, edge_geometry, join, run_of
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


@dataclass(eq=False)
class _Layout:
    """All pieces in the order of `take_apart`, and the rooms that a piece of the core and one of their own have.

    Args:
        placed: the pieces.
        component: the component of each.
        core, core_place: for every such room the piece of the core, and its place among the members.
        own, own_place: the same for its own piece.
        exchanged: the pieces that were put in the place of others since the layout was last used; None if it is new.
    """

    placed: list[Piece]
    component: Int64
    core: Int64
    core_place: Int64
    own: Int64
    own_place: Int64
    exchanged: set[int] | None = None

    @cached_property
    def sizes(self) -> Int64:
        """Numbers of members and of edges of all pieces. Shapes: :math:`(2, P)`"""
        counted = [(len(piece.members), len(piece.edges)) for piece in self.placed]
        return np.array(counted, dtype=np.int64).reshape(-1, 2).T.copy()

    @cached_property
    def where(self) -> dict[int, int]:
        return {id(piece): i for i, piece in enumerate(self.placed)}

    def joints(self, start: Int64) -> Int64:
        """Both places of these rooms among the members of all pieces, which begin at these places."""
        return np.stack([start[self.core] + self.core_place, start[self.own] + self.own_place], 1)

    def exchange(self, old: Piece, new: Piece) -> None:
        """Puts a piece in the place of one with the same first member and room."""
        i = self.where.pop(id(old))
        self.placed[i] = new
        self.where[id(new)] = i
        self.sizes[:, i] = len(new.members), len(new.edges)
        if self.exchanged is not None:
            self.exchanged.add(i)
        joint = int(np.searchsorted(self.own, i))
        if joint < len(self.own) and self.own[joint] == i:
            self.own_place[joint] = new.room_place


@dataclass(frozen=True, eq=False)
class _Last:
    """The last tree, and the pieces that it was assembled from."""

    placed: list[Piece]
    part: TreePart
    bounds: Bounds
    members: Int64
    edges: Int64
    relation: Int64


class Assembly:
    """The pieces of a graph: those of every room, -1 for objects without one, and those of the core."""

    def __init__(self) -> None:
        self._own: dict[int, list[Piece]] = {}
        self._core: list[Piece] = []
        self._core_of: dict[int, tuple[int, int]] = {}
        self._last: _Last | None = None
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
        before = self._own.pop(room, [])
        if pieces:
            self._own[room] = pieces
        self._keep_layout(before, pieces)

    def set_core(self, pieces: list[Piece]) -> None:
        """Replaces the pieces of the core."""
        self._layout = None
        self._core = pieces
        self._core_of = {
            slot: (number, place)
            for number, piece in enumerate(pieces)
            for place, slot in enumerate(piece.members.tolist())
        }

    def resize_rooms(self, rooms: set[int], rows: Float64) -> None:
        """Recomputes the geometry of the core's edges after the sizes of some rooms have changed.

        Args:
            rooms: the slots of these rooms.
            rows: position and size in every slot.

        Shapes: rows :math:`(s, 6)`
        """
        for number in {self._core_of[room][0] for room in rooms if room in self._core_of}:
            piece = self._core[number]
            ends = np.searchsorted(piece.members, piece.edges)
            inside = rows[piece.members]
            part = replace(piece.run.part, geometry=edge_geometry(inside[:, :3], inside[:, 3:], ends))
            self._core[number] = replace(piece, run=replace(piece.run, part=part))
            self._keep_layout([piece], [self._core[number]])

    def assemble(self) -> tuple[Int64, Int64]:
        """Puts all pieces together; the ends, as slots, and the relations of all edges, in the order of `tree`."""
        layout = self._laid_out()
        placed = layout.placed
        members, edges = np.concatenate([np.zeros((2, 1), np.int64), layout.sizes.cumsum(1)], 1)
        runs: list[Run] = []
        columns: list[tuple[Int64, Int64, Int64]] = []
        for piece, first, stop in self._spans(layout):
            if piece is not None:
                runs.append(piece.run)
                columns.append((piece.members, piece.edges, piece.relation))
            elif self._last is not None:
                last, of = self._last, self._last.bounds
                runs.append(run_of(last.part, of, first, stop))
                inside, between = (slice(int(ptr[first]), int(ptr[stop])) for ptr in (of.members, of.edges))
                columns.append((last.members[inside], last.edges[between], last.relation[between]))
        part = join(runs)
        found = (np.concatenate(each) for each in zip(*columns, strict=True))
        layout.exchanged = set()
        self._last = _Last(list(placed), part, Bounds.of(part, members, edges), *found)
        return self._last.edges, self._last.relation

    def tree(self, graph: TypedGraph, number: Int64, x: Float32) -> TypedTree:
        """The tree of the whole graph, whose edges are those that `assemble` has returned.

        Args:
            number: the node of the graph in every slot.
            x: features of the nodes.
        """
        layout, last = self._laid_out(), self._last
        assert last is not None
        start, nothing = last.bounds.members, np.zeros(0, np.int64)
        pieces = Pieces(
            number[last.members],
            start,
            nothing,
            last.bounds.edges,
            nothing.reshape(0, 2),
            layout.joints(start),
            layout.component,
        )
        return glue(graph, pieces, last.part, x)

    def _keep_layout(self, before: list[Piece], after: list[Piece]) -> None:
        """Keeps the order of pieces if those that come have the first members of those that go."""
        if self._layout is None or [piece.first for piece in before] != [piece.first for piece in after]:
            self._layout = None
            return
        for old, new in zip(before, after, strict=True):
            self._layout.exchange(old, new)

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
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        places = np.array([piece.room_place for piece in own], dtype=np.int64)
        glued = glued[np.argsort(place[count + glued])]
        return _Layout(
            [everything[i] for i in order.tolist()],
            np.concatenate([np.zeros(1, np.int64), (np.diff(lowest[order]) != 0).cumsum()]),
            place[home[glued, 0]],
            home[glued, 1],
            place[count + glued],
            places[glued],
        )

    def _spans(self, layout: _Layout) -> Iterator[tuple[Piece | None, int, int]]:
        """The pieces one after another; of those that were together the last time, where they were then."""
        placed = layout.placed
        if layout.exchanged is not None:  # the order is that of the last time
            start = 0
            for i in (*sorted(layout.exchanged), len(placed)):
                if start < i:
                    yield None, start, i
                if i < len(placed):
                    yield placed[i], 0, 0
                start = i + 1
            return
        place = {} if self._last is None else {id(piece): i for i, piece in enumerate(self._last.placed)}
        where = [place.get(id(piece), -2) for piece in placed]
        start = 0
        for i in range(1, len(where) + 1):
            if i < len(where) and where[i] == where[i - 1] + 1 and where[i - 1] >= 0:
                continue
            yield (placed[start], 0, 0) if where[start] < 0 else (None, where[start], where[i - 1] + 1)
            start = i
