"""Random graphs of scenes: a room, and objects whose own edges form a partial 2-tree."""

from __future__ import annotations

import torch
from torch import Tensor

FEWEST, MOST = 2, 14  # objects
_SIZE_WEIGHTS = (4, 6, 8, 9, 10, 10, 9, 8, 6, 4, 3, 2, 1)
_KEPT = 0.8


def sample_graphs(uniform: Tensor) -> tuple[Tensor, Tensor]:
    """Which nodes the scenes have, and which of them are adjacent; node 0 is the room, adjacent to all objects.

    Args:
        uniform: for every node that a scene may have, a number for the host of its object, and two for its edges; the
            first one of the room is for the size of the scene.

    Shapes: :math:`(S, 15, 3)` → :math:`(S, 15)` and :math:`(S, 15, 15)`

    >>> node, adjacent = sample_graphs(torch.zeros(1, 15, 3))
    >>> node.sum().item(), adjacent.nonzero()[:, 1:].tolist()
    (3, [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]])
    """
    size = FEWEST + (uniform[:, 0, :1] * sum(_SIZE_WEIGHTS) >= torch.tensor(_SIZE_WEIGHTS).cumsum(0)).sum(1)
    node = torch.arange(MOST + 1) <= size[:, None]
    host = (uniform[:, 3:, 0] * torch.arange(1, 2 * MOST - 3, 2)).long()
    kept = torch.cat([uniform[:, 2, 1:2], uniform[:, 3:, 1:].flatten(1)], 1) < _KEPT
    adjacent = torch.zeros(len(node), MOST + 1, MOST + 1, dtype=torch.bool)
    adjacent[:, 0, 1:] = True
    scene, edge = kept.nonzero(as_tuple=True)
    adjacent[scene, *(1 + edge_ends(host)[scene, edge]).T] = True
    return node, (adjacent | adjacent.mT) & node[:, :, None] & node[:, None, :]


def edge_ends(host: Tensor) -> Tensor:
    """The two objects that every edge of 2-trees joins, the later one first.

    Edge 0 is (1, 0), and every later object i is joined to both ends (a, b) of an earlier edge, its host, by the edges
    2i-3 = (i, a) and 2i-2 = (i, b).

    Shapes: host :math:`(S, m-2)` → :math:`(S, 2m-3, 2)`

    >>> edge_ends(torch.tensor([[0, 1]])).tolist()
    [[[1, 0], [2, 1], [2, 0], [3, 2], [3, 1]]]
    """
    scenes = torch.arange(len(host))
    ends = torch.tensor([[[1, 0]]]).repeat(len(host), 1, 1)
    for i, edge in enumerate(host.unbind(1), start=2):
        old = ends[scenes, edge]
        ends = torch.cat([ends, torch.stack([torch.full_like(old, i), old], 2)], 1)
    return ends
