"""Products with separate weights per run, and their gradients."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor

from neuraltrees import products
from neuraltrees._core import native
from neuraltrees.nn.ensemble.linear import RunLinear, weight_gradient
from neuraltrees.training.device import rounded_products


@pytest.fixture
def multiplied(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The core is used on any processor; the shapes of what it computed."""
    shapes: list[tuple[int, ...]] = []
    multiply = native.multiply

    def noted(a: Any, b: Any, out: Any, threads: int) -> None:
        shapes.append(out.shape)
        multiply(a, b, out, threads)

    monkeypatch.setattr(products, "_faster", lambda: True)
    monkeypatch.setattr(native, "multiply", noted)
    return shapes


def answers(layer: RunLinear, h: Tensor) -> list[Tensor]:
    """The states after a layer, and the gradients of its weights and of those before it."""
    h = h.detach().requires_grad_()
    z = layer.multiply(h)
    return [z.detach(), *torch.autograd.grad(z.sin().sum(), [layer.weight, h])]


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize(("inputs", "outputs"), [(33, 64), (128, 35), (300, 17)])
def test_products_of_the_core(multiplied: list[tuple[int, ...]], runs: int, inputs: int, outputs: int) -> None:
    torch.manual_seed(0)
    layer, h = RunLinear(inputs, outputs, runs), torch.randn(70, runs, inputs)
    found = answers(layer, h)
    assert multiplied == [(runs, 70, outputs), (runs, 70, inputs), (runs, inputs, outputs)]
    for mine, exact in zip(found, answers(layer.double(), h.double()), strict=True):
        assert mine.dtype == torch.float32
        torch.testing.assert_close(mine, exact.float(), rtol=1e-4, atol=2e-5)
    assert len(multiplied) == 3, "the core computes in float32"


def test_a_gradient_that_is_one_number(multiplied: list[tuple[int, ...]]) -> None:
    layer, h = RunLinear(32, 64, 2), torch.randn(40, 2, 32, requires_grad=True)
    layer.multiply(h).sum().backward()  # its gradient has no strides
    assert len(multiplied) == 3 and h.grad is not None
    torch.testing.assert_close(h.grad, layer.weight.detach().sum(2).expand(40, 2, 32))


@pytest.mark.parametrize("rows", [2, 70])
def test_small_products_and_rounded_ones_are_not_for_the_core(multiplied: list[tuple[int, ...]], rows: int) -> None:
    layer, h = RunLinear(64, 64, 2), torch.randn(rows, 2, 64)
    with rounded_products(torch.device("cpu"), tf32=False, bf16=True) if rows > 2 else nullcontext():
        layer(h)
    assert not multiplied


def test_no_second_derivatives(multiplied: list[tuple[int, ...]]) -> None:
    layer, h = RunLinear(64, 64, 2), torch.randn(70, 2, 64, requires_grad=True)
    (grad,) = torch.autograd.grad(layer(h).sin().sum(), h, create_graph=True)
    assert multiplied
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


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
