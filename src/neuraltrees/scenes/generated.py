"""Generated buildings as scenes."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.datasets.stanford import OBJECT_LABELS, ROOM_LABELS
from neuraltrees.errors import InputError
from neuraltrees.scenes.labels import LabelSpace
from neuraltrees.scenes.scene import ADJACENT, IN, Scene, SceneEdge, SceneNode
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

    Ids are `room_0`, `room_1`, ..., `object_5` and so on, by the number of the node. All edges of the building are
    edges of the scene: make its typed graph with `TypedGraphSpec(object_edges=False)`.

    Args:
        building: an element of `SyntheticBuildings`.
        labelled: whether nodes have their true labels.
    """
    if not isinstance(building, Data) or any(
        not isinstance(building.get(key), Tensor) for key in ("x", "pos", "y", "node_type", "edge_index")
    ):
        raise InputError("Expected a building of SyntheticBuildings, with x, pos, y, node_type and edge_index.")
    kinds, labels = building.node_type.tolist(), building.y.tolist()
    ids = [f"{_TYPES[kind]}_{i}" for i, kind in enumerate(kinds)]
    positions, sizes = building.pos.double().numpy(), building.x[:, 3:].double().numpy()
    nodes = [
        SceneNode(
            ids[i],
            _TYPES[kind],
            _NAMES[kind][labels[i]] if labelled else None,
            labels[i] if labelled else None,
            positions[i],
            sizes[i],
        )
        for i, kind in enumerate(kinds)
    ]
    edges = [
        SceneEdge(ids[b], ids[a], ADJACENT if kinds[a] == kinds[b] else IN)
        for a, b in building.edge_index.t().tolist()
        if a < b
    ]
    return Scene.of(nodes, edges)
