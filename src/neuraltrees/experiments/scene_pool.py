"""Generated scenes, with the predictions of the exact posterior and of each node's own features."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.data.task import Task
from neuraltrees.datasets import Split, SyntheticScenes
from neuraltrees.datasets.loaders import SIZES
from neuraltrees.experiments.gap_protocols import Protocol
from neuraltrees.experiments.own_features import from_own_features

MANY = 20_000  # scenes from which several are joined to one graph


@dataclass(frozen=True)
class ScenePool:
    """The scenes of a setting, and whether the exact posterior and a node's own features predict its label correctly.

    Shapes: sizes (number of nodes per scene) :math:`(S)`, by_posterior and by_features :math:`(n)`
    """

    task: Task
    sizes: Tensor
    by_posterior: Tensor
    by_features: Tensor

    def splits(self, train: int, protocol: Protocol) -> list[Split]:
        """One random split per run, with `train` training scenes."""
        return [
            Split(*(mask.repeat_interleave(self.sizes) for mask in masks))
            for masks in split_scenes(len(self.sizes), train, protocol)
        ]


def split_scenes(count: int, train: int, protocol: Protocol) -> list[Tensor]:
    """Masks of the training, validation and test scenes of every run. Shapes: a list of :math:`(3, count)`"""
    splits = []
    for run in range(protocol.runs):
        order = torch.randperm(count, generator=torch.Generator().manual_seed(run))
        masks = torch.zeros(3, count, dtype=torch.bool)
        for mask, part in zip(masks, order.split_with_sizes([train, *protocol.held_out]), strict=True):
            mask[part] = True
        splits.append(masks)
    return splits


def make_pool(train: int, coupling: float, protocol: Protocol) -> ScenePool:
    """Generates `train` training scenes and the held-out scenes."""
    dataset = SyntheticScenes(train + sum(protocol.held_out), coupling, seed=0)
    sizes = dataset.slices["x"].diff()
    # Exact inference is only needed for scenes that are test scenes of some run.
    tested = torch.stack([masks[2] for masks in split_scenes(len(sizes), train, protocol)]).any(0)
    nodes = tested.repeat_interleave(sizes)
    by_posterior = torch.zeros(len(dataset.y), dtype=torch.bool)
    by_posterior[nodes] = dataset[tested].posterior().argmax(1) == dataset.y[nodes]
    by_features = from_own_features(dataset).argmax(1) == dataset.y
    # Very many scenes are joined, one graph per batch: training is the same, and preparing it is much quicker.
    together = 1 if len(sizes) < MANY else len(sizes) // protocol.most_batches
    task = Task(_joined(dataset, together), SyntheticScenes.labels).scaled(SIZES).with_trees()
    return ScenePool(task, sizes, by_posterior, by_features)


def _joined(dataset: SyntheticScenes, together: int) -> list[Data]:
    """The scenes as graphs, `together` scenes per graph."""
    sizes, edges = (dataset.slices[name].diff() for name in ("x", "edge_index"))
    group = torch.arange(len(sizes)) // together
    first = sizes.cumsum(0) - sizes  # number of the first node of every scene
    start = first[::together].repeat_interleave(group.bincount())
    edge_index = dataset.edge_index - start.repeat_interleave(edges)
    nodes, ends = (count.new_zeros(int(group[-1]) + 1).index_add(0, group, count).tolist() for count in (sizes, edges))
    parts = (torch.split(each, nodes) for each in (dataset.x, dataset.y, dataset.node_type))
    links = torch.split(edge_index, ends, 1)
    return [Data(x=a, y=b, node_type=c, edge_index=d) for a, b, c, d in zip(*parts, links, strict=True)]
