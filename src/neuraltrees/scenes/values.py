"""Numbers of a JSON file that may hold anything: each reader gives None where the value is not what it should be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Triple: TypeAlias = tuple[float, float, float]

UNKNOWN: Triple = (math.nan, math.nan, math.nan)
FARTHEST = 1e9  # metres; beyond it products of coordinates lose all digits, and no robot goes there


def triple(value: Any) -> Triple | None:
    """Three finite coordinates.

    >>> triple([1, 2.5, 0]), triple([1, 2]), triple([1, None, 0]), triple([1, 1e300, 0])
    ((1.0, 2.5, 0.0), None, None, None)
    """
    if type(value) is not list or len(value) != 3:
        return None
    x, y, z = value
    if type(x) is type(y) is type(z) is float:  # as in nearly all files
        near = -FARTHEST <= x <= FARTHEST and -FARTHEST <= y <= FARTHEST and -FARTHEST <= z <= FARTHEST
        return (x, y, z) if near else None
    for each in value:
        if type(each) is not float and type(each) is not int:
            return None
        if not -FARTHEST <= each <= FARTHEST:  # also false for NaN
            return None
    return float(x), float(y), float(z)


def number(value: Any) -> float | None:
    """One finite number."""
    if type(value) is not float and type(value) is not int:
        return None
    return float(value) if -FARTHEST <= value <= FARTHEST else None


def vector(value: Any) -> npt.NDArray[np.float32] | None:
    """A flat vector of finite numbers, at least one; rows of rows are flattened where all are equally long.

    >>> vector([[1.0, 2.0]]), vector([]), vector(["a"])
    (array([1., 2.], dtype=float32), None, None)
    """
    if type(value) is not list or not value:
        return None
    try:
        numbers = np.asarray(value, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        return None
    if not len(numbers) or not (np.abs(numbers) <= np.finfo(np.float32).max).all():
        return None
    return numbers.astype(np.float32)


def points(value: Any, columns: int) -> npt.NDArray[np.float64] | None:
    """Rows of so many coordinates, at least one row."""
    if type(value) is not list or not value:
        return None
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    if found.ndim != 2 or found.shape[1] != columns or not (np.abs(found) <= FARTHEST).all():
        return None
    return found


def turned(size: Triple, quaternion: Any) -> Triple | None:
    """The extent along the axes of a box that is turned by a quaternion; None for what is no quaternion.

    >>> half = 2 ** -0.5
    >>> [round(each, 6) for each in turned((4.0, 2.0, 1.0), {"w": half, "x": 0, "y": 0, "z": half})]
    [2.0, 4.0, 1.0]
    """
    if type(quaternion) is not dict:
        return size
    parts: Sequence[float | None] = [number(quaternion.get(name)) for name in "wxyz"]
    if None in parts:
        return None
    w, x, y, z = (float(part) for part in parts if part is not None)
    if not (x or y or z):
        return size
    norm = w * w + x * x + y * y + z * z
    if not 1e-12 < norm < 1e12:
        return None
    s = 2 / norm
    rows = (
        (1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
        (s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)),
        (s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)),
    )
    a, b, c = (sum(abs(part) * each for part, each in zip(row, size, strict=True)) for row in rows)
    return a, b, c
