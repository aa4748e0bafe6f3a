"""On a GPU: steps on views, which are not captured, learn what they learn on a CPU."""

from __future__ import annotations

import pytest
import torch

from neuraltrees.training import NetworkSpec, Run, TrainingSpec, fit
from tests.nn.schedule.test_views import SPLIT, task_of

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("parts", ["graph", "graph,graph+tree+sweep"])
def test_a_training_with_views(parts: str) -> None:
    spec = NetworkSpec(schedule="bags", parts=parts, hidden=4, layers=2, dropout=0.0, views=True)
    training = TrainingSpec(epochs=6, batches=2, shuffle=True, every_class=False)
    here, there = (fit(task_of(), spec, training, [Run(0, SPLIT)], device) for device in ("cpu", "cuda"))
    torch.testing.assert_close(there.loss_curve, here.loss_curve, atol=1e-3, rtol=1e-3)
