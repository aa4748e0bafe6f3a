"""A map that grows: an update of a scene rebuilds the trees of the rooms that it changes, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from neuraltrees.checks import check_seed
from neuraltrees.errors import InputError
from neuraltrees.scenes.assembly import Assembly, Piece
from neuraltrees.scenes.live_scene import LiveScene, edge_of, sub_scene
from neuraltrees.scenes.pieces import Pieces, one_piece, take_apart
from neuraltrees.scenes.rooms import NOWHERE
from neuraltrees.scenes.scene import NO_LABEL, Int64, NodeId, Scene, SceneEdge, SceneNode
from neuraltrees.scenes.spec import OBJECT, ROOM, TypedGraphSpec
from neuraltrees.scenes.tree_part import MOST_NODES, Bounds, build_part, node_features, run_of
from neuraltrees.scenes.typed_graphs import RELATIONS, TypedGraph, graph_in_rooms, relation_codes, typed_graph
from neuraltrees.scenes.typed_trees import TypedTree, typed_tree

SPARE_SLOTS = 1000  # slots of deleted nodes that may stay in any case


@dataclass(eq=False)
class _Columns:
    """Nodes of the typed graph by slot: place of the type or -1, label, position and size, and features."""

    kind: Int64
    label: Int64
    rows: npt.NDArray[np.float64]
    x: npt.NDArray[np.float32]

    def grow(self, count: int) -> None:
        more = 2 * count - len(self.kind)
        self.kind = np.concatenate([self.kind, np.full(more, -1)])
        self.label = np.concatenate([self.label, np.full(more, NO_LABEL)])
        self.rows = np.concatenate([self.rows, np.full((more, 6), np.nan)])
        self.x = np.concatenate([self.x, np.zeros((more, 4), np.float32)])


class SceneTracker:
    """The typed H-tree of a scene that changes; it is always the tree that `typed_tree` would build from scratch.

    After an update, the trees of the rooms whose objects, places or edges have changed are rebuilt, and all trees are
    joined. While the scene has edges between objects of different rooms, and with other types than objects and rooms in
    the spec, the whole tree is rebuilt. `SceneLabeller.label_tracker` labels the scene after each update.

    Args:
        scene: the scene at the start; by default an empty one.
        spec: how the scene becomes a typed graph.
        seed: see `typed_tree`.

    >>> tracker = SceneTracker()
    >>> tracker.update([SceneNode("bath", "room"), SceneNode("tub", "object")], [("tub", "bath")])
    >>> tracker.update([SceneNode("sink", "object")], [("sink", "bath")])
    >>> tracker.tree.graph
    TypedGraph(3 nodes: 2 object, 1 room; 2 edges)
    >>> tracker.update(deleted_nodes=["tub"])
    >>> tracker.tree.graph.ids
    ('bath', 'sink')
    """

    def __init__(self, scene: Scene | None = None, spec: TypedGraphSpec | None = None, *, seed: int = 0) -> None:
        self.spec = TypedGraphSpec() if spec is None else spec
        self.seed = check_seed(seed)
        self._live = LiveScene()
        self._metadata: Mapping[str, Any] = {}
        self._columns = _Columns(
            np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 6)), np.zeros((0, 4), np.float32)
        )
        self._ids: tuple[NodeId, ...] | None = None
        self._relation_number = {name: i for i, name in enumerate(RELATIONS)}
        self._assembly = Assembly()
        self._irregular: set[int] = set()
        self._tree: TypedTree | None = None
        self.rebuilt: tuple[NodeId | None, ...] = ()
        if scene is not None:
            if not isinstance(scene, Scene):
                raise InputError(f"Expected a Scene; got {type(scene).__name__}. Read a file first: read_scene(path).")
            self._metadata = scene.metadata
            pairs = zip(scene.edges.tolist(), scene.edge_relation.tolist(), strict=True)
            edges = [SceneEdge(scene.ids[a], scene.ids[b], scene.relations[kind]) for (a, b), kind in pairs]
            self.update(scene.nodes, edges)

    def update(
        self,
        nodes: Iterable[SceneNode] = (),
        edges: Iterable[SceneEdge | tuple[NodeId, NodeId] | tuple[NodeId, NodeId, str]] = (),
        *,
        deleted_nodes: Iterable[NodeId] = (),
        deleted_edges: Iterable[tuple[NodeId, NodeId]] = (),
    ) -> None:
        """Changes the scene: first deletes edges and nodes, then adds or replaces nodes, then adds edges.

        A mistake raises `InputError`; the changes before it in the same update are kept.

        Args:
            nodes: nodes to add; a node whose id the scene has replaces the old one, for example because it moved.
            edges: edges to add; an edge that the scene has is left as it is.
            deleted_nodes: ids of nodes to delete with all their edges.
            deleted_edges: pairs of ids; all edges between the two nodes are deleted.
        """
        self._tree = None
        for source, target in deleted_edges:
            self._live.part(source, target)
        for name in deleted_nodes:
            self._live.delete(name)
        for node in nodes:
            self._live.put(node)
        for edge in edges:
            self._live.join(edge_of(edge, self._live))

    @property
    def scene(self) -> Scene:
        """The scene as it is now, with the metadata of the scene at the start."""
        return replace(self._live.scene(), metadata=self._metadata)

    @property
    def typed_scene(self) -> Scene:
        """The nodes of `tree.graph` as a scene, in the same order; faster than `scene` where there are many places.

        It has no edges between rooms, and no embeddings: the typed graph has both.
        """
        place = {self._live.slot[name]: number for number, name in enumerate(self.tree.graph.ids)}
        return replace(sub_scene(self._live, place, between_rooms=False), metadata=self._metadata)

    @property
    def tree(self) -> TypedTree:
        """The typed H-tree of the scene as it is now; `rebuilt` then has the ids of the rooms whose trees were built.

        None in `rebuilt` stands for the objects without a room. The next tree is made from the tensors of this one: do
        not change them in place.
        """
        if self._tree is None:
            if len(self._live.nodes) > 2 * len(self._live.slot) + SPARE_SLOTS:
                self._start_again()
            self._refresh()
            if self._irregular or self._assembly.is_empty:
                self.rebuilt = tuple(
                    None if room == NOWHERE else self._live.nodes[room].id for room in self._live.objects
                )
                self._tree = typed_tree(typed_graph(self.scene, self.spec), seed=self.seed)
            else:
                number = self._numbers()
                graph = self._graph(number)
                self._tree = self._assembly.tree(graph, number, self._columns.x[self._columns.kind >= 0])
        return self._tree

    def _start_again(self) -> None:
        """Forgets nodes that were deleted."""
        self.__dict__ = SceneTracker(self.scene, self.spec, seed=self.seed).__dict__

    def _refresh(self) -> None:
        """Builds the pieces of all rooms that changes concern, and of the core if it changed."""
        live = self._live
        live.settle()
        if set(self.spec.types) != {OBJECT, ROOM}:
            live.changed.clear()
            return
        self._note_nodes()
        rooms = sorted(live.changed)
        self.rebuilt = tuple(None if room == NOWHERE else live.nodes[room].id for room in rooms)
        for room in self._assembly.rooms - live.objects.keys():
            self._assembly.set_room(room, [])
            self._irregular.discard(room)
        for room in rooms:
            (self._irregular.add if self._is_irregular(room) else self._irregular.discard)(room)
        if rooms:
            occupied = set(self._assembly.rooms)
            self._build_rooms(rooms)
            live.rooms_changed |= occupied != self._assembly.rooms
        if live.rooms_changed:
            self._build_core()
        live.changed.clear()
        live.rooms_changed = False

    def _note_nodes(self) -> None:
        live, columns = self._live, self._columns
        if len(columns.kind) < len(live.nodes):
            columns.grow(len(live.nodes))
        for slot in live.touched:
            node = live.nodes[slot]
            here = live.slot.get(node.id) == slot and node.type in self.spec.types
            kind = self.spec.types.index(node.type) if here else -1
            if (columns.kind[slot] < 0) != (kind < 0):
                self._ids = None
            columns.kind[slot], columns.label[slot] = kind, NO_LABEL if node.label is None else node.label
        live.touched.clear()

    def _is_irregular(self, room: int) -> bool:
        """Whether an object of a room is joined to another room, or to an object that is not in it."""
        live = self._live
        for slot in live.objects.get(room, ()):
            for other in live.links[slot]:
                role = live.role(other)
                if (role == ROOM and other != room) or (role == OBJECT and live.room[other] != room):
                    return True
        return False

    def _build_rooms(self, rooms: list[int]) -> None:
        live, rows = self._live, self._columns.rows
        chosen = {room for room in rooms if room != NOWHERE}
        chosen.update(*(of.get(room, ()) for room in rooms for of in (live.objects, live.places)))
        slots = np.array(sorted(chosen), dtype=np.int64)
        place = {slot: i for i, slot in enumerate(slots.tolist())}
        room = np.array([place.get(live.room[slot], NOWHERE) for slot in place], dtype=np.int64)
        graph = graph_in_rooms(sub_scene(live, place, between_rooms=False), room, self.spec)
        kept = np.array([live.slot[name] for name in graph.ids], dtype=np.int64)
        before, rows[kept] = rows[kept], np.concatenate([graph.positions, graph.sizes], 1)
        self._columns.x[kept] = node_features(graph.sizes)
        is_room = np.array([live.role(slot) == ROOM for slot in kept.tolist()], dtype=bool)
        changed = (before[is_room] != rows[kept[is_room]]) & ~(np.isnan(before) & np.isnan(rows[kept]))[is_room]
        live.rooms_changed |= bool(changed[:, :3].any())
        resized = set(kept[is_room][changed.any(1)].tolist())
        found: dict[int, list[Piece]] = {each: [] for each in rooms}
        alone = len(rooms) == 1 and rooms[0] not in self._irregular and bool(live.objects.get(rooms[0]))
        pieces = one_piece(graph) if alone and rooms[0] != NOWHERE else take_apart(graph)
        for piece in self._built(graph, pieces, kept):
            if not piece.in_core:  # a room without objects is the core's
                found[piece.room].append(piece)
        for each, of_room in found.items():
            self._assembly.set_room(each, of_room)
        if resized and not live.rooms_changed:
            self._assembly.resize_rooms(resized, rows)

    def _build_core(self) -> None:
        live = self._live
        slots = np.array(sorted(room for room in live.objects if room != NOWHERE), dtype=np.int64)
        scene = sub_scene(live, {slot: i for i, slot in enumerate(slots.tolist())}, between_rooms=True)
        rows = self._columns.rows[slots]
        graph = graph_in_rooms(scene, np.full(len(slots), NOWHERE), self.spec)
        graph = replace(graph, positions=rows[:, :3], sizes=rows[:, 3:])
        pieces = self._built(graph, take_apart(graph), slots)
        taken = self._assembly.rooms
        self._assembly.set_core(
            [piece for piece in pieces if len(piece.members) > 1 or int(piece.members[0]) not in taken]
        )

    def _built(self, graph: TypedGraph, pieces: Pieces, slots: Int64) -> list[Piece]:
        """The pieces of a part of the graph, whose nodes have these slots, with their trees."""
        live = self._live
        inside = pieces.members
        part = build_part(
            graph.node_type[inside],
            graph.positions[inside],
            graph.sizes[inside],
            pieces.ends,
            len(graph.types),
            seed=self.seed,
            max_nodes=MOST_NODES,
        )
        bounds = Bounds.of(part, pieces.ptr, pieces.edge_ptr)
        edges = slots[graph.edges[pieces.edge_order]]
        number = self._relation_number
        codes = np.array([number.setdefault(name, len(number)) for name in graph.relations], dtype=np.int64)
        relation = codes[graph.edge_relation[pieces.edge_order]]
        found = []
        for i in range(len(pieces.ptr) - 1):
            members = slots[inside[pieces.ptr[i] : pieces.ptr[i + 1]]]
            thing = next((slot for slot in members.tolist() if live.role(slot) == OBJECT), NOWHERE)
            room = NOWHERE if thing == NOWHERE else live.room[thing]
            of_edges = slice(pieces.edge_ptr[i], pieces.edge_ptr[i + 1])
            run = run_of(part, bounds, i, i + 1)
            found.append(Piece(room, thing == NOWHERE, members, edges[of_edges], relation[of_edges], run))
        return found

    def _numbers(self) -> Int64:
        """The number of the graph's node in every slot; what is at other slots means nothing."""
        return (self._columns.kind >= 0).cumsum() - 1

    def _graph(self, number: Int64) -> TypedGraph:
        """The typed graph with the edges of the assembly."""
        live, columns = self._live, self._columns
        kept = np.flatnonzero(columns.kind >= 0)
        if self._ids is None:
            self._ids = tuple(live.nodes[slot].id for slot in kept.tolist())
        relations, _ = relation_codes(tuple(live.relations))
        place = {name: i for i, name in enumerate(relations)}
        code = np.array([place.get(name, -1) for name in self._relation_number], dtype=np.int64)
        edges, relation = self._assembly.assemble()
        embeddings = {
            live.nodes[slot].id: np.asarray(live.nodes[slot].embedding, dtype=np.float32)
            for slot in live.embedded
            if columns.kind[slot] >= 0
        }
        return TypedGraph(
            self._ids,
            self.spec.types,
            columns.kind[kept],
            columns.label[kept],
            columns.rows[kept, :3],
            columns.rows[kept, 3:],
            number[edges],
            relations,
            code[relation],
            embeddings,
        )
