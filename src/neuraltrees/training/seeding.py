"""Networks of R runs, each with the weights that it would have alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from neuraltrees.data.task import Task
from neuraltrees.nn.models import Network
from neuraltrees.training.spec import NetworkSpec


def build_seeded(spec: NetworkSpec, task: Task, seeds: Sequence[int]) -> Network:
    """R networks with random weights from a seed each; torch's own generator stays as it was."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        together = spec.build(task, runs=len(seeds))
        for run, seed in enumerate(seeds):
            torch.manual_seed(seed)
            alone = spec.build(task, runs=1)
            for mine, value in zip(together.parameters(), alone.parameters(), strict=True):
                mine[run] = value[0]
    return together


def build_with(spec: NetworkSpec, task: Task, weights: dict[str, Tensor]) -> Network:
    """The network with these weights of one or several runs; torch's own generator stays as it was."""
    runs = next(iter(weights.values())).shape[0]
    with torch.random.fork_rng(devices=[]):
        network = spec.build(task, runs=runs)
    network.load_state_dict(weights)
    return network
