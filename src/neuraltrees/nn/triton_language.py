"""The language of kernels: Triton, where it is installed. It comes with CUDA builds of torch.

Without it, modules of kernels are read by tools alone; `triton_kernels.available` says so before one is called.
"""

from __future__ import annotations

from typing import Any

try:
    import triton
    import triton.language as tl

    jit: Any = triton.jit
except ImportError:
    tl = None

    def jit(kernel: Any = None, **options: Any) -> Any:
        return kernel if kernel is not None else jit


@jit
def add_one(values, BLOCK: tl.constexpr):
    """The smallest kernel, to see whether any works."""
    place = values + tl.arange(0, BLOCK)
    tl.store(place, tl.load(place) + 1.0)
