"""Triton, if it is installed: the language of the GPU kernels. It comes with CUDA builds of torch.

Without it, modules of kernels can still be imported, but `triton_kernels.available` is false and no kernel is called.
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
    """A minimal kernel, to find out whether kernels work."""
    place = values + tl.arange(0, BLOCK)
    tl.store(place, tl.load(place) + 1.0)
