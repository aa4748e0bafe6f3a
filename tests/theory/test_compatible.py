"""Compatible functions: evaluation, merging, arithmetic, and what is refused."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from neuraltrees.theory import CompatibleFunction, maximal_cliques
from tests.theory.functions import GOLDEN, features, graphs, wave, waves

SQUARE = nt.Graph([[0, 1, 2, 3], [1, 2, 3, 0]])


def test_maximal_cliques_of_the_golden_example() -> None:
    assert maximal_cliques(GOLDEN) == ((0, 1), (0, 2), (1, 3), (2, 3, 4))


def test_value_by_hand() -> None:
    f = CompatibleFunction(
        GOLDEN, {(0, 1): lambda x: x[..., 0] - x[..., 1], (4, 2, 3): lambda x: x[..., 0] * x[..., 1] - x[..., 2]}
    )
    x = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype=torch.float64)
    assert f(x).item() == (1 - 2) + (5 * 3 - 4)
    assert repr(f) == "CompatibleFunction(num_nodes=5, num_cliques=4, num_components=2)"


def test_components_on_smaller_cliques_join_a_maximal_one() -> None:
    f = CompatibleFunction(GOLDEN, {(3, 4): lambda x: x[..., 0] - x[..., 1], (0,): lambda x: 2 * x[..., 0]})
    assert [len(f.components(clique)) for clique in f.cliques] == [1, 0, 0, 1]
    assert f.theta((2, 3, 4))(torch.tensor([7.0, 5.0, 1.0])).item() == 4
    assert f.theta((0, 2))(torch.tensor([7.0, 5.0])).item() == 0


@given(graph=graphs(), data=st.data())
@settings(deadline=None, max_examples=60)
def test_value_is_the_sum_of_the_thetas(graph: nt.Graph, data: st.DataObject) -> None:
    """Components on any cliques, maximal or not, in any order: the thetas of the maximal cliques hold all of them."""
    cliques = [clique for clique in nx.enumerate_all_cliques(graph.to_networkx()) if clique]
    chosen = data.draw(st.lists(st.sampled_from(cliques), max_size=6, unique_by=tuple))
    ordered = [tuple(data.draw(st.permutations(clique))) for clique in chosen]
    f = CompatibleFunction(graph, {clique: wave(i) for i, clique in enumerate(ordered)})
    x = features(graph, 2, 3)
    direct = sum((wave(i)(x[..., list(clique)]) for i, clique in enumerate(ordered)), torch.zeros(2, 3))
    thetas = sum((f.theta(clique)(x[..., list(clique)]) for clique in f.cliques), torch.zeros(2, 3))
    torch.testing.assert_close(f(x), direct.double(), atol=1e-12, rtol=0)
    torch.testing.assert_close(thetas.double(), direct.double(), atol=1e-12, rtol=0)


@given(graph=graphs())
@settings(deadline=None, max_examples=30)
def test_sums_and_multiples(graph: nt.Graph) -> None:
    f, g, x = waves(graph), waves(graph, 10), features(graph, 4)
    for combined, direct in [
        (f + g, f(x) + g(x)),
        (f - g, f(x) - g(x)),
        (-f, -f(x)),
        (3 * f, 3 * f(x)),
        (f * 0.5 + 2 * (g - 1), 0.5 * f(x) + 2 * (g(x) - 1)),
        (2.0 + f, 2 + f(x)),
        (1 - f, 1 - f(x)),
    ]:
        torch.testing.assert_close(combined(x), direct, atol=1e-12, rtol=0)


def test_lipschitz_constants_add_up() -> None:
    f = CompatibleFunction(SQUARE, {(0, 1): wave(0), (0,): wave(1), (1, 2): wave(2)}, {(0, 1): 1.0, (0,): 0.5})
    assert f.lipschitz((0, 1)) == 1.5
    assert f.lipschitz((1, 2)) is None
    assert f.lipschitz((2, 3)) == 0
    assert (-2 * f + f + 7).lipschitz((0, 1)) == 4.5


def test_empty_graph() -> None:
    f = CompatibleFunction(nt.Graph([[], []], num_nodes=0), {})
    assert f(torch.zeros(3, 0)).tolist() == [0, 0, 0]
    with pytest.raises(nt.InputError, match="Expected a graph with nodes for a constant component"):
        _ = f + 1.0


def test_what_is_no_clique_is_refused() -> None:
    with pytest.raises(nt.InputError, match=r"on a clique; got \(0, 1, 2\), but no edge joins 0 and 2.*Split it"):
        CompatibleFunction(SQUARE, {(0, 1, 2): wave(0)})
    with pytest.raises(nt.InputError, match=r"on nodes between 0 and 3; got \(3, 4\)"):
        CompatibleFunction(SQUARE, {(3, 4): wave(0)})
    with pytest.raises(nt.InputError, match=r"on distinct nodes; got \(1, 1\)"):
        CompatibleFunction(SQUARE, {(1, 1): wave(0)})
    for pair in combinations(range(4), 2):
        if abs(pair[0] - pair[1]) != 2:
            CompatibleFunction(SQUARE, {pair: wave(0)})


def test_other_bad_arguments() -> None:
    f = waves(SQUARE)
    with pytest.raises(nt.InputError, match=r"Expected features of shape \(…, 4\); got \(2, 5\)"):
        f(torch.zeros(2, 5))
    with pytest.raises(nt.InputError, match=r"Expected functions on the same graph; got .* which differ"):
        _ = f + waves(nt.Graph([[0, 1, 2], [1, 2, 3]]))
    wrong = CompatibleFunction(SQUARE, {(0, 1): lambda x: x})
    with pytest.raises(nt.InputError, match=r"on \(0, 1\) to map shape \(3, 2\) to \(3,\); got shape \(3, 2\)"):
        wrong(torch.zeros(3, 4))
    with pytest.raises(nt.InputError, match="Expected a Lipschitz constant of at least 0"):
        CompatibleFunction(SQUARE, {(0, 1): wave(0)}, lipschitz=-1.0)
    with pytest.raises(TypeError):
        _ = f * f  # type: ignore[operator]
