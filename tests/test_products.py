"""Stacks of matrix products by the core, against those of PyTorch in double precision."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from torch import Tensor

import neuraltrees as nt
from neuraltrees import products
from neuraltrees._core import native
from neuraltrees.products import StackProduct, multiply, suits_core


@pytest.fixture(autouse=True)
def on_any_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_faster", lambda: True)


def stacks(rows: int = 21, inner: int = 35, columns: int = 40) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows)
    return torch.randn(3, rows, inner, generator=generator), torch.randn(3, inner, columns, generator=generator)


@pytest.mark.parametrize("transposed", [False, True])
def test_products(transposed: bool) -> None:
    a, b = stacks()
    if transposed:
        a, b = a.mT.contiguous().mT, b.mT.contiguous().mT
    assert suits_core(a, b)
    out = torch.full((3, 21, 40), torch.nan)
    multiply(a, b, out)
    torch.testing.assert_close(out, (a.double() @ b.double()).float(), rtol=1e-5, atol=1e-5)


def test_first_and_second_derivatives() -> None:
    found = []
    for dtype in (torch.float32, torch.float64):
        a, b = (each.to(dtype).requires_grad_() for each in stacks())
        product = StackProduct.apply(a, b) if dtype == torch.float32 else a @ b  # type: ignore[no-untyped-call]  # torch has no types here
        first = torch.autograd.grad(product.sin().sum(), [a, b], create_graph=True)
        second = torch.autograd.grad(sum(each.square().sum() for each in first), [a, b])
        found.append([each.double() for each in (*first, *second)])
    for mine, exact in zip(*found, strict=True):
        torch.testing.assert_close(mine, exact, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize(
    ("rows", "inner", "columns", "dtype"),
    [(2, 99, 99, torch.float32), (99, 99, 2, torch.float32), (5, 5, 9, torch.float32), (99, 99, 99, torch.float64)],
)
def test_what_pytorch_computes(rows: int, inner: int, columns: int, dtype: torch.dtype) -> None:
    a, b = (each.to(dtype) for each in stacks(rows, inner, columns))
    assert not suits_core(a, b)
    out = a.new_empty(3, rows, columns)
    multiply(a, b, out)
    torch.testing.assert_close(out, a @ b)


@pytest.mark.parametrize("tracked", [False, True])
def test_exact_inference_with_and_without_the_core(monkeypatch: pytest.MonkeyPatch, tracked: bool) -> None:
    torch.manual_seed(0)
    crf = nt.CRF(nt.Graph.of(nx.grid_2d_graph(3, 6)), 32)
    unary, table = torch.randn(18, 32).requires_grad_(tracked), torch.randn(32, 32).requires_grad_(tracked)
    answers, computed = [], 0
    original = native.multiply

    def counted(*given: object) -> None:
        nonlocal computed
        computed += 1
        original(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(native, "multiply", counted)
    for faster in (True, False):
        monkeypatch.setattr(products, "_faster", lambda faster=faster: faster)
        found = crf(unary, table)
        value = found.marginals.square().sum() + found.log_partition.sum()
        answers.append([found.marginals, *(torch.autograd.grad(value, [unary, table]) if tracked else ())])
        assert computed, "the core was not used"
    for mine, theirs in zip(*answers, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_layouts_that_the_core_refuses() -> None:
    a, b = (torch.randn(2, 3, 4).numpy() for _ in range(2))
    with pytest.raises(ValueError, match="matching shapes"):
        native.multiply(a, b, a, 1)
    with pytest.raises(ValueError, match="neighbours"):
        native.multiply(a, b.transpose(0, 2, 1), torch.empty(2, 3, 3).transpose(1, 2).numpy(), 1)
