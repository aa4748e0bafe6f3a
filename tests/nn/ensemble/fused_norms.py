"""The fused batch norm and `RunBatchNorm` side by side, for the tests on a CPU and on a GPU."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from neuraltrees.nn.ensemble.dropout import Dropout, DropoutMasks
from neuraltrees.nn.ensemble.fused_norm import NormRelu
from neuraltrees.nn.ensemble.norm import RunBatchNorm, Then


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


def compare(case: Case, relu: bool, device: torch.device, dropped: float | None = None) -> None:
    """States, gradients and running statistics agree to float32, against float64.

    With `dropped`, that share of the entries is dropped, and a residual is added; it needs runs.
    """
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
    residual = torch.randn(shape, generator=draw, dtype=torch.float64) if dropped is not None else None
    then = drop = kept = None
    if dropped is not None and residual is not None and case.runs is not None:
        layer, kept = Dropout(dropped), residual.clone().requires_grad_()
        layer.masks, layer.place = DropoutMasks(torch.arange(case.runs), 3), 1
        layer.masks.go_to(5)
        then = Then(kept, layer)
        there = DropoutMasks(torch.arange(case.runs, device=device), 3)
        there.go_to(5)
        drop = there.fused((case.rows, case.channels), 1, dropped) if dropped else None
    expected = norm.padded(exact, weight, relu, then=then)
    expected.backward(grad)

    mine = {name: value.float().to(device) for name, value in start.items()}
    scale, shift = (mine[name].requires_grad_() for name in ("weight", "bias"))
    given = h.float().to(device).requires_grad_()
    with torch.no_grad():
        masks = None if weight is None else weight.float().to(device)
    found = NormRelu.apply(  # type: ignore[no-untyped-call]
        given, scale, shift, masks, mine["running_mean"], mine["running_var"], norm.momentum, relu,
        added := None if residual is None else residual.float().to(device).requires_grad_(), drop,
    )  # fmt: skip
    found.backward(grad.float().to(device))
    # Near 1,000 a float32 is exact to 6e-5, and gradients of the scale are sums of 50 such errors.
    near = {"rtol": 1e-3, "atol": 5e-3} if case is CASES["far from zero"] else {"rtol": 1e-4, "atol": 2e-5}
    if case.rows > 1000:
        near["atol"] = 2e-4  # gradients of the scale are sums over all rows
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
    if kept is not None and added is not None:
        assert kept.grad is not None and added.grad is not None
        torch.testing.assert_close(added.grad.cpu().double(), kept.grad, rtol=1e-6, atol=1e-6)
    elif weight is not None:
        assert not found[weight.to(device) == 0].any(), "padding stays zero"
