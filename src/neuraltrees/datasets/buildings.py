"""Generated buildings of several rooms, with a known label posterior."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, InMemoryDataset

from neuraltrees.checks import check_at_least, check_seed
from neuraltrees.datasets.building_model import BuildingLabels, BuildingModel
from neuraltrees.datasets.scene_graphs import MOST, sample_graphs
from neuraltrees.datasets.scene_labels import SceneLabels
from neuraltrees.datasets.synthetic import SyntheticScenes

FEWEST_ROOMS, MOST_ROOMS = 5, 10
_BLOCK = 200  # buildings at once
_CORNER = 0.4  # how often a room lies beside two rooms that are neighbours themselves
_APART = 8.0  # metres between the middles of rooms
_IN_A_ROW = 4


class SyntheticBuildings(SyntheticScenes):
    """Buildings of 5 to 10 rooms sampled from a known Markov network, so that the optimal accuracy can be computed.

    Each room has its objects as in `SyntheticScenes`, and the labels of neighbouring rooms depend on each other. The
    rooms are the first nodes of a building; their own edges form a partial 2-tree. `x` has the centroid relative to the
    middle of the room and the size of the bounding box, `pos` the centroid in the building, `room_index` the room of
    every node. Where the rooms are says nothing of their labels, so that the posterior is that of `x`.

    Shapes: x :math:`(n, 6)`, pos :math:`(n, 3)`, y, node_type and room_index :math:`(n)`, edge_index :math:`(2, m)`

    Args:
        num_buildings: number of buildings; the first n buildings do not depend on it.
        coupling: label coupling of objects, from 0 to 10.
        room_coupling: label coupling of neighbouring rooms, from 0 to 10.
        seed: the same seed gives the same buildings.
        transform: applied to a graph on every access.

    >>> buildings = SyntheticBuildings(20)
    >>> buildings
    SyntheticBuildings(20, coupling=1.0, room_coupling=1.0, seed=0)
    >>> everything = torch.ones(buildings.y.numel(), dtype=torch.bool)
    >>> 0.7 < buildings.optimum(everything) < 0.95
    True
    """

    def __init__(
        self,
        num_buildings: int = 500,
        coupling: float = 1.0,
        room_coupling: float = 1.0,
        seed: int = 0,
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        InMemoryDataset.__init__(self, transform=transform)
        check_at_least("num_buildings", num_buildings, 1)
        self.seed = check_seed(seed)
        self.model = BuildingModel.default(coupling, room_coupling)
        self.coupling, self.room_coupling = float(coupling), float(room_coupling)
        self.data, self.slices = self.collate(sample_buildings(self.model, num_buildings, self.seed))

    def _labels(self, block: Batch) -> SceneLabels:
        return BuildingLabels.of(self.model, block.edge_index, block.node_type, block.batch)

    def __repr__(self) -> str:
        couplings = f"coupling={self.coupling}, room_coupling={self.room_coupling}"
        return f"{type(self).__name__}({len(self)}, {couplings}, seed={self.seed})"


def sample_buildings(model: BuildingModel, num_buildings: int, seed: int) -> list[Data]:
    """Samples the graph, then the labels, then the features of every building; see `SyntheticBuildings`.

    Every building uses the same number of random numbers, so it does not depend on the other buildings.
    """
    stream = np.random.Generator(np.random.Philox(seed))
    found: list[Data] = []
    for start in range(0, num_buildings, _BLOCK):
        count = min(_BLOCK, num_buildings - start)
        found += _sample_block(model, torch.from_numpy(stream.random((count, MOST_ROOMS, MOST + 2, 10))))
    return found


def sample_room_graphs(uniform: Tensor) -> tuple[Tensor, Tensor]:
    """Which rooms the buildings have, and which of them are adjacent: a tree, and triangles on some of its edges.

    Args:
        uniform: for every room that a building may have, a number for the room before it that it lies beside, and one
            for whether it lies beside the one before that too; the first number of room 0 is for the number of rooms.

    Shapes: :math:`(B, 10, 2)` → :math:`(B, 10)` and :math:`(B, 10, 10)`

    >>> room, beside = sample_room_graphs(torch.zeros(1, 10, 2))
    >>> room.sum().item(), beside[0].nonzero().tolist()
    (5, [[0, 1], [0, 2], [0, 3], [0, 4], [1, 0], [2, 0], [3, 0], [4, 0]])
    """
    count = FEWEST_ROOMS + (uniform[:, 0, 0] * (MOST_ROOMS - FEWEST_ROOMS + 1)).long()
    room = torch.arange(MOST_ROOMS) < count[:, None]
    building = torch.arange(len(uniform))
    host = torch.zeros(len(uniform), MOST_ROOMS, dtype=torch.long)
    adjacent = torch.zeros(len(uniform), MOST_ROOMS, MOST_ROOMS, dtype=torch.bool)
    for i in range(1, MOST_ROOMS):
        host[:, i] = (uniform[:, i, 0] * i).long()
        adjacent[building, i, host[:, i]] = True
        corner = ((uniform[:, i, 1] < _CORNER) & (host[:, i] > 0)).nonzero()[:, 0]
        adjacent[corner, i, host[corner, host[corner, i]]] = True
    return room, (adjacent | adjacent.mT) & room[:, :, None] & room[:, None, :]


def _sample_block(model: BuildingModel, uniform: Tensor) -> list[Data]:
    rooms, beside = sample_room_graphs(uniform[:, :, MOST + 1, :2])
    node, adjacent = sample_graphs(uniform[:, :, : MOST + 1, 1:4].flatten(0, 1))
    node = node.view(*rooms.shape, -1) & rooms[:, :, None]
    building, room, place = node.nonzero(as_tuple=True)
    # In every building the rooms first, then the objects room by room.
    order = torch.argsort(2 * building + (place > 0), stable=True)
    building, room, place = building[order], room[order], place[order]
    count = building.bincount(minlength=len(rooms))
    begin = count.cumsum(0) - count
    number = torch.full(node.shape, -1)
    number[building, room, place] = torch.arange(len(building))
    scene, *ends = adjacent.view(*node.shape, -1).flatten(0, 1).nonzero(as_tuple=True)
    inside = rooms.flatten()[scene]
    within = torch.stack([number.flatten(0, 1)[scene[inside], end[inside]] for end in ends])
    where, *pair = beside.nonzero(as_tuple=True)
    union = torch.cat([torch.stack([number[where, end, 0] for end in pair]), within], 1)
    union = union[:, torch.argsort(building[union[0]], stable=True)]
    node_type = (place > 0).long()
    drawn = uniform[:, :, : MOST + 1][building, room, place]
    y = BuildingLabels.of(model, union, node_type, building).sample(drawn[:, 0])
    x = model.sample(y, node_type, torch.special.ndtri(drawn[:, 4:].clamp(min=2**-54))).float()
    middle = torch.stack([_APART * (room % _IN_A_ROW), _APART * (room // _IN_A_ROW), 0.0 * room], 1)
    nodes, sides = count.tolist(), building[union[0]].bincount(minlength=len(rooms)).tolist()
    edges = union - begin[building[union[0]]]
    columns = (x, x[:, :3] + middle.float(), y, node_type, room)
    parts = (*(torch.split(column, nodes) for column in columns), torch.split(edges, sides, 1))
    return [
        Data(x=x, edge_index=e.contiguous(), y=y, node_type=kind, pos=pos, room_index=of)
        for x, pos, y, kind, of, e in zip(*parts, strict=True)
    ]
