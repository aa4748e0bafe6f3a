"""The 482 room-object scene graphs of the paper (Armeni et al., ICCV 2019, as prepared by Talak et al.)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from neuraltrees.datasets.inventory import PLACES
from neuraltrees.datasets.pickles import load_arrays
from neuraltrees.datasets.root import PublicFile
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.graph import Graph

Edges: TypeAlias = Literal["symmetric", "stored"]

ROOM_LABELS = (
    *("bathroom", "bedroom", "corridor", "dining_room", "home_office", "kitchen", "living_room", "storage_room"),
    *("utility_room", "lobby", "playroom", "staircase", "closet", "gym", "garage"),
)
OBJECT_LABELS = (
    *("bottle", "toilet", "sink", "plant", "vase", "chair", "bed", "tv", "skateboard", "couch", "dining_table"),
    *("handbag", "keyboard", "book", "clock", "microwave", "oven", "cup", "bowl", "refrigerator", "cell_phone"),
    *("laptop", "bench", "sports_ball", "backpack", "tie", "suitcase", "wine_glass", "toaster", "apple", "knife"),
    *("teddy_bear", "remote", "orange", "bicycle"),
)

FILE = PublicFile(
    path=PLACES["stanford3dsg"][0],
    url="https://github.com/MIT-SPARK/neural_tree/raw/HEAD/data/Stanford3DSG.pkl",
    sha256="b995282646024f80a003290d5f991b6dd9841d05a258c3fcdc0a73a4612b164f",
)
SIZES = {"graphs": 482, "nodes": 2_820, "undirected edges": 5_402}

_FEATURES = 6
_COLUMNS = ("x_list", "y_list", "edge_index_list", "room_mask_list", "object_mask_list")


class StanfordSceneGraphs(InMemoryDataset):  # type: ignore[misc]  # PyG has no types
    """482 scene graphs of a room and its objects, whose labels are predicted from their bounding boxes.

    Each `Data` has `x` (centroid and size of the bounding box), `y` (index of the label among those of the node type),
    `node_type` (0 room, 1 object; the room is node 0) and `edge_index`. Nothing is written into the data root, unless
    the file is missing and has to be downloaded. The data is licensed for non-commercial research.

    Shapes: x :math:`(n, 6)`, y and node_type :math:`(n)`, edge_index :math:`(2, m)`

    Args:
        root: the data root; see `find_data_root`.
        edges: `symmetric`, both directions of every edge; or `stored`, as in the file, where edges between a room and
            its objects only point to the room.
        transform: applied to a graph on every access. To build H-trees once: `attach_htrees(dataset)`.

    >>> StanfordSceneGraphs.labels["room"][:3]
    ('bathroom', 'bedroom', 'corridor')
    >>> StanfordSceneGraphs.classes
    {'room': 15, 'object': 35}
    """

    labels: ClassVar[dict[str, tuple[str, ...]]] = {"room": ROOM_LABELS, "object": OBJECT_LABELS}
    classes: ClassVar[dict[str, int]] = {name: len(labels) for name, labels in labels.items()}

    def __init__(
        self,
        root: PathLike | None = None,
        edges: Edges = "symmetric",
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        super().__init__(transform=transform)
        self.edges = edges
        path = FILE.find(root)
        scenes = read_scene_graphs(path, edges)
        found = {
            "graphs": len(scenes),
            "nodes": sum(scene.num_nodes for scene in scenes),
            "undirected edges": sum(Graph.from_data(scene).num_edges for scene in scenes),
        }
        if found != SIZES:
            raise InputError(
                f"Expected {path} to hold {_in_words(SIZES)}; got {_in_words(found)}. "
                f"Download it again from {FILE.url}."
            )
        self.data, self.slices = self.collate(scenes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)}, edges={self.edges!r})"


def read_scene_graphs(path: PathLike, edges: Edges = "symmetric") -> list[Data]:
    """Reads a file in the format of `Stanford3DSG.pkl`, of any number of graphs; see `StanfordSceneGraphs`."""
    if edges not in get_args(Edges):
        raise InputError(f"Expected edges out of {', '.join(get_args(Edges))}; got {edges!r}.")
    content = load_arrays(path)
    try:
        columns, names, _ = content
        rows = list(zip(*(columns[name] for name in _COLUMNS), strict=True))
        labels = [tuple(sorted(names[kind], key=names[kind].get)) for kind in ("room", "object")]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InputError(
            f"Expected {path} to hold ({{{', '.join(_COLUMNS)}}}, label names, label counts) with equally long lists; "
            f"got something else: {error!r}."
        ) from error
    if labels != [ROOM_LABELS, OBJECT_LABELS]:
        raise InputError(f"Expected {path} to name the 15 room and 35 object labels of the paper; got {labels}.")
    scenes = []
    for number, row in enumerate(rows):
        try:
            scenes.append(_scene(edges, *row))
        except InputError as error:
            raise InputError(f"{path}, graph {number}: {error}") from None
    return scenes


def _scene(edges: Edges, x: Any, y: Any, edge_index: Any, is_room: Any, is_object: Any) -> Data:
    count = len(x) if isinstance(x, np.ndarray) and x.ndim else 0
    x = _tensor("x", x, np.floating, (count, _FEATURES)).float()
    y = _tensor("y", y, np.integer, (count,)).long()
    is_room = _tensor("room_mask", is_room, np.bool_, (count,))
    is_object = _tensor("object_mask", is_object, np.bool_, (count,))
    if not x.isfinite().all():
        node = int((~x.isfinite()).any(1).nonzero()[0])
        raise InputError(f"Expected finite features; got {x[node].tolist()} at node {node}.")
    if not torch.equal(is_room, ~is_object):
        node = int((is_room == is_object).nonzero()[0])
        raise InputError(f"Expected every node to be a room or an object; node {node} is both or neither.")
    limit = torch.where(is_room, len(ROOM_LABELS), len(OBJECT_LABELS))
    wrong = ((y < 0) | (y >= limit)).nonzero()
    if len(wrong):
        node = int(wrong[0])
        kind = "room" if is_room[node] else "object"
        raise InputError(f"Expected {kind} labels between 0 and {limit[node] - 1}; got {y[node]} at node {node}.")
    graph = Graph(edge_index, num_nodes=count)
    stored = torch.from_numpy(np.array(edge_index, dtype=np.int64))
    return Data(x=x, edge_index=graph.edge_index if edges == "symmetric" else stored, y=y, node_type=is_object.long())


def _tensor(name: str, value: Any, kind: type[Any], shape: tuple[int, ...]) -> Tensor:
    if not isinstance(value, np.ndarray) or not np.issubdtype(value.dtype, kind) or value.shape != shape:
        came = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        raise InputError(f"Expected {name} as {kind.__name__} of shape {shape}; got {came}.")
    return torch.from_numpy(value.copy())


def _in_words(sizes: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sizes.items())
