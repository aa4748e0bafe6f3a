"""Fitted networks with one hidden layer."""

from __future__ import annotations

import pytest
import torch

import neuraltrees as nt
from neuraltrees.theory import RidgeNetwork
from tests.theory.functions import wave


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_a_smooth_function_is_fitted(dimension: int) -> None:
    network = RidgeNetwork.fit(wave(1), dimension, 0.02, 5000)
    x = torch.rand(3000, dimension, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    assert float((network(x) - wave(1)(x)).abs().max()) < 0.02
    assert network.error < 0.02
    assert network.hidden_layers == 1
    assert network.num_parameters == network.weight.numel() + 2 * len(network.bias) + 1
    assert repr(network).startswith(f"RidgeNetwork(dimension={dimension}, units={len(network.bias)}, hidden_layers=1")


def test_what_is_out_of_reach_is_said() -> None:
    with pytest.raises(
        nt.ApproximationError,
        match=r"at most 12 units within 0.001 of a component of 2 variables; the next size is 16",
    ):
        RidgeNetwork.fit(wave(1), 2, 0.001, 50)
    with pytest.raises(nt.ApproximationError, match=r'error of .* Use method="interpolate", or a larger epsilon'):
        RidgeNetwork.fit(lambda x: (20 * x).sin().prod(-1), 2, 1e-4, 300)
    with pytest.raises(nt.ApproximationError, match=r"of 40 variables; the next size is 12157665459056928800, .* inf"):
        RidgeNetwork.fit(wave(1), 40, 0.1, 10**9)
