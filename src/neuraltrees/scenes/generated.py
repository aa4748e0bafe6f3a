"""Built-in datasets as scenes."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.datasets.stanford import OBJECT_LABELS, ROOM_LABELS
from neuraltrees.errors import InputError
from neuraltrees.scenes.labels import LabelSpace
from neuraltrees.scenes.scene import ADJACENT, IN, Float64, Scene, SceneEdge, SceneNode
from neuraltrees.scenes.spec import OBJECT, ROOM

_TYPES = (ROOM, OBJECT)
_NAMES = (ROOM_LABELS, OBJECT_LABELS)


def building_label_spaces() -> dict[str, LabelSpace]:
    """The label spaces of generated buildings by node type; a scene numbers labels as they are listed.

    >>> building_label_spaces()["room"].name_of_number(0)
    'bathroom'
    """
    return {kind: LabelSpace(names, dict(enumerate(names))) for kind, names in zip(_TYPES, _NAMES, strict=True)}


def scene_of_building(building: Data, labelled: bool = True) -> Scene:
    """A building of `SyntheticBuildings` as a scene: rooms and objects where they are in the building.

    The position of a room is its middle, to which the features of its nodes are relative; the centre of its box is its
    centroid. So the scene has all that the exact posterior of the labels depends on, wherever the building is.

    Ids are `room_0`, `room_1`, ..., `object_5` and so on, by the number of the node. All edges of the building are
    edges of the scene: make its typed graph with `TypedGraphSpec(object_edges=False)`.

    Args:
        building: an element of `SyntheticBuildings`.
        labelled: whether nodes have their true labels.
    """
    _check(building, ("x", "pos", "y", "node_type", "edge_index"), "a building of SyntheticBuildings")
    centres = building.pos.double().numpy()
    middles = centres - building.x[:, :3].double().numpy()
    is_room = (building.node_type == _TYPES.index(ROOM)).unsqueeze(1).numpy()
    return _scene(building, np.where(is_room, middles, centres), centres, labelled)


def scene_of_room(graph: Data, labelled: bool = True) -> Scene:
    """A graph of `StanfordSceneGraphs` or `SyntheticScenes` as a scene, a room and its objects; as `scene_of_building`.

    Args:
        graph: an element of these datasets.
        labelled: whether nodes have their true labels.

    >>> from neuraltrees.datasets import SyntheticScenes
    >>> scene_of_room(SyntheticScenes(1)[0]).types
    ('room', 'object')
    """
    _check(graph, ("x", "y", "node_type", "edge_index"), "a graph of StanfordSceneGraphs")
    centres = graph.x[:, :3].double().numpy()
    return _scene(graph, centres, centres, labelled)


def _check(graph: Any, keys: tuple[str, ...], what: str) -> None:
    if not isinstance(graph, Data) or any(not isinstance(graph.get(key), Tensor) for key in keys):
        raise InputError(f"Expected {what}, with {', '.join(keys[:-1])} and {keys[-1]}.")


def _scene(graph: Data, positions: Float64, centres: Float64, labelled: bool) -> Scene:
    kinds, labels = graph.node_type.tolist(), graph.y.tolist()
    ids = [f"{_TYPES[kind]}_{i}" for i, kind in enumerate(kinds)]
    sizes = graph.x[:, 3:].double().numpy()
    nodes = [
        SceneNode(
            ids[i],
            _TYPES[kind],
            _NAMES[kind][labels[i]] if labelled else None,
            labels[i] if labelled else None,
            positions[i],
            sizes[i],
            centres[i],
        )
        for i, kind in enumerate(kinds)
    ]
    edges = [
        SceneEdge(ids[b], ids[a], ADJACENT if kinds[a] == kinds[b] else IN)
        for a, b in graph.edge_index.t().tolist()
        if a < b
    ]
    return Scene.of(nodes, edges)
