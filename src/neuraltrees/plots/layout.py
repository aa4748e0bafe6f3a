"""Boxes and lines of a drawing, and the arrangement of its components.

All lengths are in points (1/72 inch), the unit of font sizes. Boxes have the size of their texts; they are moved apart,
never shrunk, so that large drawings stay legible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COMPONENT_GAP = 28.0
SHELF = 380.0  # minimum width of a row of components


@dataclass(frozen=True)
class Layout:
    """Boxes, and the lines that join them; y grows upwards.

    Args:
        center: centres of the boxes, shape (N, 2).
        size: widths and heights of the boxes, shape (N, 2).
        lines: for every edge the points of its line, shape (k, 2).
    """

    center: Floats
    size: Floats
    lines: list[Floats]

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower left and upper right corner of the bounding box."""
        points = np.concatenate([self.center - self.size / 2, self.center + self.size / 2, *self.lines])
        return (points.min(0), points.max(0)) if len(points) else (np.zeros(2), np.zeros(2))

    @property
    def extent(self) -> Floats:
        """Width and height of the bounding box."""
        low, high = self.bounds
        return high - low

    def moved(self, shift: Floats) -> Layout:
        """The drawing, translated."""
        return Layout(self.center + shift, self.size, [line + shift for line in self.lines])


def hops(count: int, edges: Ints) -> Floats:
    """Distances in edges between all pairs of nodes, infinite across components (Floyd–Warshall)."""
    hops = np.where(np.eye(count, dtype=bool), 0.0, np.inf)
    hops[edges[:, 0], edges[:, 1]] = hops[edges[:, 1], edges[:, 0]] = 1.0
    for k in range(count):
        np.minimum(hops, hops[:, k, None] + hops[k], out=hops)
    return hops


def components(hops: Floats) -> list[Ints]:
    first = np.isfinite(hops).argmax(1) if len(hops) else np.zeros(0, dtype=np.int64)
    return [np.flatnonzero(first == v) for v in np.unique(first)]


def pack(parts: list[tuple[Ints, Layout]], size: Floats) -> Layout:
    """Arranges components in rows from left to right, single nodes last."""
    center, lines = np.zeros_like(size), list[Floats]()
    gap = np.array([COMPONENT_GAP, COMPONENT_GAP / 2])
    extent = [part.extent + gap for _, part in parts]
    limit = max(SHELF, 2.0 * np.sqrt(sum(width * height for width, height in extent)))
    shelves: list[list[int]] = []
    for i in sorted(range(len(parts)), key=lambda i: len(parts[i][0]) == 1):
        if not shelves or sum(extent[j][0] for j in [i, *shelves[-1]]) > limit + 1e-6:
            shelves.append([])
        shelves[-1].append(i)
    y = 0.0
    for shelf in shelves:
        x, height = 0.0, max(extent[i][1] for i in shelf)
        for i in shelf:
            nodes, part = parts[i]
            placed = part.moved(np.array([x, y - (height + part.extent[1]) / 2]) - part.bounds[0])
            center[nodes] = placed.center
            lines += placed.lines
            x += extent[i][0]
        y -= height
    return Layout(center, size, lines)
