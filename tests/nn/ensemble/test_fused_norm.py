"""The Triton kernels of norms and sums without a GPU: interpreted, they give what torch gives."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.nn.ensemble import relu_sums
from tests.nn.ensemble.fused_norms import CASES

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed: pip install triton (any version)"
)
@pytest.mark.parametrize(
    ("module", "printed"),
    [("interpreted", list(CASES)), ("segments", ["sums"]), ("relu_sums", list(relu_sums.CASES))],
)
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
