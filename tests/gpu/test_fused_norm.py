"""On a GPU: fused batch norm and ReLU give what `RunBatchNorm` gives in float64 on a CPU, and take part in training."""

from __future__ import annotations

import pytest
import torch

from neuraltrees.nn import triton_kernels
from neuraltrees.nn.ensemble.norm import RunBatchNorm
from tests.nn.ensemble.fused_norms import CASES, Case, compare

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_fused_norms_give_what_the_layer_gives(name: str, relu: bool) -> None:
    compare(CASES[name], relu, torch.device("cuda"))


@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("dropped", [0.0, 0.4])
def test_dropout_and_a_residual(dropped: float, relu: bool) -> None:
    compare(CASES["padding"], relu, torch.device("cuda"), dropped)
    compare(Case(20_000, 2, 100, 321), relu, torch.device("cuda"), dropped)


@pytest.mark.parametrize("relu", [True, False])
def test_many_rows_and_channels(relu: bool) -> None:
    compare(Case(20_000, 2, 100, 321), relu, torch.device("cuda"))


def test_the_layer_uses_it_in_training_alone() -> None:
    assert triton_kernels.available()
    norm = RunBatchNorm(4).cuda()
    h = torch.randn(30, 4, device="cuda", requires_grad=True)
    assert type(norm.padded(h).grad_fn).__name__ == "NormReluBackward"
    assert type(norm.eval().padded(h).grad_fn).__name__ != "NormReluBackward"
    assert norm.train().padded(h[:0]).shape == (0, 4), "nothing to normalise is fine"
