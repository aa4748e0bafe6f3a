"""Scene graphs of robots as a value: typed nodes with positions, boxes and embeddings, and typed edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from neuraltrees.errors import InputError
from neuraltrees.scenes.report import SceneReport
from neuraltrees.scenes.values import FARTHEST

if TYPE_CHECKING:
    from torch_geometric.data import HeteroData

NodeId: TypeAlias = int | str
Int64: TypeAlias = npt.NDArray[np.int64]
Float64: TypeAlias = npt.NDArray[np.float64]

NO_LABEL = -1
IN, ADJACENT = "in", "adjacent"  # relations of edges that a file stores without a name


@dataclass(frozen=True, eq=False)
class SceneNode:
    """A node of a scene.

    Args:
        id: a number or a name, distinct in the scene.
        type: `object`, `room`, `place`, `building`, `agent`, or any other word.
        name: how people call it.
        label: number of its semantic label; None if it has none.
        position: x, y, z in metres, z upwards.
        size: the extent of its bounding box along x, y and z.
        box_centre: the centre of the box; by default the position.
        embedding: a vector, for example of text or of an image.
        attributes: all else.

    >>> SceneNode("lamp", "object", position=(1, 2, 1.5), size=(0.2, 0.2, 0.5))
    SceneNode('lamp', 'object')
    """

    id: NodeId
    type: str
    name: str | None = None
    label: int | None = None
    position: Sequence[float] | npt.NDArray[Any] | None = None
    size: Sequence[float] | npt.NDArray[Any] | None = None
    box_centre: Sequence[float] | npt.NDArray[Any] | None = None
    embedding: npt.NDArray[np.float32] | Sequence[float] | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        named = "" if self.name is None else f", name={self.name!r}"
        labelled = "" if self.label is None else f", label={self.label}"
        return f"SceneNode({self.id!r}, {self.type!r}{named}{labelled})"


@dataclass(frozen=True)
class SceneEdge:
    """An edge between two nodes, by their ids: the source stands in the relation to the target.

    `in` and `adjacent` are the relations of edges without a name: of an object to its place and of a place to its
    room, and of two nodes of one type.
    """

    source: NodeId
    target: NodeId
    relation: str = ADJACENT


@dataclass(frozen=True, eq=False, repr=False)
class Scene:
    """A scene graph, column by column; `Scene.of` makes one from nodes and edges, `read_scene` from a file.

    Shapes: node_type and labels :math:`(n)`, positions, sizes and box_centres :math:`(n, 3)`, edges :math:`(m, 2)`,
    edge_relation :math:`(m)`

    Args:
        ids: the id of every node.
        types: the node types that occur.
        node_type: the place of every node's type in `types`.
        names: the name of every node, or None.
        labels: number of the semantic label, -1 for none.
        positions: in metres, z upwards; NaN where unknown.
        sizes: of the bounding boxes along the axes; NaN where unknown.
        box_centres: NaN where the size is unknown.
        embeddings: of nodes that have one, by number.
        attributes: all else that the source says of every node.
        edges: source and target of every edge, as numbers of nodes.
        relations: the relations that occur.
        edge_relation: the place of every edge's relation in `relations`.
        metadata: what the source says of the whole scene.
        report: what was unusual in the source.

    >>> nodes = [SceneNode("kitchen", "room"), SceneNode("oven", "object", position=(1, 0, 0.5), size=(0.6, 0.6, 0.9))]
    >>> scene = Scene.of(nodes, [SceneEdge("oven", "kitchen", "in")])
    >>> scene, scene["oven"]
    (Scene(2 nodes: 1 room, 1 object; 1 edge), SceneNode('oven', 'object'))
    """

    ids: tuple[NodeId, ...]
    types: tuple[str, ...]
    node_type: Int64
    names: tuple[str | None, ...]
    labels: Int64
    positions: Float64
    sizes: Float64
    box_centres: Float64
    embeddings: Mapping[int, npt.NDArray[np.float32]]
    attributes: Sequence[Mapping[str, Any]]
    edges: Int64
    relations: tuple[str, ...]
    edge_relation: Int64
    metadata: Mapping[str, Any] = field(default_factory=dict)
    report: SceneReport = field(default_factory=SceneReport)

    @classmethod
    def of(
        cls,
        nodes: Iterable[SceneNode],
        edges: Iterable[SceneEdge | tuple[NodeId, NodeId] | tuple[NodeId, NodeId, str]] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> Scene:
        """The scene of these nodes and edges; a mistake in them raises `InputError`.

        Edges given as plain pairs get the relation `in` if their ends have different types, else `adjacent`.
        """
        nodes = list(nodes)
        for node in nodes:
            check_node(node)
        number = {node.id: i for i, node in enumerate(nodes)}
        if len(number) < len(nodes):
            twice, _ = Counter(node.id for node in nodes).most_common(1)[0]
            raise InputError(f"Expected nodes of distinct ids; got {twice!r} twice.")
        plain = [edge if isinstance(edge, SceneEdge) else _edge_of(edge, number, nodes) for edge in edges]
        for edge in plain:
            for end in (edge.source, edge.target):
                if end not in number:
                    raise InputError(f"Expected edges between nodes of the scene; got {end!r}, which is none of them.")
            if edge.source == edge.target:
                raise InputError(f"Expected edges between different nodes; got one from {edge.source!r} to itself.")
        if len(set(plain)) < len(plain):
            again, _ = Counter(plain).most_common(1)[0]
            raise InputError(f"Expected distinct edges; got {again} twice.")
        kinds = {kind: i for i, kind in enumerate(dict.fromkeys(node.type for node in nodes))}
        relations = {name: i for i, name in enumerate(dict.fromkeys(edge.relation for edge in plain))}
        sizes = _rows([node.size for node in nodes])
        positions = _rows([node.position for node in nodes])
        centres = _rows([node.box_centre for node in nodes])
        return cls(
            tuple(number),
            tuple(kinds),
            np.array([kinds[node.type] for node in nodes], dtype=np.int64),
            tuple(node.name for node in nodes),
            np.array([NO_LABEL if node.label is None else node.label for node in nodes], dtype=np.int64),
            positions,
            sizes,
            np.where(np.isnan(sizes), np.nan, np.where(np.isnan(centres), positions, centres)),
            {i: _vector(node.embedding) for i, node in enumerate(nodes) if node.embedding is not None},
            tuple(node.attributes for node in nodes),
            np.array([(number[e.source], number[e.target]) for e in plain], dtype=np.int64).reshape(-1, 2),
            tuple(relations),
            np.array([relations[edge.relation] for edge in plain], dtype=np.int64),
            dict(metadata or {}),
        )

    @classmethod
    def from_hetero(cls, data: HeteroData) -> Scene:
        """The scene of a PyG `HeteroData`; see `scene_of_hetero`."""
        from neuraltrees.scenes.hetero import scene_of_hetero

        return scene_of_hetero(data)

    @property
    def num_nodes(self) -> int:
        return len(self.ids)

    @property
    def num_edges(self) -> int:
        return len(self.edges)

    @cached_property
    def number(self) -> Mapping[NodeId, int]:
        """The place of every id in `ids`."""
        return {name: i for i, name in enumerate(self.ids)}

    @property
    def counts(self) -> dict[str, int]:
        """How many nodes there are of each type."""
        found = np.bincount(self.node_type, minlength=len(self.types))
        return dict(zip(self.types, found.tolist(), strict=True))

    def of_type(self, node_type: str) -> Int64:
        """The numbers of the nodes of a type, none if no node has it."""
        if node_type not in self.types:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.node_type == self.types.index(node_type))

    def node(self, number: int) -> SceneNode:
        """The node of this number."""
        i = range(self.num_nodes)[number]
        known = not np.isnan(self.sizes[i]).any()
        return SceneNode(
            self.ids[i],
            self.types[self.node_type[i]],
            self.names[i],
            None if self.labels[i] == NO_LABEL else int(self.labels[i]),
            None if np.isnan(self.positions[i]).any() else self.positions[i],
            self.sizes[i] if known else None,
            self.box_centres[i] if known and not np.isnan(self.box_centres[i]).any() else None,
            self.embeddings.get(i),
            self.attributes[i],
        )

    @property
    def nodes(self) -> Iterator[SceneNode]:
        return map(self.node, range(self.num_nodes))

    def __getitem__(self, node_id: NodeId) -> SceneNode:
        if node_id not in self.number:
            raise InputError(f"Expected the id of a node of the scene; got {node_id!r}.")
        return self.node(self.number[node_id])

    def __repr__(self) -> str:
        counted = ", ".join(f"{count} {kind}" for kind, count in self.counts.items())
        edges = f"{self.num_edges} edge{'' if self.num_edges == 1 else 's'}"
        return f"Scene({self.num_nodes} node{'' if self.num_nodes == 1 else 's'}: {counted}; {edges})"


def check_node(node: SceneNode) -> None:
    """Raises `InputError` with what is wrong with a node."""
    if not isinstance(node, SceneNode):
        raise InputError(f"Expected nodes as SceneNode; got {type(node).__name__}.")
    if isinstance(node.id, bool) or not isinstance(node.id, int | str):
        raise InputError(f"Expected ids as numbers or names; got {node.id!r}.")
    if not isinstance(node.type, str) or not node.type:
        raise InputError(f"Expected the type of node {node.id!r} as a word; got {node.type!r}.")
    if node.name is not None and not isinstance(node.name, str):
        raise InputError(f"Expected the name of node {node.id!r} as text; got {node.name!r}.")
    labelled = node.label is not None
    if labelled and (isinstance(node.label, bool) or not isinstance(node.label, int) or not 0 <= node.label < 2**63):
        raise InputError(f"Expected the label of node {node.id!r} as a number from 0, or None; got {node.label!r}.")
    for what, value in (("position", node.position), ("size", node.size), ("box_centre", node.box_centre)):
        if value is None:
            continue
        numbers = _numbers(value)
        if numbers is None or numbers.shape != (3,) or not (np.abs(numbers) <= FARTHEST).all():
            raise InputError(
                f"Expected the {what} of node {node.id!r} as 3 finite numbers of at most {FARTHEST:g} metres, or None; "
                f"got {value!r}."
            )
        if what == "size" and (numbers < 0).any():
            raise InputError(f"Expected the size of node {node.id!r} to be at least 0; got {value!r}.")
    if node.embedding is not None:
        _vector(node.embedding)


def _numbers(value: Any) -> Float64 | None:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def _edge_of(edge: Any, number: Mapping[NodeId, int], nodes: Sequence[SceneNode]) -> SceneEdge:
    if not isinstance(edge, tuple | list) or len(edge) not in (2, 3):
        raise InputError(f"Expected edges as SceneEdge or (source, target[, relation]); got {edge!r}.")
    if any(isinstance(end, bool) or not isinstance(end, int | str) for end in edge[:2]):
        raise InputError(f"Expected the ends of edges as ids of nodes, numbers or names; got {edge!r:.80}.")
    if len(edge) == 3:
        return SceneEdge(*edge)
    source, target = edge
    if source not in number or target not in number:
        return SceneEdge(source, target)
    same = nodes[number[source]].type == nodes[number[target]].type
    return SceneEdge(source, target, ADJACENT if same else IN)


def _rows(values: Sequence[Any]) -> Float64:
    unknown = (np.nan, np.nan, np.nan)
    return np.array([unknown if value is None else value for value in values], dtype=np.float64).reshape(-1, 3)


def _vector(value: Any) -> npt.NDArray[np.float32]:
    numbers = _numbers(value)
    if numbers is None or numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise InputError("Expected embeddings as flat vectors of finite numbers; got one that is not.")
    return numbers.astype(np.float32)
