"""The fused batch norm and `RunBatchNorm` side by side, for the tests on a CPU and on a GPU."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from neuraltrees.nn.ensemble.fused_norm import NormRelu
from neuraltrees.nn.ensemble.norm import RunBatchNorm


@dataclass(frozen=True)
class Case:
    """States of some rows, runs and channels; the last rows are padding, or None for no weights."""

    rows: int
    runs: int | None
    channels: int
    padding: int | None


CASES = {
    "one row": Case(1, None, 3, None),
    "several shares": Case(100, None, 6, None),
    "runs": Case(37, 3, 5, None),
    "padding": Case(41, 2, 5, 7),
    "weights without padding": Case(9, None, 4, 0),
    "a share of padding alone": Case(64, None, 4, 40),
    "padding alone": Case(8, None, 4, 8),
    "far from zero": Case(50, None, 4, 3),
}


def compare(case: Case, relu: bool, device: torch.device) -> None:
    """States, gradients and running statistics agree to float32, against float64."""
    draw = torch.Generator().manual_seed(case.rows)
    shape = (case.rows, case.channels) if case.runs is None else (case.rows, case.runs, case.channels)
    h, grad = (torch.randn(shape, generator=draw, dtype=torch.float64) for _ in range(2))
    if case is CASES["far from zero"]:
        h = h + 1000.0
    weight = None
    if case.padding is not None:
        weight = (torch.arange(case.rows) < case.rows - case.padding).double()
    norm = RunBatchNorm(case.channels, case.runs).double()
    with torch.no_grad():
        for value in norm.state_dict().values():
            value.add_(torch.rand(value.shape, generator=draw))
    start = {name: value.clone() for name, value in norm.state_dict().items()}
    exact = h.clone().requires_grad_()
    expected = norm.padded(exact, weight, relu)
    expected.backward(grad)

    mine = {name: value.float().to(device) for name, value in start.items()}
    scale, shift = (mine[name].requires_grad_() for name in ("weight", "bias"))
    given = h.float().to(device).requires_grad_()
    with torch.no_grad():
        masks = None if weight is None else weight.float().to(device)
    found = NormRelu.apply(  # type: ignore[no-untyped-call]
        given, scale, shift, masks, mine["running_mean"], mine["running_var"], norm.momentum, relu
    )
    found.backward(grad.float().to(device))
    # Near 1,000 a float32 is exact to 6e-5, and gradients of the scale are sums of 50 such errors.
    near = {"rtol": 1e-3, "atol": 5e-3} if case is CASES["far from zero"] else {"rtol": 1e-4, "atol": 2e-5}
    pairs = {
        "states": (found, expected),
        "gradient of the states": (given.grad, exact.grad),
        "gradient of the scale": (scale.grad, norm.weight.grad),
        "gradient of the shift": (shift.grad, norm.bias.grad),
        "running mean": (mine["running_mean"], norm.running_mean),
        "running variance": (mine["running_var"], norm.running_var),
    }
    for name, (here, there) in pairs.items():
        assert here is not None and there is not None
        torch.testing.assert_close(
            here.detach().cpu().double(), there.detach(), **near, msg=lambda m, n=name: f"{n}: {m}"
        )
    if weight is not None:
        assert not found[weight.to(device) == 0].any(), "padding stays zero"
