"""Run with TRITON_INTERPRET=1: the Triton kernels, interpreted on a CPU, give what the core gives."""

from __future__ import annotations

import torch

from neuraltrees.nn.sweep import SweepPlan, fused, native_passes
from tests.nn.sweep.forests import SHAPES, random_parents


def check(plan: SweepPlan, channels: int, gated: bool) -> None:
    stream = torch.Generator().manual_seed(0)
    values, grad = (torch.randn(plan.num_nodes, channels, generator=stream).double() for _ in range(2))
    factors = torch.rand(plan.num_nodes if gated else 1, channels, generator=stream).double()
    expected = native_passes.passes(values, factors, plan)
    found = fused.passes(values, factors, plan)
    in_place = fused.passes(values, factors, plan, keep=False)
    assert in_place[0] is None
    expected_grads = native_passes.gradients(grad, factors, *expected, plan)
    found_grads = fused.gradients(grad, factors, *found, plan)
    without = fused.gradients(grad, factors, None, None, plan)
    assert without[1] is None
    pairs = [
        (found, expected),
        (found_grads, expected_grads),
        (in_place[1:], expected[1:]),
        (without[:1], expected_grads[:1]),
    ]
    for here, there in pairs:
        for one, two in zip(here, there, strict=True):
            assert one is not None and two is not None
            torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-12)


def main() -> None:
    fused.BLOCK, fused.PADDING = 4, 2  # several blocks of channels, and few programs for the padding
    plans = {name: SweepPlan.of_parents(SHAPES[name]) for name in ("nothing", "one node", "star", "forest", "mixed up")}
    plans["several tiles"] = SweepPlan.of_parents(random_parents(40, 6))
    above = torch.tensor([-1, 0, -1, 2, 2, -1, -1, -1])
    plans["padding, empty ranges"] = SweepPlan(above, torch.tensor([0, 0, 2, 5, 5]), None, 1, 3)
    for name, plan in plans.items():
        for gated in (False, True):
            check(plan, 6, gated)
        print(name)


if __name__ == "__main__":
    main()
