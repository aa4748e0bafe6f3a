"""Markov networks as compatible functions: table lookup on states, and multilinear between them."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from neuraltrees.theory import CompatibleFunction, InterpolatedTable


@st.composite
def networks(draw: st.DrawFn) -> SimpleNamespace:
    """Up to five variables of one to four states, tables on a few sets of them in any order, some entries at -inf."""
    cards = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    sets = st.lists(st.integers(0, len(cards) - 1), max_size=3, unique=True).map(tuple)
    cliques = draw(st.lists(sets, max_size=4))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 100)))
    tables = [torch.randn([cards[v] for v in c], dtype=torch.float64, generator=generator) for c in cliques]
    if tables and draw(st.booleans()):
        tables[0].view(-1)[0] = -torch.inf
    return SimpleNamespace(cardinalities=tuple(cards), cliques=tuple(cliques), log_potentials=tuple(tables))


@given(network=networks())
@settings(deadline=None, max_examples=60)
def test_states_are_looked_up(network: SimpleNamespace) -> None:
    states = torch.tensor(list(product(*map(range, network.cardinalities))))
    direct = torch.zeros(len(states), dtype=torch.float64)
    for row, state in enumerate(states.tolist()):
        for clique, table in zip(network.cliques, network.log_potentials, strict=True):
            direct[row] += table[tuple(state[v] for v in clique)]
    f = CompatibleFunction.from_markov_network(network)
    unit = CompatibleFunction.from_markov_network(network, unit=True)
    last = torch.tensor(network.cardinalities) - 1
    torch.testing.assert_close(f(states), direct, atol=1e-12, rtol=0)
    torch.testing.assert_close(f(states.double()), direct, atol=1e-12, rtol=0)
    torch.testing.assert_close(unit(states / last.clamp(min=1).double()), direct, atol=1e-12, rtol=0)


@given(network=networks(), seed=st.integers(0, 100))
@settings(deadline=None, max_examples=40)
def test_no_slope_is_above_the_lipschitz_constant(network: SimpleNamespace, seed: int) -> None:
    f = CompatibleFunction.from_markov_network(network, unit=True)
    slope = sum(f.lipschitz(clique) or 0.0 for clique in f.cliques)
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.rand(2, 50, len(network.cardinalities), dtype=torch.float64, generator=generator).unbind()
    change, way = (f(x) - f(y)).abs(), (x - y).abs().amax(-1)
    assert bool((change <= slope * way + 1e-12).all()) or slope == torch.inf


def test_between_states_by_hand() -> None:
    table = InterpolatedTable(torch.tensor([[0.0, 1.0, 4.0], [2.0, 3.0, 8.0]], dtype=torch.float64))
    assert table(torch.tensor([0.5, 1.5], dtype=torch.float64)).item() == (1 + 4 + 3 + 8) / 4
    assert table.lipschitz == 4 + 5
    assert InterpolatedTable(table.values, unit=True).lipschitz == 4 + 2 * 5
    assert repr(table) == "InterpolatedTable(shape=(2, 3), unit=False)"


def test_zero_potentials_stay_where_they_are() -> None:
    table = InterpolatedTable(torch.tensor([0.5, 0.25, -torch.inf, 1.0], dtype=torch.float64), unit=True)
    for dtype in (torch.float32, torch.float64):
        at_states = table(torch.tensor([[0.0], [1 / 3], [2 / 3], [1.0]], dtype=dtype))
        assert at_states.tolist() == [0.5, 0.25, -torch.inf, 1.0]
    assert table.lipschitz == torch.inf


def test_a_batch_of_networks_is_refused() -> None:
    batch = SimpleNamespace(cardinalities=(2, 2), cliques=((0, 1),), log_potentials=(torch.zeros(5, 2, 2),))
    with pytest.raises(nt.InputError, match=r"2 dimensions for the clique \(0, 1\); got shape \(5, 2, 2\). Pass the"):
        CompatibleFunction.from_markov_network(batch)


@pytest.mark.parametrize(
    ("unit", "x", "message"),
    [
        (False, torch.tensor([0, 3]), "between 0 and 2; got 3"),
        (False, torch.tensor([-1, 0]), "between 0 and 1; got -1"),
        (True, torch.tensor([0.0, 1.5]), "between 0 and 1; got 1.5"),
        (True, torch.tensor([0.0, torch.nan]), "between 0 and 1; got nan"),
        (False, torch.tensor([0, 0, 0]), r"shape \(…, 2\) for this table; got \(3,\)"),
    ],
)
def test_values_that_are_no_states(unit: bool, x: torch.Tensor, message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        InterpolatedTable(torch.zeros(2, 3), unit)(x)
