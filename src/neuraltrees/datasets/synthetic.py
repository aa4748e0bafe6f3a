"""Generated scene graphs with a known label posterior."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from neuraltrees.checks import check_at_least, check_seed
from neuraltrees.datasets.scene_model import SceneModel
from neuraltrees.datasets.scene_posterior import edge_ends, eliminate, find_hosts
from neuraltrees.datasets.stanford import OBJECT_LABELS, ROOM_LABELS
from neuraltrees.errors import InputError

FEWEST, MOST = 2, 14
_SIZE_WEIGHTS = (4, 6, 8, 9, 10, 10, 9, 8, 6, 4, 3, 2, 1)
_KEPT = 0.8
_CHUNK_BYTES = 2**24


class SyntheticScenes(InMemoryDataset):  # type: ignore[misc]
    """Scene graphs sampled from a known Markov network, so that the accuracy of an optimal method can be computed.

    The format is that of `StanfordSceneGraphs`: a room (node 0) is adjacent to its 2 to 14 objects; the edges among
    objects form a partial 2-tree; `x` has the centroid relative to the room and the size of the bounding box in metres,
    `y` the label, `node_type` 0 for rooms and 1 for objects. The model is `SceneModel.default(coupling)`; labels are
    sampled exactly.

    Shapes: x :math:`(n, 6)`, y and node_type :math:`(n)`, edge_index :math:`(2, m)`

    Args:
        num_scenes: number of scenes; the first n scenes do not depend on it.
        coupling: label coupling, from 0 (objects are independent given the room) to 10; at 3 the labels of neighbours
            depend strongly on each other.
        seed: the same seed gives the same scenes.
        transform: applied to a graph on every access.

    >>> scenes = SyntheticScenes(100)
    >>> scenes
    SyntheticScenes(100, coupling=1.0, seed=0)
    >>> everything = torch.ones(scenes.y.numel(), dtype=torch.bool)
    >>> 0.7 < scenes.optimum(everything) < 0.9
    True
    """

    labels: ClassVar[dict[str, tuple[str, ...]]] = {"room": ROOM_LABELS, "object": OBJECT_LABELS}
    classes: ClassVar[dict[str, int]] = {name: len(labels) for name, labels in labels.items()}

    def __init__(
        self,
        num_scenes: int = 500,
        coupling: float = 1.0,
        seed: int = 0,
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        super().__init__(transform=transform)
        check_at_least("num_scenes", num_scenes, 1)
        self.seed = check_seed(seed)
        self.model = SceneModel.default(coupling)
        self.coupling = float(coupling)
        self.data, self.slices = self.collate(sample_scenes(self.model, num_scenes, self.seed))

    def posterior(self, known: Tensor | None = None) -> Tensor:
        """Exact marginals :math:`p(y_v | X, y_{known})` of every node, given all features of its scene.

        The columns beyond the classes of a node's type are 0; the row of a known node is its one-hot label.

        Shapes: known :math:`(n)` → :math:`(n, 35)`, over the concatenated nodes of all scenes

        Args:
            known: mask of the nodes whose labels are given; none by default.
        """
        scenes = [self.get(index) for index in self.indices()]
        count = torch.tensor([scene.num_nodes for scene in scenes])
        x, y = (torch.cat([scene[name] for scene in scenes]).cpu() for name in ("x", "y"))
        known = torch.zeros(len(y), dtype=torch.bool) if known is None else _check_mask("known", known, len(y))
        adjacent = torch.zeros(len(scenes), MOST + 1, MOST + 1, dtype=torch.bool)
        edges = [scene.edge_index.cpu() for scene in scenes]
        owner = torch.arange(len(scenes)).repeat_interleave(torch.tensor([part.size(1) for part in edges]))
        adjacent[owner, *torch.cat(edges, 1)] = True

        result = torch.nn.functional.one_hot(y, len(OBJECT_LABELS)).double()
        for group, size in _chunks(count - 1, self.model):
            nodes = (count.cumsum(0) - count)[group, None] + torch.arange(size + 1)
            host, kept = find_hosts(adjacent[group, 1 : size + 1, 1 : size + 1])
            ruled_out = known[nodes].unsqueeze(-1) & (result[nodes] == 0)
            room = self.model.room_box.log_likelihood(x[nodes[:, 0]])
            objects = self.model.object_box.log_likelihood(x[nodes[:, 1:]])
            room.masked_fill_(ruled_out[:, 0, : len(ROOM_LABELS)], -torch.inf)
            objects.masked_fill_(ruled_out[:, 1:], -torch.inf)
            room, objects = eliminate(self.model, host, kept, room, objects).marginals()
            room = torch.nn.functional.pad(room, (0, len(OBJECT_LABELS) - len(ROOM_LABELS)))
            marginal = torch.cat([room.unsqueeze(1), objects], 1)
            result[nodes] = torch.where(known[nodes].unsqueeze(-1), result[nodes], marginal)
        return result

    def optimum(self, nodes: Tensor, known: Tensor | None = None) -> float:
        """Accuracy of the most probable labels on some nodes, which no method exceeds except by chance.

        Shapes: nodes and known :math:`(n)`, over the concatenated nodes of all scenes

        Args:
            nodes: mask of the nodes to score.
            known: mask of the nodes whose labels are given; none by default.
        """
        y = torch.cat([self.get(index).y for index in self.indices()]).cpu()
        nodes = _check_mask("nodes", nodes, len(y))
        if not nodes.any():
            raise InputError("Expected at least one node to score; got an empty mask.")
        return float((self.posterior(known).argmax(1) == y)[nodes].double().mean())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)}, coupling={self.coupling}, seed={self.seed})"


def sample_scenes(model: SceneModel, num_scenes: int, seed: int) -> list[Data]:
    """Samples the graph, then the labels, then the features of every scene; see `SyntheticScenes`.

    Every scene uses the same number of random numbers, whatever its size, so it does not depend on the other scenes.
    """
    stream = np.random.Generator(np.random.Philox(seed))
    uniform = torch.from_numpy(stream.random((num_scenes, MOST + 1, 10)))
    size = FEWEST + (uniform[:, 0, 1, None] * sum(_SIZE_WEIGHTS) >= torch.tensor(_SIZE_WEIGHTS).cumsum(0)).sum(1)
    scenes = {}
    for group, m in _chunks(size, model):
        label, host, kept, feature = uniform[group, : m + 1].split_with_sizes([1, 1, 2, 6], 2)
        host = (host[:, 3:, 0] * torch.arange(1, 2 * m - 3, 2)).long()
        kept = torch.cat([kept[:, 2, :1], kept[:, 3:].flatten(1)], 1) < _KEPT
        rooms, objects = (label.new_zeros(count) for count in model.log_object.shape)
        prior = eliminate(model, host, kept, rooms.expand(len(group), -1), objects.expand(len(group), m, -1))
        y = prior.sample(label[..., 0])
        noise = torch.special.ndtri(feature.clamp(min=2**-54))
        x = torch.cat(
            [model.room_box.sample(y[:, :1], noise[:, :1]), model.object_box.sample(y[:, 1:], noise[:, 1:])], 1
        )
        node_type = (torch.arange(m + 1) > 0).long()
        for i, adjacent in enumerate(_adjacent(host, kept)):
            edge_index = adjacent.nonzero().T.contiguous()
            scenes[int(group[i])] = Data(x=x[i].float(), edge_index=edge_index, y=y[i], node_type=node_type)
    return [scenes[index] for index in range(num_scenes)]


def _adjacent(host: Tensor, kept: Tensor) -> Tensor:
    """Adjacency matrices of the scenes, the room first.

    Shapes: host :math:`(S, m-2)`, kept :math:`(S, 2m-3)` → :math:`(S, 1+m, 1+m)`
    """
    count = 3 + host.size(1)
    adjacent = torch.zeros(len(host), count, count, dtype=torch.bool)
    adjacent[:, 0, 1:] = True
    scene, edge = kept.nonzero(as_tuple=True)
    adjacent[scene, *(1 + edge_ends(host)[scene, edge]).T] = True
    return adjacent | adjacent.mT


def _chunks(size: Tensor, model: SceneModel) -> Iterator[tuple[Tensor, int]]:
    """Groups of scenes with the same number of objects, small enough that their factors fit into the CPU cache."""
    for m in sorted(set(size.tolist())):
        per_scene = (2 * m - 3) * model.log_object.numel() * len(model.affinity) * 8
        for group in (size == m).nonzero()[:, 0].split(max(1, _CHUNK_BYTES // per_scene)):
            yield group, m


def _check_mask(name: str, mask: Tensor, count: int) -> Tensor:
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != (count,):
        came = f"{mask.dtype} of shape {tuple(mask.shape)}" if isinstance(mask, Tensor) else type(mask).__name__
        raise InputError(
            f"Expected {name} as a torch.bool mask of shape ({count},), over the nodes of all scenes; got {came}."
        )
    return mask.cpu()
