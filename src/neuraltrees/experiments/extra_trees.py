"""Extremely randomised trees (Geurts et al. 2006) on scene graphs: a baseline that is not a network."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from torch import Tensor

from neuraltrees.data.splits import Split
from neuraltrees.data.task import Task
from neuraltrees.extras import require


def extra_trees(task: Task, splits: Sequence[Split], trees: int = 500) -> tuple[Tensor, float]:
    """Probabilities of a forest per node type and split, and the seconds it took.

    Trees see the features of a node, the mean features of its neighbours of each type, and how many of its neighbours
    have each of the labels that the split trains on.

    Shapes: → :math:`(n, splits, C)`
    """
    ensemble = require("sklearn.ensemble", extra="experiments", what="extra-trees")
    start = time.perf_counter()
    kinds, y, edges = task.node_type, task.y, _edges(task)
    x = torch.cat([graph.x for graph in task.graphs])
    classes = max(task.classes.values())
    of_kind = [(kinds == kind).float() for kind in range(len(task.types))]
    pooled = [_sums(x * mine.unsqueeze(1), edges) for mine in of_kind]
    counts = [_sums(mine.unsqueeze(1), edges) for mine in of_kind]
    own = torch.cat([x, *(total / count.clamp(min=1) for total, count in zip(pooled, counts, strict=True)), *counts], 1)
    found = torch.zeros(len(x), len(splits), classes)
    for number, split in enumerate(splits):
        known = torch.zeros(len(x), len(of_kind) * classes)
        known[torch.arange(len(x)), kinds * classes + y] = split.train.float()
        seen = torch.cat([own, _sums(known, edges)], 1).numpy()
        for kind in range(len(of_kind)):
            train, mine = split.train & (kinds == kind), kinds == kind
            forest = ensemble.ExtraTreesClassifier(trees, min_samples_leaf=1, max_features=0.3, random_state=number)
            forest.fit(seen[train.numpy()], y[train].numpy())
            probabilities = torch.from_numpy(forest.predict_proba(seen[mine.numpy()])).float()
            place = mine.nonzero().flatten().unsqueeze(1)
            found[place, number, torch.from_numpy(forest.classes_).unsqueeze(0)] = probabilities
    return found, time.perf_counter() - start


def _edges(task: Task) -> Tensor:
    sizes = [graph.num_nodes for graph in task.graphs]
    first = torch.tensor([0, *sizes]).cumsum(0).tolist()
    return torch.cat([graph.edge_index + shift for graph, shift in zip(task.graphs, first, strict=False)], 1)


def _sums(values: Tensor, edges: Tensor) -> Tensor:
    """The sum over the neighbours of every node."""
    return torch.zeros_like(values).index_add(0, edges[1], values[edges[0]])
