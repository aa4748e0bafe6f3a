"""Devices: whether one is available, and the precision of its matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from neuraltrees.errors import InputError


def check_device(name: torch.device | str) -> torch.device:
    """The device of that name; `InputError` if this machine does not have it."""
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise InputError(f"Expected a device such as cpu or cuda; got {name!r}.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"Expected an available device; got {name}, but CUDA is not available. Use cpu.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InputError(f"Expected one of {torch.cuda.device_count()} CUDA devices; got {name}.")
    return device


@contextmanager
def rounded_products(device: torch.device, tf32: bool, bf16: bool) -> Iterator[None]:
    """Temporarily lets matrix products of float32 round their factors, on a GPU with `tf32`, on a CPU with `bf16`.

    Sums stay in float32. A CPU without instructions for bfloat16 computes in float32 as before.
    """
    if device.type == "cuda" and tf32:
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)
    elif device.type == "cpu" and bf16:
        onednn: Any = torch.backends.mkldnn
        before = onednn.matmul.fp32_precision
        onednn.matmul.fp32_precision = "bf16"
        try:
            yield
        finally:
            onednn.matmul.fp32_precision = before
    else:
        yield
