"""Geometry of scene graphs: positions and sizes relative to the room and to neighbours."""

from __future__ import annotations

from copy import copy

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from neuraltrees.errors import InputError

BOX = 6  # given columns: centroid x, y, z and size x, y, z of the bounding box
NODE_COLUMNS, EDGE_COLUMNS = 25, 6
LEAST = 1e-3  # boxes are at least this large


class SceneGeometry(BaseTransform):  # type: ignore[misc]  # PyG has no types
    r"""Features of scene graphs that stay the same when the whole scene is moved.

    A graph has `x` with centroid and size of the bounding box of every node, z upwards, and `node_type`, 0 for its one
    room. The result has the same columns for rooms and objects:

    - `x`: the centroid relative to the room's, in lengths and in shares of the room; the logarithms of the size, of the
      size relative to the room's, and of the horizontal size by length; the heights of bottom and top over floor and
      under ceiling; the distances to the nearer walls; the room's own size; volume, elongation, number of objects
      and of neighbours.
    - `edge_attr`: for each direction, the logarithm of the distance, the absolute differences of height and of log
      volume, the horizontal distance; then the differences of height and of log volume with their signs.

    Shapes: x :math:`(n, 6)` → :math:`(n, 25)`; edge_attr :math:`(m, 6)`

    >>> room, lamp = [0.0, 0.0, 1.5, 4.0, 3.0, 3.0], [1.0, 1.0, 2.5, 0.2, 0.2, 0.5]
    >>> kinds, edges = torch.tensor([0, 1]), torch.tensor([[0, 1], [1, 0]])
    >>> scene = SceneGeometry()(Data(x=torch.tensor([room, lamp]), node_type=kinds, edge_index=edges))
    >>> scene.x.shape, scene.edge_attr.shape
    (torch.Size([2, 25]), torch.Size([2, 6]))
    """

    def forward(self, data: Data) -> Data:
        x = data.x
        if not isinstance(x, Tensor) or x.dim() != 2 or x.shape[1] != BOX or not x.is_floating_point():
            came = f"{x.dtype} of shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
            raise InputError(f"Expected x as floats of shape (n, {BOX}), centroid and size of each box; got {came}.")
        kinds = data.get("node_type")
        if not isinstance(kinds, Tensor) or int((kinds == 0).sum()) != 1:
            came = "no node_type" if not isinstance(kinds, Tensor) else f"{int((kinds == 0).sum())}"
            raise InputError(f"Expected a scene with one room, the only node of type 0; got {came}.")
        found = copy(data)
        found.x = _nodes(x, kinds, data.edge_index)
        found.edge_attr = _edges(x, data.edge_index)
        return found


def _nodes(x: Tensor, kinds: Tensor, edge_index: Tensor) -> Tensor:
    place, size = x[:, :3], x[:, 3:].clamp(min=LEAST)
    room = int((kinds == 0).nonzero()[0])
    to_room, room_size = place - place[room], size[room]
    logs, room_logs = size.log(), room_size.log().expand(len(x), 3)
    flat = logs[:, :2].sort(1, descending=True).values
    bottom = to_room[:, 2] - (size[:, 2] - room_size[2]) / 2
    top = -to_room[:, 2] - (size[:, 2] - room_size[2]) / 2
    walls = ((room_size[:2] - size[:, :2]) / 2 - to_room[:, :2].abs()).sort(1).values
    objects = x.new_tensor(float(len(x) - 1)).log1p().expand(len(x))
    neighbours = torch.zeros_like(x[:, 0]).index_add(0, edge_index[1], torch.ones_like(edge_index[1], dtype=x.dtype))
    columns = [
        to_room,
        to_room[:, :2].abs() / room_size[:2],
        to_room[:, 2:] / room_size[2:],
        logs,
        logs - room_logs,
        flat,
        bottom.unsqueeze(1),
        top.unsqueeze(1),
        walls,
        room_logs,
        logs.sum(1, keepdim=True),
        flat[:, :1] - flat[:, 1:],
        objects.unsqueeze(1),
        neighbours.log1p().unsqueeze(1),
    ]
    return torch.cat(columns, 1)


def _edges(x: Tensor, edge_index: Tensor) -> Tensor:
    source, target = edge_index
    between = x[target, :3] - x[source, :3]
    volume = x[:, 3:].clamp(min=LEAST).log().sum(1)
    growth, height = volume[target] - volume[source], between[:, 2]
    distance = (between.norm(dim=1) + 0.1).log()
    return torch.stack([distance, height.abs(), growth.abs(), between[:, :2].norm(dim=1), height, growth], 1)
