"""The layer of sweeps: its scales, runs, gates and independence of the root."""

from __future__ import annotations

import pytest
import torch

from neuraltrees.errors import InputError
from neuraltrees.nn.sweep import SweepLayer, SweepPlan
from tests.nn.sweep.forests import SHAPES, edges_of
from tests.oracle.sweep import dense_sweep


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def test_distances_are_spread_over_the_channels() -> None:
    layer = SweepLayer(6)
    torch.testing.assert_close(layer.distances, torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]))
    assert SweepLayer(6, runs=3).distances.shape == (3, 6)
    assert SweepLayer(1).distances.tolist() == [1.0]


def test_it_is_the_scaled_sweep() -> None:
    above = SHAPES["mixed up"]
    layer = SweepLayer(4).double()
    h = torch.randn(len(above), 4, dtype=torch.float64)
    decay = (-1 / layer.distances).exp()
    scale = ((1 - decay**2) / (1 + decay**2)).sqrt()
    torch.testing.assert_close(layer(h, SweepPlan.of_parents(above)), dense_sweep(h, decay, above) * scale)


def test_independent_values_on_a_long_path_keep_their_variance() -> None:
    layer = SweepLayer(6)
    h = torch.randn(20_000, 6, generator=torch.Generator().manual_seed(0))
    z = layer(h, SweepPlan.of_parents([-1, *range(19_999)])).detach()
    assert bool(((z.var(0) - 1).abs() < 0.25).all()), z.var(0)


@pytest.mark.parametrize("gated", [False, True])
def test_runs_equal_layers_of_one_run(gated: bool) -> None:
    above = SHAPES["forest"]
    plan = SweepPlan.of_parents(above)
    together = SweepLayer(3, runs=2, gated=gated)
    torch.nn.init.normal_(together.log_distance)
    h = torch.randn(len(above), 2, 3)
    out = together(h, plan)
    assert out.shape == h.shape
    for run in range(2):
        alone = SweepLayer(3, gated=gated)
        alone.load_state_dict({name: each[run] for name, each in together.state_dict().items()})
        torch.testing.assert_close(out[:, run], alone(h[:, run], plan))
    shared = together(h[:, 0], plan)
    torch.testing.assert_close(shared, together(h[:, :1].expand(-1, 2, -1), plan))


def test_gates_do_not_depend_on_the_root() -> None:
    """Of two centres any may be the root, and nothing but the numbers of the nodes could tell which."""
    above = SHAPES["mixed up"]
    layer = SweepLayer(4, gated=True).double()
    h = torch.randn(len(above), 4, dtype=torch.float64)
    as_given = layer(h, SweepPlan.of_parents(above))
    torch.testing.assert_close(layer(h, SweepPlan.of_edges(edges_of(above), len(above))), as_given)
    assert layer.gate is not None
    decay, own = (-1 / layer.distances).exp(), layer.gate(h)
    gate = torch.sigmoid(own + own[torch.tensor(above)])
    assert float(gate.detach().mean()) > 0.95, "gates start open"
    expected = dense_sweep(h, decay, above, gate) * (1 / layer.distances).tanh().sqrt()
    torch.testing.assert_close(as_given, expected)


@pytest.mark.parametrize("gated", [False, True])
def test_all_parameters_learn(gated: bool) -> None:
    layer = SweepLayer(5, runs=2, gated=gated)
    layer(torch.randn(9, 2, 5), SweepPlan.of_parents(SHAPES["caterpillar"])).square().sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None and bool(parameter.grad.isfinite().all()), name
        assert float(parameter.grad.abs().sum()) > 0, name


def test_extreme_distances_stay_finite() -> None:
    layer = SweepLayer(2)
    with torch.no_grad():
        layer.log_distance.copy_(torch.tensor([-10.0, 40.0]))
    out = layer(torch.ones(10, 2), SweepPlan.of_parents(SHAPES["chain"]))
    out.sum().backward()
    assert bool(out.isfinite().all()) and layer.log_distance.grad is not None
    assert bool(layer.log_distance.grad.isfinite().all())


def test_resetting_spreads_the_distances_again() -> None:
    layer = SweepLayer(4, scales=(2, 16), gated=True)
    torch.nn.init.zeros_(layer.log_distance)
    layer.reset_parameters()
    torch.testing.assert_close(layer.distances, torch.tensor([2.0, 4.0, 8.0, 16.0]))
    assert layer.gate is not None and layer.gate.bias is not None and layer.gate.bias.tolist() == [2.0] * 4


@pytest.mark.parametrize("scales", [(0, 1), (4, 2), (1, float("inf")), (1, 2, 3)])
def test_scales_that_are_no_distances_are_refused(scales: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="Expected scales as the shortest and the longest distance"):
        SweepLayer(3, scales=scales)  # type: ignore[arg-type]


def test_numbers_of_channels_and_runs_are_checked() -> None:
    with pytest.raises(InputError, match="channels"):
        SweepLayer(0)
    with pytest.raises(InputError, match="runs"):
        SweepLayer(3, runs=0)
