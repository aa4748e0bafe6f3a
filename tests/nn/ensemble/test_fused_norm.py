"""The Triton kernels of batch norm and ReLU without a GPU: interpreted, they give what `RunBatchNorm` gives."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from neuraltrees.errors import NeuralTreesWarning
from neuraltrees.nn.ensemble import fused_norm
from tests.nn.ensemble.fused_norms import CASES

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed: pip install triton (any version)"
)
@pytest.mark.parametrize(("module", "printed"), [("interpreted", list(CASES)), ("segments", ["sums"])])
def test_interpreted_kernels_give_what_torch_gives(module: str, printed: list[str]) -> None:
    """In a process of its own, since Triton decides at its import whether to interpret."""
    run = subprocess.run(
        [sys.executable, "-m", f"tests.nn.ensemble.{module}"],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == printed, run.stdout


def test_a_triton_that_does_not_work_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("Failed to find C compiler")

    fused_norm.available.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(fused_norm, "_probe", broken)
    with pytest.warns(NeuralTreesWarning, match="Failed to find C compiler"):
        assert not fused_norm.available()
    assert not fused_norm.available()
    fused_norm.available.cache_clear()


def test_without_triton_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    fused_norm.available.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert not fused_norm.available()
    fused_norm.available.cache_clear()
