"""The factorisation over root bags and the composition along the H-tree, against direct evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings

import neuraltrees as nt
from neuraltrees.theory import CompatibleFunction, Composition, Factorisation, approximate, maximal_cliques
from tests.oracle.bridge import to_graph
from tests.oracle.scenes import read_scene_graphs
from tests.theory.functions import GOLDEN, features, graphs, waves

TREE = nt.build_htree(GOLDEN)


def test_golden_example() -> None:
    """The paper's figure: γ₁ = θ₁₂ + θ₁₃, γ₂ = θ₂₄, γ₃ = θ₃₄₅."""
    parts = Factorisation(waves(GOLDEN), TREE)
    by_bag = {TREE.bag(root): cliques for root, cliques in parts.cliques.items()}
    assert by_bag == {(0, 1, 2): ((0, 1), (0, 2)), (1, 2, 3): ((1, 3),), (2, 3, 4): ((2, 3, 4),)}


def test_golden_composition() -> None:
    composition = Composition(waves(GOLDEN), TREE)
    at = {TREE.bag(bag): composition.clique(bag) for bag in composition.bags if composition.clique(bag)}
    assert at == {(0, 1): (0, 1), (0, 2): (0, 2), (1, 3): (1, 3), (2, 3, 4): (2, 3, 4)}
    assert len(composition.bags) == TREE.num_bags == 7


@given(graph=graphs())
@settings(deadline=None, max_examples=80)
def test_cliques_are_parted_over_the_roots(graph: nt.Graph) -> None:
    tree = nt.build_htree(graph)
    parts = Factorisation(waves(graph), tree)
    given_out = [clique for cliques in parts.cliques.values() for clique in cliques]
    assert sorted(given_out) == sorted(maximal_cliques(graph))
    assert all(set(c) <= set(tree.bag(root)) for root, cliques in parts.cliques.items() for c in cliques)


@given(graph=graphs())
@settings(deadline=None, max_examples=80)
def test_gammas_sum_to_the_function(graph: nt.Graph) -> None:
    tree, f, x = nt.build_htree(graph), waves(graph), features(graph, 5)
    parts = Factorisation(f, tree)
    torch.testing.assert_close(parts(x).sum(-1), f(x), atol=1e-12, rtol=0)
    for root in parts.roots:
        other = features(graph, 5, seed=1)
        other[:, list(tree.bag(root))] = x[:, list(tree.bag(root))]
        assert torch.equal(parts.gamma(root, x), parts.gamma(root, other))  # it reads its bag alone


@given(graph=graphs())
@settings(deadline=None, max_examples=80)
def test_composition_gives_the_gammas(graph: nt.Graph) -> None:
    tree, f, x = nt.build_htree(graph), waves(graph), features(graph, 2, 3)
    composition, parts = Composition(f, tree), Factorisation(f, tree)
    values = composition(x)
    torch.testing.assert_close(values[..., list(parts.roots)], parts(x), atol=1e-12, rtol=0)
    for node, kappa in enumerate(tree.kappa.tolist()):
        below = list(composition.children[node])
        if kappa >= 0:
            assert torch.equal(values[..., node], x[..., kappa])
        else:  # a function of its children's values and nothing else
            torch.testing.assert_close(values[..., node], composition.constituent(node)(values[..., below]))


@given(graph=graphs())
@settings(deadline=None, max_examples=40)
def test_a_bag_with_leaves_has_its_own_clique_or_none(graph: nt.Graph) -> None:
    tree = nt.build_htree(graph)
    composition = Composition(waves(graph), tree)
    computed = [composition.clique(bag) for bag in composition.bags]
    assert sorted(c for c in computed if c is not None) == list(maximal_cliques(graph))
    assert all(c is None or c == tree.bag(bag) for c, bag in zip(computed, composition.bags, strict=True))


def test_scene_graphs(data_root: Path) -> None:
    graph = nt.Graph.union([to_graph(graph) for graph in read_scene_graphs(data_root)[:60]])
    tree, f, x = nt.build_htree(graph), waves(graph), features(graph, 3)
    torch.testing.assert_close(Factorisation(f, tree)(x).sum(-1), f(x), atol=1e-10, rtol=0)
    torch.testing.assert_close(Composition(f, tree)(x)[:, tree.parent < 0].sum(-1), f(x), atol=1e-10, rtol=0)


def test_integer_states() -> None:
    f = CompatibleFunction(GOLDEN, {(0, 1): lambda x: (x[..., 0] == x[..., 1]).double()})
    states = torch.cartesian_prod(*[torch.arange(2)] * 5)
    assert torch.equal(Factorisation(f, TREE)(states).sum(-1), f(states))
    torch.testing.assert_close(Composition(f, TREE)(states)[:, TREE.parent < 0].sum(-1), f(states))


def test_a_tree_of_another_graph() -> None:
    with pytest.raises(nt.InputError, match="H-tree of the function's graph of 5 nodes; got one of a graph of 2 nodes"):
        Factorisation(waves(GOLDEN), nt.build_htree(nt.Graph([[0], [1]])))
    star = nt.build_htree(nt.Graph([[0, 0, 0, 0], [1, 2, 3, 4]]))
    with pytest.raises(nt.InputError, match=r"Expected a bag that holds the clique \(1, 3\); none does"):
        Composition(waves(GOLDEN), star)


def test_names() -> None:
    assert repr(Factorisation(waves(GOLDEN), TREE)).startswith("Factorisation(function=CompatibleFunction(num_nodes=5")
    assert repr(Composition(waves(GOLDEN), TREE)).startswith("Composition(function=CompatibleFunction(num_nodes=5")


def test_a_tree_of_a_graph_with_more_edges_is_refused() -> None:
    path, triangle = nt.Graph([[0, 1], [1, 2]]), nt.Graph([[0, 1, 2], [1, 2, 0]])
    f = CompatibleFunction(path, {(0, 1): lambda x: x.prod(-1), (1, 2): lambda x: x.sum(-1)})
    with pytest.raises(
        nt.InputError, match=r"got one with the complete bag .*, where that graph has the clique \(0, 1\)"
    ):
        Composition(f, nt.build_htree(triangle))


def test_nothing_of_an_empty_graph() -> None:
    empty = nt.Graph(torch.zeros(2, 0, dtype=torch.int64), num_nodes=0)
    f, tree, x = CompatibleFunction(empty, {}, lipschitz=1.0), nt.build_htree(empty), torch.zeros(3, 0)
    assert Factorisation(f, tree)(x).shape == Composition(f, tree)(x).shape == (3, 0)
    g = approximate(f, tree, 0.1)
    assert g(x).tolist() == f(x).tolist() == [0, 0, 0]
    assert g.measured_error() == 0
