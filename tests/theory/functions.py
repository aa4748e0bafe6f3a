"""Graphs and compatible functions for the tests of the theory."""

from __future__ import annotations

from collections.abc import Callable

import torch
from hypothesis import strategies as st
from torch import Tensor

import neuraltrees as nt
from neuraltrees.theory import CompatibleFunction, maximal_cliques
from tests.oracle.strategies import graphs as networkx_graphs

GOLDEN = nt.Graph([[0, 0, 1, 2, 2, 3], [1, 2, 3, 3, 4, 4]])  # the paper's figure, its nodes counted from 0


def graphs(max_nodes: int = 8) -> st.SearchStrategy[nt.Graph]:
    return networkx_graphs(max_nodes).map(nt.Graph.from_networkx)


def wave(number: int) -> Callable[[Tensor], Tensor]:
    """A function that is not symmetric in its arguments, with a Lipschitz constant of 1 in the sup norm, in [0, 1]."""

    def function(x: Tensor) -> Tensor:
        weight = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype)
        return (0.5 + 0.5 * (x @ (weight / weight.sum()) * 2 + number).sin()).clamp(0, 1)

    return function


def waves(graph: nt.Graph, number: int = 0) -> CompatibleFunction:
    """A wave on every maximal clique."""
    cliques = maximal_cliques(graph)
    return CompatibleFunction(graph, {clique: wave(number + i) for i, clique in enumerate(cliques)}, lipschitz=1.0)


def features(graph: nt.Graph, *shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, graph.num_nodes, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
