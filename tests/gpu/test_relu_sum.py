"""On a GPU: sums of ReLUs over edges are those of a CPU, the same every time, and part of a training."""

from __future__ import annotations

import pytest
import torch

from neuraltrees.nn import triton_kernels
from neuraltrees.nn.ensemble.incidence import Incidence, Segments
from neuraltrees.nn.ensemble.relu_sum import relu_sum
from tests.nn.ensemble.relu_sums import CASES, Case, compare

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", CASES)
def test_kernels_give_what_torch_gives(name: str) -> None:
    compare(CASES[name], torch.device("cuda"))


@pytest.mark.parametrize("kinds", [0, 1, 13])
def test_many_edges_and_channels(kinds: int) -> None:
    compare(Case(40_000, 9_000, 8_000, (4, 100), kinds, padding=777), torch.device("cuda"))


def test_the_function_uses_them_and_repeats_itself() -> None:
    assert triton_kernels.available()
    source, target = (torch.randint(0, 500, (3000,), device="cuda") for _ in range(2))
    ends = [Incidence(end, 500, Segments.of(end, 500)) for end in (source, target)]
    kind, table = torch.randint(0, 5, (3000,), device="cuda"), torch.randn(5, 2, 30, device="cuda", requires_grad=True)
    x = torch.randn(500, 2, 30, device="cuda", requires_grad=True)
    found = []
    for _ in range(2):
        out = relu_sum(x, *ends, table, kind)
        assert type(out.grad_fn).__name__ == "ReluSumBackward"
        found.append((out, *torch.autograd.grad(out.square().sum(), (x, table))))
    assert all(torch.equal(one, two) for one, two in zip(*found, strict=True))
