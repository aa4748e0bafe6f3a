"""Networks on the H-tree within ε of a compatible function: proven, measured, and counted."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from neuraltrees.theory import (
    CompatibleFunction,
    HatNetwork,
    approximate,
    naive_parameters,
    parameter_bound,
)
from neuraltrees.theory.approximation import cube_points
from neuraltrees.theory.grid_resolution import choose_cells
from neuraltrees.theory.hat_network import hat_parameters
from tests.oracle.bridge import to_graph
from tests.oracle.scenes import read_scene_graphs
from tests.theory.functions import GOLDEN, features, graphs, wave, waves

TREE = nt.build_htree(GOLDEN)


@pytest.mark.parametrize("epsilon", [0.8, 0.4, 0.2])
def test_golden_example(epsilon: float) -> None:
    f = waves(GOLDEN)
    g = approximate(f, TREE, epsilon)
    assert g.error_bound is not None
    assert g.measured_error() <= g.error_bound < epsilon
    assert sorted(TREE.bag(bag) for bag in g.networks) == list(f.cliques)
    assert g.num_parameters < naive_parameters(f, epsilon) / 50


def test_parameters_are_those_of_the_bags() -> None:
    g = approximate(waves(GOLDEN), TREE, 0.4)
    by_bag = g.parameters_by_bag()
    for bag, network in g.networks.items():
        assert isinstance(network, HatNetwork)
        assert by_bag[bag] == hat_parameters(len(TREE.bag(bag)), network.cells)
    # {1,2,3} adds the values of both its bags, {2,3,4} that of {2,4} alone: {3,4} is part of a larger clique.
    others = {TREE.bag(bag): count for bag, count in by_bag.items() if bag not in g.networks}
    assert others == {(0, 1, 2): 2, (1, 2, 3): 1, (2, 3): 0}
    assert g.num_parameters == sum(by_bag.values())
    assert repr(g).startswith("Approximation(epsilon=0.4, error_bound=0.3")


@given(graph=graphs(6).filter(lambda graph: len(graph.indices) < 20), number=st.integers(0, 20))
@settings(deadline=None, max_examples=25)
def test_within_epsilon_on_random_graphs(graph: nt.Graph, number: int) -> None:
    tree = nt.build_htree(graph)
    f = waves(graph, number) * (1 / graph.num_nodes)
    g = approximate(f, tree, 0.5)
    assert g.error_bound is not None
    assert g.measured_error(points=60) <= g.error_bound < 0.5


def test_every_node_answers_for_its_component() -> None:
    graph = nt.Graph.union([GOLDEN, nt.Graph([[0], [1]], num_nodes=3)])
    tree, f = nt.build_htree(graph), waves(graph) - 2.5  # negative values are shifted and shifted back
    g = approximate(f, tree, 0.9)
    x = features(graph, 4, 2)
    answers = g.answers(x)
    assert answers.shape == (4, 2, 8)
    for nodes in ([0, 1, 2, 3, 4], [5, 6], [7]):
        part = answers[..., nodes]
        torch.testing.assert_close(part, part[..., :1].expand_as(part), atol=1e-12, rtol=0)
    torch.testing.assert_close(g(x), answers[..., [0, 5, 7]].sum(-1))
    assert float((g(x) - f(x)).abs().max()) < 0.9


def test_no_network_where_there_is_nothing_to_compute() -> None:
    f = CompatibleFunction(GOLDEN, {(0, 1): wave(0)}, lipschitz=1.0)
    g = approximate(f, TREE, 0.1)
    assert [TREE.bag(bag) for bag in g.networks] == [(0, 1)]
    nothing = approximate(CompatibleFunction(GOLDEN, {}), TREE, 0.1)
    assert (nothing.num_parameters, nothing.error_bound) == (0, 0)
    assert nothing(torch.zeros(3, 5)).tolist() == [0, 0, 0]


def test_a_markov_network() -> None:
    """The log-density of a binary model on a cycle, as a continuous function of its states."""
    generator = torch.Generator().manual_seed(0)
    pairs = ((0, 1), (1, 2), (2, 3), (0, 3))
    tables = tuple(torch.randn(2, 2, dtype=torch.float64, generator=generator) / 4 for _ in pairs)
    network = SimpleNamespace(cardinalities=(2,) * 4, cliques=pairs, log_potentials=tables)
    f = CompatibleFunction.from_markov_network(network, unit=True)
    g = approximate(f, nt.build_htree(f.graph), 0.5)
    states = torch.cartesian_prod(*[torch.arange(2)] * 4)
    direct = sum(table[states[:, i], states[:, j]] for (i, j), table in zip(pairs, tables, strict=True))
    torch.testing.assert_close(g(states.double()), direct, atol=1e-10, rtol=0)  # states are grid points
    assert g.measured_error(300) <= (g.error_bound or 0) < 0.5


def test_a_scene_graph(data_root: Path) -> None:
    graphs = [to_graph(graph) for graph in read_scene_graphs(data_root)]
    graph = next(graph for graph in graphs if 6 <= graph.num_nodes <= 9 and nt.decompose(graph).width == 2)
    f = waves(graph)
    g = approximate(f, nt.build_htree(graph), 0.3 * len(f.cliques))
    assert g.measured_error(300) <= (g.error_bound or 0) < 0.3 * len(f.cliques)
    assert g.num_parameters < naive_parameters(f, g.epsilon) / 10


def test_tree_grows_linearly_where_the_naive_network_explodes() -> None:
    """Paths at a fixed accuracy for each clique: what the theorem counts."""
    counts, naive = [], []
    for n in (3, 5, 9, 17):
        graph = to_graph(nx.path_graph(n))
        f = waves(graph)
        epsilon = 0.1 * (n - 1)
        counts.append(approximate(f, nt.build_htree(graph), epsilon).num_parameters)
        naive.append(naive_parameters(f, epsilon))
    assert [round(count / counts[0]) for count in counts] == [1, 2, 4, 8]
    assert naive[0] > 10 * counts[0]
    assert naive[-1] > 10**19


def test_naive_is_the_tree_of_the_complete_graph() -> None:
    pair = nt.Graph([[0], [1]])
    f = waves(pair)
    assert naive_parameters(f, 0.1) == approximate(f, nt.build_htree(pair), 0.1).num_parameters


def test_fewer_parameters_than_a_grid_of_the_bound() -> None:
    """The theorem's sum is of the order of the number of grid points, at the accuracy of each clique."""
    f, epsilon = waves(GOLDEN), 0.2
    g = approximate(f, TREE, epsilon * len(f.cliques))
    points = sum(network.values.numel() for network in g.networks.values() if isinstance(network, HatNetwork))
    assert points < parameter_bound(TREE, epsilon)


@pytest.mark.parametrize("epsilon", [0.5, 0.1])
def test_shallow_networks_are_fitted(epsilon: float) -> None:
    f = waves(GOLDEN)
    g = approximate(f, TREE, epsilon, method="fit")
    assert g.error_bound is None
    assert g.measured_error() < epsilon
    assert all(network.hidden_layers == 1 for network in g.networks.values())


@given(
    parts=st.lists(st.tuples(st.integers(1, 3), st.floats(0, 2)), max_size=5),
    epsilon=st.floats(0.2, 1.0),
)
@settings(deadline=None, max_examples=60)
def test_cells_reach_epsilon_and_none_is_wasted_by_more_than_equal_shares(
    parts: list[tuple[int, float]], epsilon: float
) -> None:
    cells = choose_cells(parts, epsilon, 10**9)
    error = sum(slope * d / ((d + 1) * m) for (d, slope), m in zip(parts, cells, strict=True))
    assert error < epsilon
    used = sum(hat_parameters(d, m) for (d, _), m in zip(parts, cells, strict=True))
    share = epsilon / max(1, len(parts))
    equal = sum(hat_parameters(d, int(slope * d / ((d + 1) * share)) + 1) for d, slope in parts)
    assert used <= 1.5 * equal


def test_refused() -> None:
    f = waves(GOLDEN)
    with pytest.raises(
        nt.ApproximationError,
        match=r"at most 10,000 parameters; an error below 0.01 takes more, about 10\^8.8. Take a larger epsilon, "
        r"bound the treewidth of the graph \(sample_bounded_treewidth",
    ):
        approximate(f, TREE, 0.01, max_parameters=10_000)
    big = waves(to_graph(nx.complete_graph(12)))
    with pytest.raises(nt.ApproximationError, match=r"at most 2,000,000 parameters; .* about 10\^1\d"):
        approximate(big, nt.build_htree(big.graph), 0.1)
    huge = waves(to_graph(nx.complete_graph(400)))
    with pytest.raises(nt.ApproximationError, match=r"about 10\^4\d\d"):
        approximate(huge, nt.build_htree(huge.graph), 0.1)
    with pytest.raises(nt.InputError, match=r"Expected a finite Lipschitz constant .* got None on \(0, 1\).*Set it"):
        approximate(CompatibleFunction(GOLDEN, {(0, 1): wave(0)}), TREE, 0.5)
    with pytest.raises(nt.InputError, match=r"Expected a function with a Lipschitz constant of 0.1"):
        approximate(CompatibleFunction(GOLDEN, {(0, 1): wave(0)}, lipschitz=0.1), TREE, 0.01)
    for epsilon in (0.0, -0.1, float("inf"), float("nan")):
        with pytest.raises(nt.InputError, match=f"Expected a finite epsilon above 0; got {epsilon}"):
            approximate(f, TREE, epsilon)
    with pytest.raises(nt.InputError, match="Expected a method out of interpolate, fit; got 'magic'"):
        approximate(f, TREE, 0.5, method="magic")  # type: ignore[arg-type]
    with pytest.raises(nt.InputError, match=r"Expected features between 0 and 1; got 0.0 to 2.0"):
        approximate(f, TREE, 0.9)(torch.tensor([0.0, 0.0, 0.0, 0.0, 2.0]))


def test_points_of_the_cube() -> None:
    x = cube_points(2, 20, 0)
    assert x.shape == (4 + 16 + 20, 2)
    assert x[:4].tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert cube_points(1, 5, 0).shape == (2 + 5 + 5, 1)
    assert cube_points(12, 5, 0).shape == (5 + 1 + 5, 12)


@pytest.mark.parametrize("method", ["interpolate", "fit"])
def test_integer_features_have_real_answers(method: str) -> None:
    path = nt.Graph([[0, 1], [1, 2]])
    half = CompatibleFunction(path, {(0, 1): lambda x: x.double().sum(-1) / 8}, lipschitz=1.0)
    g = approximate(half, nt.build_htree(path), 0.05, method=method)
    assert float(g(torch.tensor([1, 1, 0]))) == pytest.approx(0.25, abs=0.05)
    assert all(network(torch.tensor([[1, 1]])).is_floating_point() for network in g.networks.values())


def test_the_limit_is_for_all_networks_together() -> None:
    path = nt.Graph([[0, 1, 2], [1, 2, 3]])
    f = CompatibleFunction(path, {(i, i + 1): lambda x: x.prod(-1) for i in range(3)}, lipschitz=2.0)
    tree = nt.build_htree(path)
    needed = approximate(f, tree, 0.5, method="fit").num_parameters
    with pytest.raises(nt.ApproximationError, match="Expected a shallow network of at most"):
        approximate(f, tree, 0.5, method="fit", max_parameters=needed // 2)


def test_a_gradient_passes_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    path = nt.Graph([[0, 1], [1, 2]])
    f = CompatibleFunction(path, {(0, 1): lambda x: x.sum(-1) / 8}, lipschitz=1.0)
    x = torch.full((3,), 0.3, dtype=torch.float64, requires_grad=True)
    approximate(f, nt.build_htree(path), 0.1)(x).backward()
    assert x.grad is not None
    assert [str(warning.message) for warning in recwarn] == []
