"""Sums of exponentials of compatible functions: homomorphism numbers, invariant and equivariant."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import neuraltrees as nt
from neuraltrees.theory import CompatibleFunction, ExpSum, homomorphisms
from neuraltrees.theory.invariance import EdgeWeight
from tests.theory.functions import features, graphs, waves

EDGE, PATH, TRIANGLE = nt.Graph([[0], [1]]), nt.Graph([[0, 1], [1, 2]]), nt.Graph([[0, 1, 2], [1, 2, 0]])


def node(a: Tensor) -> Tensor:
    return 1.5 + a


def edge(a: Tensor, b: Tensor) -> Tensor:
    return 0.5 + a * b


def signed(a: Tensor, b: Tensor) -> Tensor:
    return torch.sin(7 * (a + b))


def by_matrix(pattern: nt.Graph, graph: nt.Graph, x: Tensor, at: int | None = None, edge: EdgeWeight = edge) -> float:
    """hom(H, W) as the paper defines it, over all maps and the whole matrix."""
    weight = torch.diag(node(x))
    for u, v in graph.edge_index.t().tolist():
        weight[u, v] = edge(x[u], x[v])
    total = 0.0
    for image in product(range(graph.num_nodes), repeat=pattern.num_nodes):
        if at is None or image[0] == at:
            factors = [weight[a, a] for a in image]
            factors += [weight[image[u], image[v]] for u, v in pattern.edge_index.t().tolist() if u < v]
            total += float(torch.stack(factors).prod())
    return total


@given(graph=graphs(5), pattern=st.sampled_from([EDGE, PATH, TRIANGLE]))
@settings(deadline=None, max_examples=25)
def test_homomorphism_numbers(graph: nt.Graph, pattern: nt.Graph) -> None:
    x = features(graph)
    assert homomorphisms(pattern, graph, node, edge)(x).item() == pytest.approx(by_matrix(pattern, graph, x), rel=1e-10)
    at_all = [homomorphisms(pattern, graph, node, edge, at=s)(x).item() for s in range(graph.num_nodes)]
    assert at_all == pytest.approx([by_matrix(pattern, graph, x, s) for s in range(graph.num_nodes)], rel=1e-10)


@given(graph=graphs(4), pattern=st.sampled_from([EDGE, PATH, TRIANGLE]))
@settings(deadline=None, max_examples=15)
def test_edge_weights_of_both_signs(graph: nt.Graph, pattern: nt.Graph) -> None:
    x = features(graph)
    direct = by_matrix(pattern, graph, x, edge=signed)
    assert homomorphisms(pattern, graph, node, signed, shift=2.0)(x).item() == pytest.approx(direct, abs=1e-9)


@given(graph=graphs(5), data=st.data())
@settings(deadline=None, max_examples=15)
def test_invariance_and_equivariance(graph: nt.Graph, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(graph.num_nodes)))
    x, other = features(graph), graph.subgraph(np.array(order, dtype=np.int64))
    moved = x[list(order)]
    value = homomorphisms(PATH, graph, node, edge)(x)
    torch.testing.assert_close(homomorphisms(PATH, other, node, edge)(moved), value)
    for new, old in enumerate(order):
        here = homomorphisms(EDGE, other, node, edge, at=new)(moved)
        torch.testing.assert_close(here, homomorphisms(EDGE, graph, node, edge, at=old)(x))


@given(graph=graphs(6))
@settings(deadline=None, max_examples=15)
def test_sums_of_exponentials(graph: nt.Graph) -> None:
    f, g, x = waves(graph), waves(graph, 5), features(graph, 3)
    h = 2 * ExpSum([f, g]) - ExpSum([f + g], [0.5])
    torch.testing.assert_close(h(x), 2 * f(x).exp() + 2 * g(x).exp() - 0.5 * (f(x) + g(x)).exp())
    assert repr(h) == "ExpSum(3 functions)"


def test_a_distribution_is_the_exponential_of_a_compatible_function() -> None:
    """The paper's appendix B: p(X) = exp f(X), and it sums to Z over all states."""
    table = torch.tensor([[0.1, 0.9], [0.4, 0.6]], dtype=torch.float64).log()
    f = CompatibleFunction(PATH, {(0, 1): lambda x: table[x.unbind(-1)], (1, 2): lambda x: table[x.unbind(-1)]})
    states = torch.cartesian_prod(*[torch.arange(2)] * 3)
    assert ExpSum([f])(states).sum().item() == pytest.approx(float((table.exp() @ table.exp()).sum()))


def test_refused() -> None:
    with pytest.raises(nt.InputError, match=r"Expected positive edge weights; got -1.0. .* shift=2.0"):
        homomorphisms(EDGE, EDGE, torch.ones_like, lambda a, b: a - b)(torch.tensor([0.0, 1.0]))
    with pytest.raises(nt.InputError, match="Expected at most 1,000,000 maps"):
        homomorphisms(nt.Graph([[0], [1]], num_nodes=8), nt.Graph([[0], [1]], num_nodes=8), node, edge)
    with pytest.raises(nt.InputError, match="Expected a weight for each of 1 functions; got 2"):
        ExpSum([waves(EDGE)], [1.0, 2.0])
