"""What a network reads of scenes: labels by name, features per node type, relations by name. A bundle holds it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from neuraltrees.errors import InputError
from neuraltrees.nn.encoder import Categories
from neuraltrees.objectives import Classification
from neuraltrees.scenes.labels import LabelSpace
from neuraltrees.scenes.scene import NO_LABEL, Int64, NodeId, Scene
from neuraltrees.scenes.scene_data import SceneData
from neuraltrees.scenes.spec import TypedGraphSpec
from neuraltrees.scenes.tree_part import Float32
from neuraltrees.scenes.typed_graphs import RELATIONS, TypedGraph, joined_graph, typed_graph
from neuraltrees.scenes.typed_trees import TypedTree, typed_tree

BOX = 7  # numbers of every node: logarithms of its size, whether that is known, and where the centre of its box is
_SYMBOL = re.compile(r"[A-Za-z]\(\d+\)")  # how Hydra names nodes that have no label, such as R(0)


@dataclass(frozen=True, eq=False, repr=False)
class SceneFormat:
    """How scenes become graphs that a network reads, and which labels are learned.

    The features of a node are its box (the logarithm of its size, and the centre of the box relative to the position of
    the node), its embedding if it has one, and, for a node type whose labels are not learned, its label. Features do
    not depend on where the scene is.

    Args:
        labels: the label space of every node type of `spec`.
        targets: the node types whose labels are learned.
        spec: how a scene becomes a typed graph.
        relations: the relations of edges that are told apart; all others count as one relation.
        embeddings: the size of embeddings by node type; a type that is not listed has none.
        geometry: whether the network reads the geometry of edges.

    >>> rooms, things = LabelSpace(["kitchen", "bath"]), LabelSpace(["oven", "tub"])
    >>> form = SceneFormat({"object": things, "room": rooms}, ("room",))
    >>> form.features
    {'object': Categories(sizes=(4,), numbers=7), 'room': 7}
    """

    labels: Mapping[str, LabelSpace]
    targets: tuple[str, ...]
    spec: TypedGraphSpec = field(default_factory=TypedGraphSpec)
    relations: tuple[str, ...] = RELATIONS
    embeddings: Mapping[str, int] = field(default_factory=dict)
    geometry: bool = True

    def __post_init__(self) -> None:
        types = self.spec.types
        good = isinstance(self.labels, Mapping) and all(isinstance(each, LabelSpace) for each in self.labels.values())
        if not good or set(self.labels) != set(types):
            raise InputError(f"Expected a LabelSpace for each of {', '.join(types)}; got {self.labels!r:.80}.")
        if not self.targets or not set(self.targets) <= set(types):
            raise InputError(f"Expected targets out of {', '.join(types)}; got {self.targets!r}.")
        object.__setattr__(self, "labels", MappingProxyType({kind: self.labels[kind] for kind in types}))
        object.__setattr__(self, "embeddings", MappingProxyType({k: n for k, n in self.embeddings.items() if n}))

    @classmethod
    def of_scenes(
        cls,
        scenes: Sequence[Scene],
        labels: Mapping[str, LabelSpace] | None = None,
        targets: Sequence[str] | None = None,
        spec: TypedGraphSpec | None = None,
        geometry: bool = True,
    ) -> SceneFormat:
        """The format of some scenes.

        Args:
            scenes: what a network is to be trained on.
            labels: label spaces by node type. For others, the names in the label spaces of the scenes' metadata; else
                the names of their nodes; else `label 5` and so on, by the numbers.
            targets: the node types to learn; by default all that have labels.
            spec: how scenes become typed graphs.
            geometry: whether the geometry of edges is read.
        """
        spec = TypedGraphSpec() if spec is None else spec
        found = {kind: (labels or {}).get(kind) or _space_of(scenes, kind) for kind in spec.types}
        if targets is None:
            targets = [kind for kind in spec.types if any(_has_labels(each, kind) for each in scenes)]
            if not targets:
                raise InputError(f"Expected scenes with labels of {', '.join(spec.types)}; got none.")
        names = sorted({name for scene in scenes for name in scene.relations} - set(RELATIONS))
        sizes = {kind: _embedding_size(scenes, kind) for kind in spec.types}
        return cls(found, tuple(targets), spec, (*RELATIONS, *names), sizes, geometry)

    @property
    def types(self) -> tuple[str, ...]:
        return self.spec.types

    @cached_property
    def features(self) -> dict[str, int | Categories]:
        """The features of every node type."""
        found: dict[str, int | Categories] = {}
        for kind in self.types:
            numbers = self._numbers(kind)
            size = len(self.labels[kind]) + 1  # one for a node without a label
            found[kind] = numbers if kind in self.targets else Categories((size,), numbers=numbers)
        return found

    def _numbers(self, kind: str) -> int:
        size = self.embeddings.get(kind, 0)
        return BOX + (size + 1 if size else 0)

    @property
    def objective(self) -> Classification:
        """The objective; a node type whose labels are not learned has a single label."""
        return Classification(
            {kind: self.labels[kind].names if kind in self.targets else (kind,) for kind in self.types}
        )

    @property
    def num_relations(self) -> int:
        """The number of relations of edges that a network sees."""
        return len(self.relations) + 1

    def graph(self, scene: Scene, labelled: bool = True) -> SceneData:
        """A scene as a graph with features, labels and a typed H-tree.

        Args:
            scene: the scene.
            labelled: whether the graph has labels `y`; a node without one has -1.
        """
        return self._data([scene], [self.typed_graph(scene)], labelled)

    def union(self, scenes: Sequence[Scene], graphs: Sequence[TypedGraph] | None = None) -> SceneData:
        """Several scenes as one graph, without labels; `batch` has the scene of every node."""
        graphs = [self.typed_graph(scene) for scene in scenes] if graphs is None else graphs
        return self._batched(self._data(scenes, graphs, labelled=False), graphs)

    def _batched(self, data: SceneData, graphs: Sequence[TypedGraph]) -> SceneData:
        counts = torch.tensor([graph.num_nodes for graph in graphs])
        data.batch = torch.arange(len(graphs)).repeat_interleave(counts)
        data.num_graphs = len(graphs)
        return data

    def tracked(self, scene: Scene, tree: TypedTree) -> SceneData:
        """A scene whose typed H-tree is known, as `union([scene])` makes it; see `SceneTracker.typed_scene`."""
        graph = self._numbered(tree.graph)
        data = self._filled(replace(tree, graph=graph), [scene], [graph], labelled=False)
        return self._batched(data, [graph])

    def typed_graph(self, scene: Scene) -> TypedGraph:
        """The typed graph of a scene, with the network's numbers of relations."""
        return self._numbered(typed_graph(scene, self.spec))

    def _numbered(self, graph: TypedGraph) -> TypedGraph:
        if graph.relations == self.relations:
            return graph
        place = {name: i for i, name in enumerate(self.relations)}
        code = np.array([place.get(name, len(place)) for name in graph.relations], dtype=np.int64)
        return replace(graph, relations=(*self.relations, "other"), edge_relation=code[graph.edge_relation])

    def _data(self, scenes: Sequence[Scene], graphs: Sequence[TypedGraph], labelled: bool) -> SceneData:
        whole = graphs[0] if len(graphs) == 1 else joined_graph(graphs)
        return self._filled(typed_tree(whole), scenes, graphs, labelled)

    def _filled(
        self, tree: TypedTree, scenes: Sequence[Scene], graphs: Sequence[TypedGraph], labelled: bool
    ) -> SceneData:
        """The data of a tree, with the features of its nodes, and their labels if wanted."""
        data = SceneData.of(tree, torch.from_numpy(tree.graph.edge_relation))
        boxes = np.concatenate(
            [tree.x.numpy(), np.concatenate([_box_offsets(*each) for each in zip(scenes, graphs, strict=True)])], 1
        )
        data.x = torch.from_numpy(self._features(scenes, graphs, tree.graph.node_type, boxes))
        if labelled:
            y = [self._labels(scene, graph, self.targets) for scene, graph in zip(scenes, graphs, strict=True)]
            data.y = torch.from_numpy(np.concatenate(y))
        return data

    def _features(
        self, scenes: Sequence[Scene], graphs: Sequence[TypedGraph], node_type: Int64, boxes: Float32
    ) -> Float32:
        width = max(each.width if isinstance(each, Categories) else each for each in self.features.values())
        x = np.zeros((len(node_type), width), np.float32)
        others = [kind for kind in self.types if kind not in self.targets]
        labels = [self._labels(scene, graph, others) for scene, graph in zip(scenes, graphs, strict=True)]
        given = np.concatenate(labels) if others else None
        vectors = [graph.embeddings.get(name) for graph in graphs for name in graph.ids] if self.embeddings else []
        for number, kind in enumerate(self.types):
            mine = np.flatnonzero(node_type == number)
            first = 0
            if kind in others and given is not None:
                x[mine, 0] = np.where(given[mine] == NO_LABEL, len(self.labels[kind]), given[mine])
                first = 1
            x[mine, first : first + BOX] = boxes[mine]
            size = self.embeddings.get(kind, 0)
            for row in mine if size else ():
                vector = vectors[row]
                if vector is not None and len(vector) == size:
                    x[row, first + BOX : first + BOX + size] = vector
                    x[row, first + BOX + size] = 1
        return x

    def _labels(self, scene: Scene, graph: TypedGraph, types: Iterable[str]) -> Int64:
        """The labels of nodes of some types, as places in their label spaces; -1 for others."""
        found = np.full(graph.num_nodes, NO_LABEL)
        for kind in types:
            mine = np.flatnonzero(graph.node_type == self.types.index(kind))
            found[mine] = labels_in(self.labels[kind], scene, kind, [graph.ids[i] for i in mine.tolist()])
        return found

    def known(self, scene: Scene, graph: TypedGraph, labels: Mapping[NodeId, str]) -> Int64:
        """Known labels by node id, as places in their label spaces; -1 for nodes that are not listed."""
        place = {name: i for i, name in enumerate(graph.ids)}
        found = np.full(graph.num_nodes, NO_LABEL)
        for node, name in labels.items():
            if node not in place:
                what = "which the scene does not have" if node not in scene.number else "whose label is not learned"
                raise InputError(f"Expected known labels of nodes that are labelled; got one of {node!r}, {what}.")
            kind = self.types[graph.node_type[place[node]]]
            if kind not in self.targets:
                raise InputError(f"Expected known labels of {' and '.join(self.targets)} nodes; got one of {node!r}.")
            space = self.labels[kind]
            if name not in space:
                raise InputError(f"Expected a {kind} label for node {node!r}; got {name!r}. Labels are {_few(space)}.")
            found[place[node]] = space.index(name)
        return found

    def as_dict(self) -> dict[str, Any]:
        """Plain values for files; `from_dict` reads them."""
        spaces = {
            kind: {"names": list(each.names), "numbers": [*each.numbers.items()], "synonyms": dict(each.synonyms)}
            for kind, each in self.labels.items()
        }
        rest = {"relations": list(self.relations), "embeddings": dict(self.embeddings), "geometry": self.geometry}
        return {"labels": spaces, "targets": list(self.targets), "spec": asdict(self.spec), **rest}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> SceneFormat:
        """The format of a result of `as_dict`."""
        spec = TypedGraphSpec(**{**content["spec"], "types": tuple(content["spec"]["types"])})
        spaces = {
            kind: LabelSpace(tuple(each["names"]), {int(n): name for n, name in each["numbers"]}, each["synonyms"])
            for kind, each in content["labels"].items()
        }
        targets, relations = tuple(content["targets"]), tuple(content["relations"])
        return cls(spaces, targets, spec, relations, content["embeddings"], content["geometry"])

    def __repr__(self) -> str:
        counted = ", ".join(f"{kind}: {len(self.labels[kind])} labels" for kind in self.targets)
        return f"{type(self).__name__}({counted}; {len(self.relations)} relations)"


def _box_offsets(scene: Scene, graph: TypedGraph) -> Float32:
    """The centre of the box less the position of every node, by signed logarithms; 0 where one is not known.

    Shapes: → :math:`(n, 3)`
    """
    rows = np.array([scene.number[name] for name in graph.ids], dtype=np.int64)
    offset = np.nan_to_num(scene.box_centres[rows] - scene.positions[rows])
    return (np.sign(offset) * np.log1p(np.abs(offset))).astype(np.float32)


def own_space(scene: Scene, kind: str) -> LabelSpace | None:
    """The label space in the metadata of a scene, None if it has none."""
    if "metadata" not in scene.metadata:
        return None
    try:
        return LabelSpace.of_scene(scene, kind)
    except InputError:
        return None


def labels_in(space: LabelSpace, scene: Scene, kind: str, ids: Sequence[NodeId]) -> Int64:
    """The labels of nodes of one type, as places in a label space; -1 for nodes without a label.

    Numbers mean what the scene's own metadata says, or else what the label space says.
    """
    own = own_space(scene, kind)
    found = (space if own is None else own).labels_of(scene, ids)
    if own is None:
        for i in np.flatnonzero(found == space.unknown).tolist() if not space.numbers else ():
            number = scene.number[ids[i]]
            if scene.labels[number] == NO_LABEL and _SYMBOL.fullmatch(scene.names[number] or ""):
                found[i] = NO_LABEL
        return found
    place = np.array([*(space.index(name) for name in own.names), NO_LABEL])
    return place[found]


def _space_of(scenes: Sequence[Scene], kind: str) -> LabelSpace:
    own = [each for each in (own_space(scene, kind) for scene in scenes) if each is not None]
    if own:
        names = dict.fromkeys(name for space in own for name in space.names if name != space.names[space.unknown])
        numbers: dict[int, str] = {}
        for space in own:
            for number, name in space.numbers.items():
                numbers.setdefault(number, name)
        return LabelSpace(tuple(names), {n: name for n, name in numbers.items() if name in names})
    numbers = {int(label): f"label {int(label)}" for scene in scenes for label in _numbers(scene, kind)}
    if numbers:
        return LabelSpace(tuple(numbers[number] for number in sorted(numbers)), numbers)
    given = {name for scene in scenes for name in _names(scene, kind)}
    return LabelSpace(tuple(sorted(given)))


def _numbers(scene: Scene, kind: str) -> Int64:
    labels = scene.labels[scene.of_type(kind)]
    found: Int64 = labels[labels != NO_LABEL]
    return found


def _names(scene: Scene, kind: str) -> list[str]:
    names = (scene.names[i] for i in scene.of_type(kind).tolist())
    return [name for name in names if name is not None and not _SYMBOL.fullmatch(name)]


def _has_labels(scene: Scene, kind: str) -> bool:
    return len(_numbers(scene, kind)) > 0 or len(_names(scene, kind)) > 0


def _embedding_size(scenes: Sequence[Scene], kind: str) -> int:
    sizes = {
        len(scene.embeddings[i]) for scene in scenes for i in scene.of_type(kind).tolist() if i in scene.embeddings
    }
    if len(sizes) > 1:
        raise InputError(f"Expected embeddings of one size for {kind} nodes; got sizes {sorted(sizes)}.")
    return sizes.pop() if sizes else 0


def _few(space: LabelSpace) -> str:
    return ", ".join(space.names[:6]) + (", …" if len(space) > 6 else "")
