"""GIN rounds with weights set by hand bring the sum of the root values to every node, exact to rounding."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import neuraltrees as nt
from neuraltrees.nn import GINConv
from neuraltrees.theory import RootSum
from neuraltrees.theory.aggregation import tree_sizes
from tests.oracle import strategies
from tests.oracle.bridge import to_graph
from tests.oracle.scenes import read_scene_graphs
from tests.theory.functions import GOLDEN, graphs

EPS = torch.finfo(torch.float64).eps


def root_values(tree: nt.HTree, seed: int = 0, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    """Root values that sum to less than the scale in every tree, others arbitrary, and the sum of every node's tree."""
    h = torch.rand(tree.num_nodes, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    h[:, 1] *= h[:, 1] > 0.5  # many zeros
    root = tree.parent < 0
    sums = torch.zeros(tree.num_components, 2, dtype=torch.float64)
    sums.index_add_(0, tree.component[root], h[root])
    h[root] = (h / sums.clamp(min=1e-9)[tree.component])[root] * scale * 0.99
    sums.zero_().index_add_(0, tree.component[root], h[root])
    return h, sums[tree.component]


def tolerance(network: RootSum, tree: nt.HTree) -> float:
    """Every round adds a rounding for each unit that it sums, and later rounds carry it to every root."""
    return 4 * EPS * network.scale * len(network.convs) * network.width * max(1, tree.num_roots)


def test_golden_example() -> None:
    tree = nt.build_htree(GOLDEN)
    h = torch.zeros(18, dtype=torch.float64)
    h[tree.parent < 0] = torch.tensor([0.5, 0.125, 0.25], dtype=torch.float64)
    network = RootSum.for_tree(tree)
    assert network(h, tree).tolist() == [0.875] * 18
    assert repr(network) == "RootSum(rounds=5, width=9, root_diameter=2, root_degree=2, depth=2, scale=1.0)"
    assert all(isinstance(conv, GINConv) for conv in network.convs)
    assert 0 < network.num_parameters < sum(p.numel() for p in network.parameters())


@given(graph=graphs(12), seed=st.integers(0, 100), scale=st.sampled_from([1.0, 0.03, 50.0]))
@settings(deadline=None, max_examples=80)
def test_every_node_gets_the_sum_of_its_tree(graph: nt.Graph, seed: int, scale: float) -> None:
    tree = nt.build_htree(graph)
    (h, sums), network = root_values(tree, seed, scale), RootSum.for_tree(tree, scale)
    assert float((network(h, tree) - sums).abs().max()) <= tolerance(network, tree)


@given(trees=st.lists(strategies.trees(30), min_size=1, max_size=3))
@settings(deadline=None, max_examples=25)
def test_one_network_serves_trees_of_all_shapes(trees: list[nx.Graph]) -> None:
    """The weights know the largest sizes alone: paths, stars and what lies between share them."""
    network = RootSum(root_diameter=30, root_degree=30, depth=2)
    for graph in [*trees, nx.path_graph(25), nx.star_graph(25)]:
        tree = nt.build_htree(to_graph(graph))
        h, sums = root_values(tree)
        assert float((network(h, tree) - sums).abs().max()) <= tolerance(network, tree)


def test_long_paths_and_wide_stars_stay_exact() -> None:
    for graph in (nx.path_graph(200), nx.star_graph(60), nx.balanced_tree(3, 4)):
        tree = nt.build_htree(to_graph(graph))
        h, sums = root_values(tree)
        assert float((RootSum.for_tree(tree)(h, tree) - sums).abs().max()) < 1e-11


def test_scene_graphs(data_root: Path) -> None:
    """One network for the forest of all 482 scene graphs."""
    tree = nt.build_htree(nt.Graph.union([to_graph(graph) for graph in read_scene_graphs(data_root)]))
    h, sums = root_values(tree)
    assert float((RootSum.for_tree(tree)(h, tree) - sums).abs().max()) < 1e-12


@given(graph=graphs(10))
@settings(deadline=None, max_examples=40)
def test_sizes_of_a_tree(graph: nt.Graph) -> None:
    tree = nt.build_htree(graph)
    roots = tree.to_networkx().subgraph(torch.nonzero(tree.parent < 0).flatten().tolist())
    diameter = max(nx.diameter(roots.subgraph(part)) for part in nx.connected_components(roots))
    assert tree_sizes(tree) == (diameter, max(dict(roots.degree).values()), int(tree.level.max()))


def test_making_it_draws_no_random_numbers() -> None:
    torch.manual_seed(0)
    wanted = torch.rand(3)
    torch.manual_seed(0)
    RootSum(2, 2, 2)
    assert torch.equal(torch.rand(3), wanted)


def test_refused() -> None:
    tree = nt.build_htree(GOLDEN)
    network, h = RootSum.for_tree(tree), torch.zeros(18, dtype=torch.float64)
    h[tree.parent < 0] = 0.4
    with pytest.raises(nt.InputError, match=r"sum to at most 1.0 in every tree; got .* sums to 1.2.*larger scale"):
        network(h, tree)
    with pytest.raises(nt.InputError, match=r"Expected root values of at least 0 .* got values from -0.4"):
        network(-h, tree)
    with pytest.raises(nt.InputError, match=r"a value for each of 18 tree nodes; got shape \(3,\)"):
        network(h[:3], tree)
    with pytest.raises(nt.InputError, match=r"root_diameter of at most 1; got 2. Take RootSum.for_tree"):
        RootSum(1, 2, 2)(h, tree)
    with pytest.raises(nt.InputError, match=r"root_degree of at most 1; got 2"):
        RootSum(2, 1, 2)(h, tree)
    with pytest.raises(nt.InputError, match=r"Expected a finite scale above 0; got 0"):
        RootSum(1, 1, 1, scale=0)
