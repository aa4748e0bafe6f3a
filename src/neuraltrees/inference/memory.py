"""The memory that tables may take."""

from __future__ import annotations

import os
from functools import cache

import torch

from neuraltrees.errors import InputError, ModelTooLargeError

TABLES_FOR_GRADIENT = 3  # memory of a table with its gradient, in tables: what the backward pass reads and makes


def default_memory_limit(device: torch.device) -> int:
    """Half of the memory of the device, or of the machine for the CPU."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1] // 2
    return _memory() // 2


@cache
def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory_limit(memory_limit: float | None) -> int | None:
    if memory_limit is not None and not 0 <= memory_limit < 2**63:
        raise InputError(f"Expected memory_limit in bytes, from 0 to 2^63; got {memory_limit}.")
    return None if memory_limit is None else int(memory_limit)


def allowed_bytes(limit: int | None, device: torch.device) -> int:
    """The limit, or the default for the device."""
    return default_memory_limit(device) if limit is None else limit


def check_size(needed: float, limit: int | None, width: int, device: torch.device) -> None:
    """Raises an error if the tables of a model of this width take more than is allowed."""
    if needed > (allowed := allowed_bytes(limit, device)):
        raise ModelTooLargeError(needed, allowed, width)
