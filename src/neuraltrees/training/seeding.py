"""Networks of R runs, each with the initial weights that it would have alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from neuraltrees.data.task import Task
from neuraltrees.errors import InputError
from neuraltrees.nn.network import Network
from neuraltrees.training.network_spec import NetworkSpec


def build_seeded(spec: NetworkSpec, task: Task, seeds: Sequence[int]) -> Network:
    """R networks with random weights from one seed each; the state of torch's generator is not changed."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        together = spec.build(task, runs=len(seeds))
        check_runs(together, len(seeds))
        for run, seed in enumerate(seeds):
            torch.manual_seed(seed)
            alone = spec.build(task, runs=1)
            for mine, value in zip(together.parameters(), alone.parameters(), strict=True):
                mine[run] = value[0]
    return together


def check_runs(network: Network, runs: int) -> None:
    """Raises `InputError` unless every weight and buffer has the runs as its first dimension."""
    weights = {name for name, _ in network.named_parameters()}
    for name, value in network.state_dict().items():
        # A weight of shape (runs,) is refused: it could be the bias of a layer without runs.
        if value.dim() < (2 if name in weights else 1) or value.shape[0] != runs:
            raise InputError(
                f"Expected weights of {runs} run{'s' if runs > 1 else ''} in the first dimension of {name}; got shape "
                f"{tuple(value.shape)}. Build your own parts from RunLinear and parameters of shape (runs, ...)."
            )


def build_with(spec: NetworkSpec, task: Task, weights: dict[str, Tensor]) -> Network:
    """The network with these weights of one or several runs; the state of torch's generator is not changed."""
    runs = next(iter(weights.values())).shape[0]
    with torch.random.fork_rng(devices=[]):
        network = spec.build(task, runs=runs)
    network.load_state_dict(weights)
    return network
