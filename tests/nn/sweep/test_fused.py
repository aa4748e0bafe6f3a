"""The Triton kernels without a GPU: interpreted, they give what the core gives; without Triton there is another way."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from neuraltrees.nn import triton_kernels
from neuraltrees.nn.sweep import SweepPlan, function, fused, jumping, native_passes

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed: pip install triton (any version)"
)
def test_interpreted_kernels_give_what_the_core_gives() -> None:
    """In a process of its own, since Triton decides at its import whether to interpret."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.nn.sweep.interpreted"],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) == 7, run.stdout


class OnGpu:
    """Stands for a tensor on a GPU."""

    is_cuda = True
    device = torch.device("cuda")


def test_large_trees_and_machines_without_triton_jump(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = (
        SweepPlan(torch.tensor([-1]), torch.tensor([0, 1]), None, 0, size) for size in (1, fused.LARGEST + 1)
    )
    monkeypatch.setattr(triton_kernels, "available", lambda: True)
    assert function._kernels(OnGpu(), small) is fused  # type: ignore[arg-type,comparison-overlap]
    assert function._kernels(OnGpu(), large) is jumping  # type: ignore[arg-type,comparison-overlap]
    monkeypatch.setattr(triton_kernels, "available", lambda: False)
    assert function._kernels(OnGpu(), small) is jumping  # type: ignore[arg-type,comparison-overlap]
    assert function._kernels(torch.zeros(1), small) is native_passes  # type: ignore[comparison-overlap]
