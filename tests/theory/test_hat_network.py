"""Interpolants on Kuhn's triangulation as ReLU networks, and their proven error."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import neuraltrees as nt
from neuraltrees.theory import HatNetwork
from neuraltrees.theory.hat_network import hat_parameters
from tests.theory.functions import wave


def interpolate(values: Tensor, x: Tensor) -> Tensor:
    """The interpolant by sorting: in its cell, a point lies in the simplex that its coordinates' order names."""
    cells = values.shape[0] - 1
    result = []
    for point in (x * cells).tolist():
        low = [min(int(p), cells - 1) for p in point]
        rest = [p - q for p, q in zip(point, low, strict=True)]
        order = sorted(range(len(rest)), key=lambda i: -rest[i])
        levels = [1.0, *(rest[i] for i in order), 0.0]
        total = 0.0
        for step in range(len(order) + 1):
            corner = [q + (i in order[:step]) for i, q in enumerate(low)]
            total += (levels[step] - levels[step + 1]) * float(values[tuple(corner)])
        result.append(total)
    return torch.tensor(result, dtype=torch.float64)


@given(dimension=st.integers(1, 4), cells=st.integers(1, 4), seed=st.integers(0, 100))
@settings(deadline=None, max_examples=60)
def test_the_network_is_the_interpolant(dimension: int, cells: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(*[cells + 1] * dimension, dtype=torch.float64, generator=generator)
    x = torch.rand(20, dimension, dtype=torch.float64, generator=generator)
    x[0], x[1] = 0, 1
    network = HatNetwork(values, lipschitz=100.0)
    torch.testing.assert_close(network(x), interpolate(values, x), atol=1e-10, rtol=0)
    assert network(x).min() >= network.low - 1e-12
    assert network(x).max() <= network.high + 1e-12


@given(dimension=st.integers(1, 3), cells=st.integers(1, 6), number=st.integers(0, 20))
@settings(deadline=None, max_examples=40)
def test_the_error_is_below_its_bound(dimension: int, cells: int, number: int) -> None:
    function = wave(number)
    network = HatNetwork.of(function, dimension, cells, lipschitz=1.0)
    x = torch.rand(300, dimension, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert float((network(x) - function(x)).abs().max()) <= network.error


def test_the_bound_is_met_in_one_dimension() -> None:
    """A valley between two grid points is missed by all that the bound allows."""
    network = HatNetwork.of(lambda x: (x[..., 0] - 0.5).abs(), 1, 1, lipschitz=1.0)
    assert network(torch.tensor([[0.5]], dtype=torch.float64)).item() == network.error == 0.5


def test_layers_written_out() -> None:
    """Two variables, one cell: the matrices of all hidden layers give the same function and number of weights."""
    values = torch.tensor([[0.5, 2.0], [3.0, 5.0]], dtype=torch.float64)
    network = HatNetwork(values, lipschitz=10.0)
    first = [(i, k, sign) for i in range(2) for k in range(2) for sign in (1, -1)]
    w1, b1 = torch.zeros(2, 8, dtype=torch.float64), torch.zeros(8, dtype=torch.float64)
    for unit, (i, k, sign) in enumerate(first):
        w1[i, unit], b1[unit] = sign, -sign * k
    w2 = torch.zeros(8, 16, dtype=torch.float64)
    w3, b3, w4 = torch.zeros(16, 4, dtype=torch.float64), torch.ones(4, dtype=torch.float64), []
    for hat, point in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        for side, sign in enumerate((1, -1)):
            a, b = (first.index((i, point[i], sign)) for i in range(2))
            w2[a, 4 * hat + 2 * side] = 1
            w2[b, 4 * hat + 2 * side + 1], w2[a, 4 * hat + 2 * side + 1] = 1, -1
        w3[4 * hat : 4 * hat + 4, hat] = -1
        w4.append(values[point] - 0.5)
    x = torch.rand(50, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    hidden = (((x @ w1 + b1).relu() @ w2).relu() @ w3 + b3).relu()
    torch.testing.assert_close(network(x), hidden @ torch.stack(w4) + 0.5)
    written = sum(int(w.count_nonzero()) for w in (w1, w2, w3)) + len(b1) + len(b3) + len(w4) + 1
    assert network.num_parameters == written == hat_parameters(2, 1)
    assert network.hidden_layers == 3


def test_exponential_in_the_number_of_variables() -> None:
    counts = [hat_parameters(d, 9) for d in range(1, 7)]
    assert all(8 < later / earlier < 40 for earlier, later in pairwise(counts))


def test_a_steeper_function_is_noticed() -> None:
    with pytest.raises(nt.InputError, match=r"a Lipschitz constant of 1.0 in the sup norm; got a slope of 2 "):
        HatNetwork.of(lambda x: x.sum(-1), 2, 3, lipschitz=1.0)
    with pytest.raises(nt.InputError, match="got a slope of nan"):
        HatNetwork.of(lambda x: x.sum(-1) * torch.nan, 2, 3, lipschitz=1.0)
    HatNetwork.of(lambda x: x.sum(-1), 2, 3, lipschitz=2.0)


def test_shapes() -> None:
    network = HatNetwork.of(wave(0), 2, 3, lipschitz=1.0)
    assert network(torch.zeros(2)).shape == ()
    assert network(torch.zeros(4, 0, 2)).shape == (4, 0)
    assert network(torch.zeros(4, 5, 2, dtype=torch.float32)).dtype == torch.float32
