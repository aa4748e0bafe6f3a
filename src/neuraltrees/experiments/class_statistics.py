"""A normal distribution per class (naive Bayes), alone and below a CRF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch_geometric.data import Batch

from neuraltrees.data.folds import cross_fit
from neuraltrees.data.splits import Split
from neuraltrees.data.task import Task
from neuraltrees.nn import CRFPosterior

SMOOTHING = 0.001  # classes are normal, or nearly so: their probabilities need little smoothing
SHRINKAGE = 4.0  # number of nodes by which the variance of all classes weighs in that of one


def log_likelihoods(x: Tensor, known: Tensor, classes: int) -> Tensor:
    """Log-probabilities by independent normal features with a mean and a variance per class, and class frequencies.

    Variances of rare classes are drawn towards the mean variance of all.

    Shapes: x :math:`(n, F)`, known :math:`(n)`, -1 where there is no label → :math:`(n, C)`
    """
    train = known >= 0
    z, label = x[train].double(), known[train]
    count = torch.bincount(label, minlength=classes).double().unsqueeze(1)
    sums = torch.zeros(classes, z.shape[1], dtype=z.dtype)
    mean = sums.index_add(0, label, z) / count.clamp(min=1)
    spread = (z - mean[label]).square()
    variance = (sums.index_add(0, label, spread) + SHRINKAGE * spread.mean(0)) / (count + SHRINKAGE)
    variance = variance.clamp(min=1e-6)
    away = (x.double().unsqueeze(1) - mean).square() / variance + variance.log()
    scores = (count.squeeze(1) / count.sum()).log() - away.sum(2) / 2
    return scores.log_softmax(1).to(x.dtype)


def statistics_and_head(
    task: Task, splits: Sequence[Split], prior: float, folds: int
) -> Iterator[tuple[Split, Tensor]]:
    """Every split with the probabilities by a CRF on top of class statistics. Shapes: probabilities :math:`(n, C)`"""
    batch, most = Batch.from_data_list(task.graphs), max(task.classes.values())

    def statistics(labels: Tensor) -> Tensor:
        found = torch.full((len(labels), most), -torch.inf)
        for kind, classes in enumerate(task.classes.values()):
            mine = task.node_type == kind
            found[mine, :classes] = log_likelihoods(batch.x[mine], labels[mine], classes)
        return found

    posterior = CRFPosterior(batch, task.classes, prior=prior, smoothing=SMOOTHING)
    for seed, split in enumerate(splits):
        known = torch.where(split.train, task.y, -1)
        given = cross_fit(statistics, known, folds, seed)
        yield split, posterior.fit(given, known)(given, known)
