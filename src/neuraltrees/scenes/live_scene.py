"""A scene that changes: its nodes and edges, the room of every object, and the rooms that have changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from neuraltrees.errors import InputError
from neuraltrees.scenes.rooms import NOWHERE
from neuraltrees.scenes.scene import ADJACENT, IN, Float64, NodeId, Scene, SceneEdge, SceneNode, check_node
from neuraltrees.scenes.spec import OBJECT, PLACES, ROOM

_ROLES = {OBJECT: OBJECT, ROOM: ROOM, **dict.fromkeys(PLACES, "place")}
Link = tuple[int, int, str]


class LiveScene:
    """Nodes in slots. A node keeps its slot until it is deleted; a node that is added later has a larger slot.

    Attributes:
        room: for every slot the slot of the room that an object or place is in, -1 for none.
        objects, places: the slots of those in every room; objects without a room are those in -1.
        changed: the rooms, -1 included, whose objects, places, extent or edges have changed.
        rooms_changed: whether rooms, or edges between them, have.
        touched: slots whose node was added, replaced or deleted.
        embedded: slots of nodes with an embedding.
    """

    def __init__(self) -> None:
        self.slot: dict[NodeId, int] = {}
        self.nodes: list[SceneNode] = []
        self.links: list[dict[int, list[Link]]] = []
        self.edges: dict[Link, None] = {}
        self.relations: Counter[str] = Counter()
        self.room: list[int] = []
        self.objects: dict[int, set[int]] = {NOWHERE: set()}
        self.places: dict[int, set[int]] = {NOWHERE: set()}
        self.changed: set[int] = set()
        self.rooms_changed = True
        self.touched: set[int] = set()
        self.embedded: set[int] = set()
        self._stale: set[int] = set()

    def put(self, node: SceneNode) -> None:
        """Adds a node, or replaces the one of its id; edges stay."""
        check_node(node)
        slot = self.slot.get(node.id)
        if slot is None:
            slot = self.slot[node.id] = len(self.nodes)
            self.nodes.append(node)
            self.links.append({})
            self.room.append(NOWHERE)
            self._enter(slot)
        elif self.role(slot) != _ROLES.get(node.type):
            self._touch(slot)
            self._leave(slot)
            self.nodes[slot] = node
            self._enter(slot)
            self._touch(slot)
        else:
            self.nodes[slot] = node
        self.touched.add(slot)
        (self.embedded.discard if node.embedding is None else self.embedded.add)(slot)
        if self.role(slot) == ROOM:
            self.changed.add(slot)
            self.rooms_changed = True
        elif self.role(slot) == "place":
            self._touch(slot)  # it may be nearer to another now
        elif self.role(slot) == OBJECT:
            self._stale.add(slot)

    def delete(self, node_id: NodeId) -> None:
        """Removes a node with its edges."""
        slot = self._slot_of(node_id)
        self._touch(slot)
        for other in list(self.links[slot]):
            for link in self.links[slot][other]:
                del self.edges[link]
                self._forget_relation(link[2])
            del self.links[other][slot]
        self.links[slot] = {}
        self._leave(slot)
        self._stale.discard(slot)
        self.touched.add(slot)
        self.embedded.discard(slot)
        del self.slot[node_id]

    def join(self, edge: SceneEdge) -> None:
        """Adds an edge; one that is there is left as it is."""
        source, target = self._slot_of(edge.source), self._slot_of(edge.target)
        if source == target:
            raise InputError(f"Expected edges between different nodes; got one from {edge.source!r} to itself.")
        link = (source, target, edge.relation)
        if link in self.edges:
            return
        self.edges[link] = None
        self.relations[edge.relation] += 1
        self.links[source].setdefault(target, []).append(link)
        self.links[target].setdefault(source, []).append(link)
        self._touch_edge(source, target)

    def part(self, source: NodeId, target: NodeId) -> None:
        """Removes all edges between two nodes."""
        a, b = self._slot_of(source), self._slot_of(target)
        if b not in self.links[a]:
            raise InputError(f"Expected an edge between {source!r} and {target!r} to delete; got none.")
        self._touch_edge(a, b)
        for link in self.links[a].pop(b):
            del self.edges[link]
            self._forget_relation(link[2])
        del self.links[b][a]

    def role(self, slot: int) -> str | None:
        return _ROLES.get(self.nodes[slot].type)

    def scene(self) -> Scene:
        """The scene as it is now."""
        ids = {slot: name for name, slot in self.slot.items()}
        edges = [SceneEdge(ids[a], ids[b], relation) for a, b, relation in self.edges]
        return Scene.of((self.nodes[slot] for slot in ids), edges)

    def settle(self) -> None:
        """Updates the rooms of all objects and places that changes may have moved."""
        stale = [slot for slot in self._stale if self.role(slot) in (OBJECT, "place")]
        for slot in sorted(stale, key=lambda slot: self.role(slot) == OBJECT):  # places before objects
            of = self.objects if self.role(slot) == OBJECT else self.places
            room = self._room_of_object(slot) if of is self.objects else self._direct_room(slot)
            self.changed |= {self.room[slot], room}
            of[self.room[slot]].discard(slot)
            of.setdefault(room, set()).add(slot)
            self.room[slot] = room
        self._stale.clear()

    def _touch(self, slot: int) -> None:
        """Notes the rooms that depend on a changed node: its own, its neighbours', and those of adjacent objects."""
        role = self.role(slot)
        if role == ROOM:
            self.changed.add(slot)
            self.rooms_changed = True
            for other in self.links[slot]:
                if self.role(other) in (OBJECT, "place"):
                    self._touch(other)
        elif role is not None:
            around = {slot, *self.links[slot]}
            for other in (slot, *self.links[slot]):
                if self.role(other) == "place":
                    around.update(self.links[other])
            self._stale |= {other for other in around if self.role(other) in (OBJECT, "place")}

    def _touch_edge(self, a: int, b: int) -> None:
        """Notes a changed edge: an edge to a room concerns its other end alone, not all neighbours of the room."""
        if self.role(a) == self.role(b) == ROOM:
            self.rooms_changed = True
            return
        for slot, other in ((a, b), (b, a)):
            if self.role(slot) == ROOM:
                self.changed.add(slot)
            elif self.role(other) is not None:
                self._touch(slot)

    def _enter(self, slot: int) -> None:
        role = self.role(slot)
        self.room[slot] = NOWHERE
        if role == OBJECT:
            self.objects[NOWHERE].add(slot)
        elif role == "place":
            self.places[NOWHERE].add(slot)
        elif role == ROOM:
            self.objects.setdefault(slot, set())
            self.places.setdefault(slot, set())

    def _leave(self, slot: int) -> None:
        role = self.role(slot)
        if role in (OBJECT, "place"):
            (self.objects if role == OBJECT else self.places)[self.room[slot]].discard(slot)
            self.changed.add(self.room[slot])
        elif role == ROOM:
            for of in (self.objects, self.places):
                for member in of.pop(slot, ()):
                    self.room[member] = NOWHERE
                    of[NOWHERE].add(member)
                    self._stale.add(member)
            self.changed.discard(slot)
            self.changed.add(NOWHERE)

    def _direct_room(self, slot: int) -> int:
        return min((other for other in self.links[slot] if self.role(other) == ROOM), default=NOWHERE)

    def _room_of_object(self, slot: int) -> int:
        """As `rooms_of`."""
        direct = self._direct_room(slot)
        if direct != NOWHERE:
            return direct
        places = sorted(other for other in self.links[slot] if self.role(other) == "place")
        direct = next((self.room[place] for place in places if self.room[place] != NOWHERE), NOWHERE)
        if direct != NOWHERE:
            return direct
        for place in places:
            others = sorted(
                other for other in self.links[place] if self.role(other) == "place" and self.room[other] != NOWHERE
            )
            if others:
                away = positions([self.nodes[place]]) - positions([self.nodes[other] for other in others])
                distance = np.linalg.norm(away, axis=1)
                near = int(np.argmin(np.where(np.isnan(distance), np.inf, distance)))  # the first of equals
                return self.room[others[near]]
        return NOWHERE

    def _slot_of(self, node_id: NodeId) -> int:
        if node_id not in self.slot:
            raise InputError(f"Expected the id of a node of the scene; got {node_id!r}.")
        return self.slot[node_id]

    def _forget_relation(self, relation: str) -> None:
        self.relations[relation] -= 1
        if not self.relations[relation]:
            del self.relations[relation]


def positions(nodes: Iterable[SceneNode]) -> Float64:
    return _rows(node.position for node in nodes)


def _rows(values: Iterable[object]) -> Float64:
    unknown = (np.nan, np.nan, np.nan)
    rows = [unknown if value is None else value for value in values]
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def sub_scene(live: LiveScene, place: Mapping[int, int], between_rooms: bool) -> Scene:
    """The nodes of some slots, and the edges that objects among them have to each other and to their rooms.

    Args:
        place: the place of every slot; slots are sorted.
        between_rooms: instead, the edges that rooms have to each other.
    """
    nodes = [live.nodes[slot] for slot in place]
    ends = (ROOM,) if between_rooms else (OBJECT, ROOM)
    links = {
        link: None
        for slot in place
        if live.role(slot) == ends[0]
        for other, found in live.links[slot].items()
        if other in place and live.role(other) in ends
        for link in found
    }
    kinds = {kind: i for i, kind in enumerate(dict.fromkeys(node.type for node in nodes))}
    relations = {name: i for i, name in enumerate(sorted({link[2] for link in links}))}
    sizes, centres, given = (
        _rows(values)
        for values in ((n.size for n in nodes), (n.box_centre for n in nodes), (n.position for n in nodes))
    )
    return Scene(
        tuple(node.id for node in nodes),
        tuple(kinds),
        np.array([kinds[node.type] for node in nodes], dtype=np.int64),
        tuple(node.name for node in nodes),
        np.array([-1 if node.label is None else node.label for node in nodes], dtype=np.int64),
        given,
        sizes,
        np.where(np.isnan(sizes), np.nan, np.where(np.isnan(centres), given, centres)),
        {},
        tuple(node.attributes for node in nodes),
        np.array([(place[a], place[b]) for a, b, _ in links], dtype=np.int64).reshape(-1, 2),
        tuple(relations),
        np.array([relations[relation] for _, _, relation in links], dtype=np.int64),
    )


def edge_of(edge: SceneEdge | tuple[NodeId, NodeId] | tuple[NodeId, NodeId, str], live: LiveScene) -> SceneEdge:
    """An edge given in any form; a plain pair is `in` between different types and `adjacent` otherwise."""
    if isinstance(edge, SceneEdge):
        return edge
    if not isinstance(edge, tuple | list) or len(edge) not in (2, 3):
        raise InputError(f"Expected edges as SceneEdge or (source, target[, relation]); got {edge!r}.")
    if len(edge) == 3:
        return SceneEdge(*edge)
    ends = [live.slot.get(end) for end in edge]
    types = {live.nodes[slot].type for slot in ends if slot is not None}
    return SceneEdge(edge[0], edge[1], ADJACENT if len(types) == 1 else IN)
