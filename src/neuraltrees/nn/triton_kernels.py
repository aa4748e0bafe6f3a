"""Whether kernels written in Triton work on this machine."""

from __future__ import annotations

import importlib.util
import warnings
from functools import cache

import torch

from neuraltrees.errors import NeuralTreesWarning


@cache
def available() -> bool:
    """Whether Triton is installed and can compile a kernel; a warning says why not."""
    if importlib.util.find_spec("triton") is None:
        return False
    try:
        _probe()
    except Exception as error:  # of a compiler, a driver or a version; everything also works without Triton, slower
        warnings.warn(
            f"Expected Triton to compile a kernel; got {type(error).__name__}: {error}. Sweeps, norms and sums use "
            "torch's own operations instead, which are slower. Install the Triton that belongs to your torch, and a C "
            "compiler.",
            NeuralTreesWarning,
            stacklevel=2,
        )
        return False
    return True


def _probe() -> None:
    from neuraltrees.nn.triton_language import add_one

    add_one[1,](torch.zeros(4, device="cuda"), BLOCK=4)
