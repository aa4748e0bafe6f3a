"""Products with separate weights per run, and their gradients."""

from __future__ import annotations

import pytest
import torch

from neuraltrees.nn.ensemble.linear import RunLinear, weight_gradient


@pytest.mark.parametrize("runs", [1, 2, 5])
def test_runs_at_once_give_what_single_layers_give(runs: int) -> None:
    torch.manual_seed(0)
    layer = RunLinear(3, 4, runs).double()
    h = torch.randn(7, runs, 3, dtype=torch.float64, requires_grad=True)
    layer(h).square().sum().backward()
    assert h.grad is not None and layer.weight.grad is not None
    for run in range(runs):
        alone = h[:, run].detach().clone().requires_grad_()
        weight = layer.weight[run].detach().clone().requires_grad_()
        assert layer.bias is not None
        (alone @ weight + layer.bias[run].detach()).square().sum().backward()
        torch.testing.assert_close(h.grad[:, run], alone.grad)
        torch.testing.assert_close(layer.weight.grad[run], weight.grad)


@pytest.mark.parametrize("shares", [1, 2, 4, 16])
def test_rows_may_be_summed_in_shares(shares: int) -> None:
    torch.manual_seed(0)
    h, grad = (torch.randn(32, 3, size, dtype=torch.float64) for size in (5, 6))
    expected = torch.einsum("nrf,nro->rfo", h, grad)
    torch.testing.assert_close(weight_gradient(h, grad, shares), expected)
    strided = torch.randn(5, 32, 3, dtype=torch.float64).permute(1, 2, 0)
    torch.testing.assert_close(weight_gradient(strided, grad, shares), torch.einsum("nrf,nro->rfo", strided, grad))
