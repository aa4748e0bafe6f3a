"""Extremely randomised trees (Geurts et al. 2006) on scene graphs: alone, and below a CRF."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from neuraltrees.data.folds import cross_fit
from neuraltrees.data.splits import Split
from neuraltrees.data.task import Task
from neuraltrees.extras import require


def extra_trees(task: Task, splits: Sequence[Split], trees: int = 500) -> tuple[Tensor, float]:
    """Probabilities of a forest per node type and split, and the seconds it took.

    Trees see the features of a node, the mean features of its neighbours of each type, and how many of its neighbours
    have each of the labels that the split trains on.

    Shapes: → :math:`(n, splits, C)`
    """
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
        found[:, number] = _forests(task, seen, torch.where(split.train, y, -1), trees, number)
    return found, time.perf_counter() - start


def cross_fitted_trees(task: Task, split: Split, trees: int, folds: int, seed: int) -> Tensor:
    """Log-probabilities by extra-trees of a node's own features, see `cross_fit`. Shapes: → :math:`(n, C)`"""
    x = torch.cat([graph.x for graph in task.graphs]).numpy()
    known = torch.where(split.train, task.y, -1)
    return cross_fit(lambda labels: _forests(task, x, labels, trees, seed), known, folds, seed).log()


def _forests(task: Task, seen: Any, known: Tensor, trees: int, seed: int) -> Tensor:
    """Probabilities by a forest per node type, trained on the known labels. Shapes: seen :math:`(n, F)`"""
    ensemble = require("sklearn.ensemble", extra="experiments", what="extra-trees")
    found = torch.zeros(len(known), max(task.classes.values()))
    for kind in range(len(task.types)):
        mine = task.node_type == kind
        train = mine & (known >= 0)
        forest = ensemble.ExtraTreesClassifier(trees, min_samples_leaf=1, max_features=0.3, random_state=seed)
        with warnings.catch_warnings():  # few nodes of many classes are no mistake here
            warnings.filterwarnings("ignore", "The number of unique classes")
            forest.fit(seen[train.numpy()], known[train].numpy())
        probabilities = torch.from_numpy(forest.predict_proba(seen[mine.numpy()])).float()
        place = mine.nonzero().flatten().unsqueeze(1)
        found[place, torch.from_numpy(forest.classes_).unsqueeze(0)] = probabilities
    return found


def _edges(task: Task) -> Tensor:
    sizes = [graph.num_nodes for graph in task.graphs]
    first = torch.tensor([0, *sizes]).cumsum(0).tolist()
    return torch.cat([graph.edge_index + shift for graph, shift in zip(task.graphs, first, strict=False)], 1)


def _sums(values: Tensor, edges: Tensor) -> Tensor:
    """The sum over the neighbours of every node."""
    return torch.zeros_like(values).index_add(0, edges[1], values[edges[0]])
