"""Mixed precision: computations that need the full precision under `torch.autocast`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec("P")
T = TypeVar("T")
HALVES = (torch.float16, torch.bfloat16)


def autocasts(h: Tensor) -> bool:
    """Whether autocast is on for the device of a tensor; never for tensors without values."""
    return not h.is_meta and torch.is_autocast_enabled(h.device.type)


def full_precision(
    method: Callable[Concatenate[Any, Tensor, P], T],
) -> Callable[Concatenate[Any, Tensor, P], T]:
    """Decorator of a method that autocast must not change: its tensors of 16 bits become float32.

    >>> class Square:
    ...     @full_precision
    ...     def of(self, h: Tensor) -> Tensor:
    ...         return h @ h
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     Square().of(torch.eye(2)).dtype, (torch.eye(2) @ torch.eye(2)).dtype
    (torch.float32, torch.bfloat16)
    """

    @wraps(method)
    def run(self: Any, h: Tensor, /, *arguments: P.args, **named: P.kwargs) -> T:
        if not autocasts(h):
            return method(self, h, *arguments, **named)
        with torch.autocast(h.device.type, enabled=False):
            given: list[Any] = [_widened(each) for each in arguments]
            others: dict[str, Any] = {name: _widened(each) for name, each in named.items()}
            return method(self, _widened(h), *given, **others)

    return run


def _widened(value: Any) -> Any:
    return value.float() if isinstance(value, Tensor) and value.dtype in HALVES else value
