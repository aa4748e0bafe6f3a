"""Class statistics: normal distributions per class, written out, and below a CRF."""

from __future__ import annotations

import torch
from torch.distributions import Normal

from neuraltrees.data.splits import random_node_split
from neuraltrees.data.task import Task
from neuraltrees.datasets import SyntheticScenes
from neuraltrees.datasets.loaders import SIZES
from neuraltrees.experiments.class_statistics import SHRINKAGE, log_likelihoods, statistics_and_head


def test_probabilities_are_those_of_normal_distributions() -> None:
    x = torch.tensor([[0.0, 1.0], [2.0, 3.0], [5.0, 5.0], [6.0, 4.0], [1.0, 1.0]])
    known = torch.tensor([0, 0, 1, 1, -1])
    means = [x[:2].mean(0), x[2:4].mean(0)]
    spreads = [(x[rows] - mean).square() for rows, mean in zip((slice(0, 2), slice(2, 4)), means, strict=True)]
    pooled = torch.cat(spreads).mean(0)
    scores = []
    for mean, spread in zip(means, spreads, strict=True):
        variance = (spread.sum(0) + SHRINKAGE * pooled) / (2 + SHRINKAGE)
        scores.append(Normal(mean, variance.sqrt()).log_prob(x).sum(1))
    torch.testing.assert_close(log_likelihoods(x, known, 2), torch.stack(scores, 1).log_softmax(1))


def test_a_class_without_a_node_is_impossible() -> None:
    found = log_likelihoods(torch.randn(6, 2), torch.tensor([0, 0, 2, 2, 2, -1]), 3)
    assert bool((found[:, 1] == -torch.inf).all()) and bool(found[:, [0, 2]].isfinite().all())


def test_the_head_on_top_is_better_than_statistics_alone() -> None:
    generated = SyntheticScenes(150, coupling=2.0, seed=0)
    task = Task(list(generated), generated.labels).scaled(SIZES)
    split = random_node_split(task.num_nodes, seed=0)
    ((same, answers),) = statistics_and_head(task, [split], prior=1.0, folds=3)
    assert same is split
    alone = torch.zeros_like(answers)
    x = torch.cat([graph.x for graph in task.graphs])
    for kind, classes in enumerate(task.classes.values()):
        mine = task.node_type == kind
        known = torch.where(split.train, task.y, -1)[mine]
        alone[mine, :classes] = log_likelihoods(x[mine], known, classes).exp()
    right = [float((each.argmax(1) == task.y)[split.test].float().mean()) for each in (answers, alone)]
    assert right[0] > right[1] + 0.1
