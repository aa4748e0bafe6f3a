"""On a GPU: sums over the entries of rows are those of a CPU, and the same every time."""

from __future__ import annotations

import pytest
import torch

from neuraltrees.nn.ensemble.incidence import Incidence, Segments

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("in_order", [True, False])
def test_sums_and_their_gradients(in_order: bool) -> None:
    stream = torch.Generator().manual_seed(0)
    index = torch.randint(0, 1000, (7000,), generator=stream)
    index = index.sort().values if in_order else index
    values, states = torch.randn(7000, 4, 80, generator=stream), torch.randn(1000, 4, 80, generator=stream)
    found = []
    for device in ("cpu", "cuda", "cuda"):
        place = index.to(device)
        to = Incidence(place, 1000, Segments.of(place, 1000))
        v, h = (each.to(device, copy=True).requires_grad_() for each in (values, states))
        total = to.sum(v * to.take(h))
        total.square().sum().backward()
        found.append([each.detach().cpu() for each in (total, v.grad, h.grad) if each is not None])
    for here, there, again in zip(*found, strict=True):
        torch.testing.assert_close(there, here, rtol=1e-4, atol=1e-3)
        assert torch.equal(there, again)
