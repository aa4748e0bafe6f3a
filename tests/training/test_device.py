"""The precision of matrix products during a training."""

from __future__ import annotations

import pytest
import torch

from neuraltrees.errors import InputError
from neuraltrees.training import Trainer
from neuraltrees.training.device import rounded_products
from tests.training.tasks import QUICK, SMALL, small_runs, small_task

CPU = torch.device("cpu")


@pytest.mark.parametrize("bf16", [False, True])
def test_the_precision_of_a_cpu_is_set_and_set_back(bf16: bool) -> None:
    onednn = torch.backends.mkldnn.matmul
    before = onednn.fp32_precision
    with rounded_products(CPU, tf32=True, bf16=bf16):
        assert onednn.fp32_precision == ("bf16" if bf16 else before)
    assert onednn.fp32_precision == before
    with pytest.raises(InputError), rounded_products(CPU, tf32=True, bf16=bf16):
        raise InputError
    assert onednn.fp32_precision == before


def test_a_training_with_bf16_stays_close_and_leaves_the_precision() -> None:
    task, before = small_task(), torch.backends.mkldnn.matmul.fp32_precision
    losses = []
    for bf16 in (False, True):
        trainer = Trainer(task, SMALL, QUICK.replace(bf16=bf16), small_runs(task, [0, 1]))
        trainer.train()
        losses.append(trainer.result().loss_curve)
    assert torch.backends.mkldnn.matmul.fp32_precision == before
    torch.testing.assert_close(*losses, atol=0.05, rtol=0.05)
