"""Loopy belief propagation: exact where the graph is a forest, and near the truth for weak couplings."""

from __future__ import annotations

import networkx as nx
import pytest
import torch

import neuraltrees as nt
from neuraltrees.inference import MarkovNetwork, infer, loopy_marginals, random_markov_network


@pytest.mark.parametrize("seed", range(5))
def test_exact_on_forests(seed: int) -> None:
    forest = nx.disjoint_union(nx.random_labeled_tree(9, seed=seed), nx.path_graph(3))
    states = torch.randint(1, 5, (12,), generator=torch.Generator().manual_seed(seed)).tolist()
    model = random_markov_network(nt.Graph.from_networkx(forest), states, batch=(2, 3), seed=seed)
    for mine, exact in zip(loopy_marginals(model, 12, damping=0), infer(model).marginals, strict=True):
        torch.testing.assert_close(mine, exact, rtol=0, atol=1e-10)


def test_weak_couplings_are_nearly_exact_and_strong_ones_are_not() -> None:
    everyone = nt.Graph.from_networkx(nx.complete_graph(6))
    errors = []
    for scale in (0.05, 2.0):
        model = random_markov_network(everyone, 2, scale, batch=50)
        pairs = zip(loopy_marginals(model), infer(model).marginals, strict=True)
        errors.append(max(float((mine - exact).abs().max()) for mine, exact in pairs))
    assert errors[0] < 1e-4 < 0.05 < errors[1]


def test_potentials_on_the_same_pair_in_either_order_multiply() -> None:
    table = torch.randn(2, 3, dtype=torch.float64)
    both = MarkovNetwork([2, 3], [(0, 1), (1, 0)], [table, table.mT.contiguous()])
    for mine, exact in zip(loopy_marginals(both, 2, damping=0), infer(both).marginals, strict=True):
        torch.testing.assert_close(mine, exact, rtol=0, atol=1e-12)


def test_what_it_cannot_do_is_refused() -> None:
    triple = MarkovNetwork([2, 2, 2], [(0, 1, 2)], [torch.zeros(2, 2, 2)])
    with pytest.raises(nt.InputError, match="Expected potentials on variables and pairs; got a larger clique"):
        loopy_marginals(triple)
    zero = MarkovNetwork([2], [(0,)], [torch.tensor([0.0, -torch.inf])])
    with pytest.raises(nt.InputError, match="Expected potentials above zero; got a zero"):
        loopy_marginals(zero)
    with pytest.raises(nt.InputError, match=r"Expected iterations from 1 and a damping below 1; got 0 and 0\.5"):
        loopy_marginals(MarkovNetwork([2], [(0,)], [torch.zeros(2)]), 0)


def test_without_edges() -> None:
    alone = MarkovNetwork([2], [(0,)], [torch.tensor([0.25, 0.75]).log()])
    assert loopy_marginals(alone)[0].tolist() == pytest.approx([0.25, 0.75])
    assert [each.tolist() for each in loopy_marginals(MarkovNetwork([2, 4], [], []))] == [[0.5] * 2, [0.25] * 4]
