"""Scenes as PyG `HeteroData` and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.scenes.report import SceneReport
from neuraltrees.scenes.scene import NO_LABEL, Float64, NodeId, Scene, SceneEdge, SceneNode

if TYPE_CHECKING:
    from torch_geometric.data import HeteroData

# Spark-DSG's own conversion to torch names types after layers.
_SINGULAR = {f"{word}s": word for word in ("object", "room", "place", "mesh_place", "building", "agent", "segment")}
_READ = {"pos", "size", "box_centre", "label", "name", "node_ids", "embedding", "has_embedding", "num_nodes"}


def scene_of_hetero(data: HeteroData) -> Scene:
    """The scene of a `HeteroData`. Attributes of nodes other than the following are left out and named in the report.

    `pos` and `size` are positions and box sizes in metres (NaN where unknown), `box_centre` the centres of boxes,
    `label` the numbers of labels (-1 for none), `name` a list of names, `node_ids` ids (by default the type with a
    number), `embedding` vectors, `has_embedding` which nodes have one. Edges of the type (a, relation, b) have this
    relation.

    Shapes: pos, size, box_centre :math:`(n, 3)`, label :math:`(n)`, embedding :math:`(n, d)`, has_embedding :math:`(n)`
    """
    from torch_geometric.data import HeteroData

    if not isinstance(data, HeteroData):
        raise InputError(f"Expected a HeteroData; got {type(data).__name__}. Make scenes by hand with Scene.of.")
    nodes: list[SceneNode] = []
    ids: dict[str, list[NodeId]] = {}
    skipped = []
    for kind in data.node_types:
        store = data[kind]
        count = store.num_nodes or 0
        word = _SINGULAR.get(kind, kind)
        ids[kind] = _ids(store, word, count)
        position, size, centre = (_rows(store, kind, key, count) for key in ("pos", "size", "box_centre"))
        labels = _column(store, kind, "label", count, [NO_LABEL] * count)
        names = _column(store, kind, "name", count, [None] * count)
        vectors, has = _embeddings(store, kind, count)
        skipped += [f"{key} of {kind}" for key in store if key not in _READ]
        nodes += [
            SceneNode(
                ids[kind][i],
                word,
                names[i],
                None if labels[i] == NO_LABEL else labels[i],
                _known(position, i),
                _known(size, i),
                _known(centre, i),
                vectors[i] if vectors is not None and has[i] else None,
            )
            for i in range(count)
        ]
    edges = []
    for source, relation, target in data.edge_types:
        index = data[source, relation, target].get("edge_index")
        if not isinstance(index, Tensor) or index.dim() != 2 or len(index) != 2:
            raise InputError(f"Expected an edge_index of shape (2, m) for {(source, relation, target)}; got none.")
        for a, b in index.t().tolist():
            if not (0 <= a < len(ids[source]) and 0 <= b < len(ids[target])):
                raise InputError(
                    f"Expected edges {(source, relation, target)} between nodes that are there; got {a} - {b}."
                )
            edges.append(SceneEdge(ids[source][a], ids[target][b], relation))
    scene = Scene.of(nodes, edges)
    remarks = (f"Not read: {', '.join(skipped)}",) if skipped else ()
    return replace(scene, report=SceneReport("HeteroData", remarks=remarks))


def hetero_of_scene(scene: Scene) -> HeteroData:
    """The scene with every node and edge, in the form that `scene_of_hetero` reads.

    >>> scene = Scene.of([SceneNode("kitchen", "room"), SceneNode("oven", "object")], [("oven", "kitchen")])
    >>> hetero_of_scene(scene).edge_types
    [('object', 'in', 'room')]
    """
    from torch_geometric.data import HeteroData

    data = HeteroData()
    place = np.zeros(scene.num_nodes, np.int64)
    for kind in scene.types:
        chosen = scene.of_type(kind)
        place[chosen] = np.arange(len(chosen))
        store = data[kind]
        store.num_nodes = len(chosen)
        store.node_ids = [scene.ids[i] for i in chosen]
        store.name = [scene.names[i] for i in chosen]
        store.label = torch.from_numpy(scene.labels[chosen])
        store.pos, store.size = (torch.from_numpy(rows[chosen]) for rows in (scene.positions, scene.sizes))
        store.box_centre = torch.from_numpy(scene.box_centres[chosen])
        widths = {len(scene.embeddings[i]) for i in chosen.tolist() if i in scene.embeddings}
        if len(widths) > 1:
            raise InputError(f"Expected embeddings of one length for all {kind} nodes; got {sorted(widths)}.")
        if widths:
            none = np.zeros(widths.pop(), np.float32)
            rows = np.stack([scene.embeddings.get(i, none) for i in chosen.tolist()])
            store.embedding = torch.from_numpy(rows)
            store.has_embedding = torch.tensor([i in scene.embeddings for i in chosen.tolist()])
    ends = scene.node_type[scene.edges]
    keys = np.stack([ends[:, 0], scene.edge_relation, ends[:, 1]], 1)
    for source, relation, target in np.unique(keys, axis=0).tolist():
        chosen = np.flatnonzero((keys == (source, relation, target)).all(1))
        key = (scene.types[source], scene.relations[relation], scene.types[target])
        data[key].edge_index = torch.from_numpy(place[scene.edges[chosen]].T.copy())
    return data


def _ids(store: Any, kind: str, count: int) -> list[NodeId]:
    given = store.get("node_ids")
    if given is None:
        return [f"{kind}_{i}" for i in range(count)]
    values: list[NodeId] = given.tolist() if isinstance(given, Tensor) else list(given)
    if len(values) != count:
        raise InputError(f"Expected node_ids of {kind} for each of {count} nodes; got {len(values)}.")
    return values


def _column(store: Any, kind: str, key: str, count: int, default: list[Any]) -> list[Any]:
    given = store.get(key)
    if given is None:
        return default
    values = given.tolist() if isinstance(given, Tensor) else list(given)
    if len(values) != count:
        raise InputError(f"Expected {key} of {kind} for each of {count} nodes; got {len(values)}.")
    return values


def _rows(store: Any, kind: str, key: str, count: int) -> Float64 | None:
    given = store.get(key)
    if given is None:
        return None
    if not isinstance(given, Tensor) or given.shape != (count, 3):
        came = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
        raise InputError(f"Expected {key} of {kind} as a tensor of shape ({count}, 3); got {came}.")
    return given.detach().cpu().double().numpy()


def _known(rows: Float64 | None, i: int) -> Float64 | None:
    return None if rows is None or np.isnan(rows[i]).any() else rows[i]


def _embeddings(store: Any, kind: str, count: int) -> tuple[Any, Any]:
    given = store.get("embedding")
    if given is None:
        return None, None
    if not isinstance(given, Tensor) or given.dim() != 2 or len(given) != count:
        came = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
        raise InputError(f"Expected embedding of {kind} as a tensor of shape ({count}, d); got {came}.")
    has = _column(store, kind, "has_embedding", count, [True] * count)
    return given.detach().cpu().numpy(), has
