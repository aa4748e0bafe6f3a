"""Scene → typed graph: rooms and objects, joined by edges with a type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.scenes.nearby import object_pairs
from neuraltrees.scenes.rooms import NOWHERE, room_boxes, rooms_of
from neuraltrees.scenes.scene import ADJACENT, IN, Float64, Int64, NodeId, Scene
from neuraltrees.scenes.spec import OBJECT, PLACES, ROOM, TypedGraphSpec

if TYPE_CHECKING:
    from torch_geometric.data import HeteroData

RELATIONS = ("on", "under", "near", IN, ADJACENT)  # the first three in the order of nearby.py


@dataclass(frozen=True, eq=False, repr=False)
class TypedGraph:
    """A graph whose nodes and edges have types, with positions and sizes; `typed_graph` makes it from a scene.

    Two nodes may be joined by several edges of different relations; `graph` has one edge for them.

    Shapes: node_type and labels :math:`(n)`, positions and sizes :math:`(n, 3)`, edges :math:`(m, 2)`, edge_relation
    :math:`(m)`

    Args:
        ids: the id of every node.
        types: the node types that there may be.
        node_type: the place of every node's type in `types`.
        labels: number of the semantic label, -1 for none.
        positions: in metres, z upwards; NaN where unknown.
        sizes: of the bounding boxes; NaN where unknown.
        edges: source and target of every edge.
        relations: the relations that there may be: on, under, near, in, adjacent, then others by name.
        edge_relation: the place of every edge's relation in `relations`.
        embeddings: by id, of the nodes that have one.
    """

    ids: tuple[NodeId, ...]
    types: tuple[str, ...]
    node_type: Int64
    labels: Int64
    positions: Float64
    sizes: Float64
    edges: Int64
    relations: tuple[str, ...]
    edge_relation: Int64
    embeddings: Mapping[NodeId, npt.NDArray[np.float32]] = field(default_factory=dict)

    @property
    def num_nodes(self) -> int:
        return len(self.ids)

    @property
    def num_edges(self) -> int:
        return len(self.edges)

    @cached_property
    def graph(self) -> Graph:
        """The undirected simple graph."""
        return Graph(np.ascontiguousarray(self.edges.T), num_nodes=self.num_nodes)

    @property
    def counts(self) -> dict[str, int]:
        """How many nodes there are of each type."""
        return dict(zip(self.types, np.bincount(self.node_type, minlength=len(self.types)).tolist(), strict=True))

    @property
    def edge_counts(self) -> dict[tuple[str, str, str], int]:
        """How many edges there are of each type (source, relation, target)."""
        kinds = self.node_type[self.edges]
        keys, counts = np.unique(np.stack([kinds[:, 0], self.edge_relation, kinds[:, 1]]), axis=1, return_counts=True)
        return {
            (self.types[a], self.relations[r], self.types[b]): count
            for (a, r, b), count in zip(keys.T.tolist(), counts.tolist(), strict=True)
        }

    @classmethod
    def from_hetero(cls, data: HeteroData) -> TypedGraph:
        """All nodes and edges of a `HeteroData`, read as `scene_of_hetero` does, and no others."""
        from neuraltrees.scenes.hetero import scene_of_hetero

        scene = scene_of_hetero(data)
        return typed_graph(scene, TypedGraphSpec(types=scene.types or (OBJECT,), object_edges=False))

    def to_hetero(self) -> HeteroData:
        """As PyG `HeteroData`, in the form of `hetero_of_scene`."""
        from neuraltrees.scenes.hetero import hetero_of_scene

        used = sorted(set(self.node_type.tolist()))
        unknown = np.isnan(self.sizes)
        scene = Scene(
            self.ids,
            tuple(self.types[i] for i in used),
            np.searchsorted(used, self.node_type),
            (None,) * self.num_nodes,
            self.labels,
            self.positions,
            self.sizes,
            np.where(unknown, np.nan, self.positions),
            {i: self.embeddings[name] for i, name in enumerate(self.ids) if name in self.embeddings},
            ({},) * self.num_nodes,
            self.edges,
            self.relations,
            self.edge_relation,
        )
        return hetero_of_scene(scene)

    def __repr__(self) -> str:
        counted = ", ".join(f"{count} {kind}" for kind, count in self.counts.items() if count)
        return f"TypedGraph({self.num_nodes} nodes: {counted}; {self.num_edges} edges)"


def typed_graph(scene: Scene, spec: TypedGraphSpec | None = None) -> TypedGraph:
    """The rooms and objects of a scene as a typed graph.

    An object is joined to its room, which it may have through a place; objects are joined by the rules of the spec;
    edges of the scene between nodes of the graph's types stay. An object without a room is a node like any other. Rooms
    without a box of their own extend over their places, or else over their objects.

    >>> from neuraltrees.scenes.scene import SceneNode
    >>> scene = Scene.of(
    ...     [
    ...         SceneNode("kitchen", "room"),
    ...         SceneNode("table", "object", position=(1, 1, 0.4), size=(1.5, 1, 0.8)),
    ...         SceneNode("cup", "object", position=(1.2, 1, 0.85), size=(0.1, 0.1, 0.1)),
    ...     ],
    ...     [("table", "kitchen"), ("cup", "kitchen")],
    ... )
    >>> typed_graph(scene).edge_counts
    {('object', 'on', 'object'): 1, ('object', 'in', 'room'): 2}
    """
    spec = TypedGraphSpec() if spec is None else spec
    if not isinstance(scene, Scene) or not isinstance(spec, TypedGraphSpec):
        raise InputError(
            f"Expected a Scene and a TypedGraphSpec; got {type(scene).__name__} and {type(spec).__name__}. "
            f"Read a file first: read_scene(path)."
        )
    return graph_in_rooms(scene, rooms_of(scene), spec)


def graph_in_rooms(scene: Scene, room: Int64, spec: TypedGraphSpec) -> TypedGraph:
    """The typed graph of a scene in which the room of every object and place is known, -1 for none."""
    place = {kind: i for i, kind in enumerate(spec.types)}
    kind = np.array([place.get(word, -1) for word in scene.types], dtype=np.int64)[scene.node_type]
    chosen = np.flatnonzero(kind >= 0)
    number = np.full(scene.num_nodes, -1)
    number[chosen] = np.arange(len(chosen))
    centres, sizes = room_boxes(scene, room)
    relations, code = relation_codes(scene.relations)
    ends = number[scene.edges]
    kept = np.flatnonzero((ends[:, 0] >= 0) & (ends[:, 1] >= 0))
    stored = np.empty((len(kept), 3), np.int64)
    stored[:, :2], stored[:, 2] = ends[kept], code[scene.edge_relation[kept]]
    through_places = _room_edges(number, room, kind, spec, stored)
    by_rule = _object_edges(scene, number, room, kind, spec, stored)
    joined = sort_edges(np.concatenate([stored, through_places, by_rule]))
    positions = scene.positions[chosen]
    return TypedGraph(
        tuple(scene.ids[i] for i in chosen.tolist()),
        spec.types,
        kind[chosen],
        scene.labels[chosen],
        np.where(np.isnan(positions), centres[chosen], positions),
        sizes[chosen],
        joined[:, :2],
        relations,
        joined[:, 2],
        {scene.ids[i]: vector for i, vector in scene.embeddings.items() if number[i] >= 0},
    )


def joined_graph(graphs: Sequence[TypedGraph]) -> TypedGraph:
    """Several graphs of the same types and relations as one; ids may then occur more than once."""
    sizes = np.array([graph.num_nodes for graph in graphs])
    shifts = np.cumsum(sizes) - sizes
    columns: Any = {
        name: np.concatenate([getattr(graph, name) for graph in graphs])
        for name in ("node_type", "labels", "positions", "sizes", "edge_relation")
    }
    edges = np.concatenate([graph.edges + shift for graph, shift in zip(graphs, shifts, strict=True)])
    ids = tuple(name for graph in graphs for name in graph.ids)
    return replace(graphs[0], ids=ids, edges=edges, embeddings={}, **columns)


def relation_codes(names: tuple[str, ...]) -> tuple[tuple[str, ...], Int64]:
    """The relations of a graph whose scene has these, and the place of each of the scene's among them."""
    found = (*RELATIONS, *sorted(set(names) - set(RELATIONS)))
    return found, np.array([found.index(name) for name in names], dtype=np.int64)


def sort_edges(edges: Int64) -> Int64:
    """By source, then target, then relation. Shapes: :math:`(m, 3)`"""
    return edges[np.lexsort(edges.T[::-1])]


def _room_edges(number: Int64, room: Int64, kind: Int64, spec: TypedGraphSpec, stored: Int64) -> Int64:
    """Objects that are in a room through a place: the scene has no edge to the room for them."""
    if OBJECT not in spec.types or ROOM not in spec.types or not set(PLACES).isdisjoint(spec.types):
        return np.zeros((0, 3), np.int64)
    inside = np.flatnonzero((kind == spec.types.index(OBJECT)) & (room != NOWHERE))
    stands = np.zeros(len(number), dtype=bool)  # which nodes of the graph an edge of the scene joins to a room
    is_room = np.zeros(len(number), dtype=bool)
    is_room[number[np.flatnonzero(kind == spec.types.index(ROOM))]] = True
    source, target = stored[:, 0], stored[:, 1]
    stands[source[is_room[target]]] = True
    stands[target[is_room[source]]] = True
    inside = inside[~stands[number[inside]]]
    found = np.full((len(inside), 3), RELATIONS.index(IN))
    found[:, 0], found[:, 1] = number[inside], number[room[inside]]
    return found


def _object_edges(scene: Scene, number: Int64, room: Int64, kind: Int64, spec: TypedGraphSpec, stored: Int64) -> Int64:
    """Pairs of objects by the rules, unless the scene itself says how they are related."""
    if OBJECT not in spec.types or not spec.object_edges:
        return np.zeros((0, 3), np.int64)
    objects = np.flatnonzero(kind == spec.types.index(OBJECT))
    source, target, relation = object_pairs(scene.positions[objects], scene.sizes[objects], room[objects], spec)
    found = np.stack([number[objects[source]], number[objects[target]], relation], 1)
    is_object = np.zeros(len(number), dtype=bool)
    is_object[number[objects]] = True
    related = stored[is_object[stored[:, 0]] & is_object[stored[:, 1]], :2]
    if not len(related):
        return found
    known = related.min(1) * len(number) + related.max(1)
    return found[~np.isin(found[:, :2].min(1) * len(number) + found[:, :2].max(1), known)]
