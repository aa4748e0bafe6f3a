"""Generated scene graphs with a known label posterior."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, InMemoryDataset

from neuraltrees.checks import check_at_least, check_seed
from neuraltrees.datasets.scene_graphs import MOST, sample_graphs
from neuraltrees.datasets.scene_labels import SceneLabels
from neuraltrees.datasets.scene_model import SceneModel
from neuraltrees.datasets.stanford import OBJECT_LABELS, ROOM_LABELS
from neuraltrees.errors import InputError

_BLOCK = 1000  # scenes at once


class SyntheticScenes(InMemoryDataset):  # type: ignore[misc]  # PyG has no types
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
        self.model: SceneModel = SceneModel.default(coupling)
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
        y = torch.cat([scene.y for scene in scenes]).cpu()
        known = torch.zeros(len(y), dtype=torch.bool) if known is None else _check_mask("known", known, len(y))
        result = torch.nn.functional.one_hot(y, len(OBJECT_LABELS)).double()
        given = known.unsqueeze(1) & (result == 0)
        stop = 0
        for place in range(0, len(scenes), _BLOCK):
            block = Batch.from_data_list(scenes[place : place + _BLOCK]).cpu()
            inside = slice(stop, stop := stop + block.num_nodes)
            labels = self._labels(block)
            likelihood = self.model.log_likelihood(block.x, block.node_type)
            marginals = labels.marginals(likelihood.masked_fill(given[inside], -torch.inf))
            result[inside] = torch.where(known[inside].unsqueeze(1), result[inside], marginals)
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

    def _labels(self, block: Batch) -> SceneLabels:
        return SceneLabels.of(self.model, block.edge_index, block.node_type, block.batch)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)}, coupling={self.coupling}, seed={self.seed})"


def sample_scenes(model: SceneModel, num_scenes: int, seed: int) -> list[Data]:
    """Samples the graph, then the labels, then the features of every scene; see `SyntheticScenes`.

    Every scene uses the same number of random numbers, whatever its size, so it does not depend on the other scenes.
    """
    stream = np.random.Generator(np.random.Philox(seed))
    uniform = torch.from_numpy(stream.random((num_scenes, MOST + 1, 10)))
    return [scene for block in torch.split(uniform, _BLOCK) for scene in _sample_block(model, block)]


def _sample_block(model: SceneModel, uniform: Tensor) -> list[Data]:
    node, adjacent = sample_graphs(uniform[..., 1:4])
    owner, place = node.nonzero(as_tuple=True)
    scene, *ends = adjacent.nonzero(as_tuple=True)
    count, edges, node_type = node.sum(1), torch.stack(ends), (place > 0).long()
    union = edges + (count.cumsum(0) - count)[scene]
    y = SceneLabels.of(model, union, node_type, owner).sample(uniform[..., 0][node])
    noise = torch.special.ndtri(uniform[..., 4:][node].clamp(min=2**-54))
    x = model.sample(y, node_type, noise).float()
    nodes, sides = count.tolist(), scene.bincount(minlength=len(node)).tolist()
    parts = (*(torch.split(each, nodes) for each in (x, y, node_type)), torch.split(edges, sides, 1))
    return [Data(x=x, edge_index=e.contiguous(), y=y, node_type=kind) for x, y, kind, e in zip(*parts, strict=True)]


def _check_mask(name: str, mask: Tensor, count: int) -> Tensor:
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != (count,):
        came = f"{mask.dtype} of shape {tuple(mask.shape)}" if isinstance(mask, Tensor) else type(mask).__name__
        raise InputError(
            f"Expected {name} as a torch.bool mask of shape ({count},), over the nodes of all scenes; got {came}."
        )
    return mask.cpu()
