"""The content of a page as JSON; viewer/src/content.ts reads it."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from neuraltrees.scenes import LabelSpace, LabelState, NodeLabel, Scene, TypedTree
from neuraltrees.scenes.format import own_space
from neuraltrees.scenes.rooms import room_boxes, rooms_of
from neuraltrees.scenes.scene import NO_LABEL, Float64
from neuraltrees.scenes.spec import OBJECT, ROOM
from neuraltrees.viewing.frames import SceneFrame, View, layer_order
from neuraltrees.viewing.positions import scene_positions

MOST_LABELS, LEAST_PROBABILITY = 6, 0.005  # shown per node
DIGITS = 3  # decimals of lengths in metres and of probabilities
Key = TypeVar("Key", bound=Hashable)


class Numbering(Generic[Key]):
    """Numbers values in the order in which they are first seen."""

    def __init__(self, first: Sequence[Key] = ()) -> None:
        self.number = {value: i for i, value in enumerate(first)}

    def __getitem__(self, value: Key) -> int:
        return self.number.setdefault(value, len(self.number))

    @property
    def values(self) -> list[Key]:
        return list(self.number)


def content_of(view: View) -> dict[str, Any]:
    """The content of a page. A node that is the same in several frames is stored once."""
    frames = view.frames
    types = Numbering(layer_order(kind for frame in frames for kind in _used_types(frame.scene)))
    ids: Numbering[Any] = Numbering()
    rows: Numbering[tuple[Any, ...]] = Numbering()
    relations, labels = Numbering[str](), Numbering[str]()
    listed = [_frame(frame, ids, types, rows, relations, labels) for frame in frames]
    columns = rows.values
    return {
        "title": view.title,
        "types": types.values,
        "relations": relations.values,
        "labels": labels.values,
        "ids": [str(name) for _, name in ids.values],
        "rows": {
            "id": [row[0] for row in columns],
            "type": [row[1] for row in columns],
            "name": [row[2] for row in columns],
            "at": [value for row in columns for value in row[3]],
            "size": [value for row in columns for value in row[4]],
            "number": [row[5] for row in columns],
        },
        "frames": listed,
    }


def _used_types(scene: Scene) -> list[str]:
    return [scene.types[i] for i in sorted(set(scene.node_type.tolist()))]


def _frame(
    frame: SceneFrame,
    ids: Numbering[Any],
    types: Numbering[str],
    rows: Numbering[tuple[Any, ...]],
    relations: Numbering[str],
    labels: Numbering[str],
) -> dict[str, Any]:
    scene = frame.scene
    room = rooms_of(scene)
    centres, sizes = room_boxes(scene, room)
    positions, unknown = scene_positions(scene, centres)
    at, extent = _drawn(scene, positions, centres, sizes)
    kinds = [scene.types[i] for i in scene.node_type.tolist()]
    nodes = [
        # 7 and "7" are two ids.
        rows[ids[type(name), name], types[kind], scene.names[i] or None, at[i], extent[i], int(scene.labels[i])]
        for i, (name, kind) in enumerate(zip(scene.ids, kinds, strict=True))
    ]
    own = own_labels(scene, frame.label_spaces)
    states = frame.states or (LabelState("scene", {}),)
    return {
        "name": frame.name,
        "note": f"{unknown:,} without a position" if unknown else "",
        "nodes": nodes,
        "room": room.tolist(),
        "edges": _edges(frame, relations),
        "tree": None if frame.tree is None else _tree(scene, frame.tree),
        "states": [{"name": state.name, "labels": _labels(scene, state, own, labels)} for state in states],
    }


def _drawn(
    scene: Scene, positions: Float64, centres: Float64, sizes: Float64
) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """The centre and size of every node as drawn; rooms without a box enclose what is in them."""
    is_room = np.array([kind == ROOM for kind in scene.types], dtype=bool)[scene.node_type]
    is_object = np.array([kind == OBJECT for kind in scene.types], dtype=bool)[scene.node_type]
    boxed = (is_room | is_object) & ~np.isnan(centres).any(1) & ~np.isnan(sizes).any(1)
    at = np.where(boxed[:, None], centres, positions)
    extent = np.where(boxed[:, None], sizes, 0.0)
    return [tuple(row) for row in at.round(DIGITS).tolist()], [tuple(row) for row in extent.round(DIGITS).tolist()]


def _edges(frame: SceneFrame, relations: Numbering[str]) -> list[int]:
    """Source, target and relation of every edge: edges of the scene, then edges between objects in the typed graph."""
    scene, graph = frame.scene, frame.graph
    codes = [relations[name] for name in scene.relations]
    found = [
        (a, b, codes[kind]) for (a, b), kind in zip(scene.edges.tolist(), scene.edge_relation.tolist(), strict=True)
    ]
    if graph is not None:
        known = {frozenset(edge) for edge in scene.edges.tolist()}
        number = [scene.number[name] for name in graph.ids]
        kinds = np.array([kind == OBJECT for kind in graph.types], dtype=bool)[graph.node_type]
        for (a, b), kind in zip(graph.edges.tolist(), graph.edge_relation.tolist(), strict=True):
            ends = number[a], number[b]
            if kinds[a] and kinds[b] and frozenset(ends) not in known:
                found.append((*ends, relations[graph.relations[kind]]))
    return [value for edge in found for value in edge]


def _tree(scene: Scene, tree: TypedTree) -> dict[str, Any]:
    htree = tree.htree
    number = [scene.number[name] for name in tree.graph.ids]
    joined = htree.edge_index[:, htree.edge_type == 0].t()
    return {
        "parent": htree.parent.tolist(),
        "node": [number[node] if node >= 0 else -1 for node in htree.kappa.tolist()],
        "joined": joined[joined[:, 0] < joined[:, 1]].reshape(-1).tolist(),
        "note": f"treewidth {htree.treewidth}",
    }


def own_labels(scene: Scene, spaces: Mapping[str, LabelSpace]) -> dict[int, NodeLabel]:
    """The labels of a scene, by number of the node.

    The label of a node is the first of these that it has: the most probable one of `semantic_class_probabilities`; the
    name of its number in the label space of the file or in `spaces`; its name, unless that is a symbol such as `O(12)`.
    """
    known = {kind: own_space(scene, kind) or spaces.get(kind) for kind in _used_types(scene)}
    found: dict[int, NodeLabel] = {}
    for i, (kind, name) in enumerate(zip(scene.node_type.tolist(), scene.names, strict=True)):
        space = known[scene.types[kind]]
        number = int(scene.labels[i])
        probabilities = _probabilities(scene.attributes[i].get("semantic_class_probabilities"))
        if probabilities:
            found[i] = NodeLabel(max(probabilities, key=probabilities.__getitem__), probabilities=probabilities)
        elif space is not None and number != NO_LABEL and number in space.numbers:
            found[i] = NodeLabel(_text(space.numbers[number]))
        elif name and not re.fullmatch(r"\w\(\d+\)", name):
            found[i] = NodeLabel(_text(name))
    return found


def _probabilities(given: Any) -> dict[str, float]:
    """The probabilities of a file that are valid."""
    if not isinstance(given, Mapping):
        return {}
    return {
        _text(name): float(p)
        for name, p in given.items()
        if isinstance(name, str) and isinstance(p, int | float) and not isinstance(p, bool) and 0 <= p <= 1
    }


def _text(name: str) -> str:
    """The name with halves of surrogate pairs replaced, which are no text in Unicode."""
    return name.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _labels(
    scene: Scene, state: LabelState, own: Mapping[int, NodeLabel], names: Numbering[str]
) -> list[tuple[int, int, float | None, int, list[tuple[int, float]]]]:
    found = []
    for i, node in enumerate(scene.ids):
        label = state.labels.get(node, own.get(i))
        if label is None:
            continue
        given = {name: float(p) for name, p in (label.probabilities or {}).items() if math.isfinite(p)}
        ranked = sorted(given.items(), key=lambda each: -each[1])[:MOST_LABELS]
        others = [(names[name], round(p, DIGITS)) for name, p in ranked if p >= LEAST_PROBABILITY]
        sure = given.get(label.name)
        confirmed = int(node in state.confirmed)
        found.append((i, names[label.name], None if sure is None else round(sure, DIGITS), confirmed, others))
    return found
