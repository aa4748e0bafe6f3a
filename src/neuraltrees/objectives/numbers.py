"""Checks of labels that are rows of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from neuraltrees.errors import InputError


def named(what: str, names: Any) -> tuple[str, ...]:
    """Names of labels or targets as a tuple of distinct strings, checked."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise InputError(f"Expected a list of at least one {what} name; got {names!r}.")
    if len(set(names)) < len(names):
        raise InputError(f"Expected every {what} name once; got {', '.join(map(str, names))}.")
    return tuple(str(name) for name in names)


def check_numbers(y: Tensor | None, level: str, num_nodes: int, width: int, what: str) -> None:
    """Raises `InputError` unless there is a row of numbers per item."""
    items = num_nodes if level == "node" else 1
    rows_first = y is not None and (y.dim() < 2 or y.shape == (items, width))
    if y is None or y.numel() != items * width or y.is_complex() or (width > 1 < items and not rows_first):
        came = "none" if y is None else f"{y.dtype} of shape {tuple(y.shape)}"
        per = f"{items} nodes" if level == "node" else "a graph"
        raise InputError(
            f"Expected {what} y as {width} number{'s' if width > 1 else ''} for {per}, of shape ({items}, {width}); "
            f"got {came}."
        )
