"""Forests for the tests of sweeps: by shape, and drawn by hypothesis."""

from __future__ import annotations

import torch
from hypothesis import strategies as st
from torch import Tensor

SHAPES: dict[str, list[int]] = {
    "nothing": [],
    "one node": [-1],
    "single nodes": [-1, -1, -1],
    "chain": [-1, *range(9)],
    "chain upwards": [*range(1, 10), -1],
    "star": [-1] + [0] * 12,
    "binary": [-1, *[(node - 1) // 2 for node in range(1, 15)]],
    "caterpillar": [-1, 0, 0, 2, 2, 4, 4, 6, 6],
    "forest": [-1, 0, 0, -1, 3, 4, 3, -1, -1, 8],
    "mixed up": [4, 4, 0, 6, -1, 3, -1, 1, 2, -1],
}


@st.composite
def parents(draw: st.DrawFn, most: int = 24) -> list[int]:
    """A forest with its nodes in any order: the parent of every node, or -1."""
    size = draw(st.integers(0, most))
    above = [draw(st.integers(-1, node - 1)) for node in range(size)]
    names = draw(st.permutations(range(size)))
    found = [-1] * size
    for node, parent in enumerate(above):
        found[names[node]] = names[parent] if parent >= 0 else -1
    return found


def edges_of(above: list[int]) -> Tensor:
    """Shapes: → :math:`(2, E)`"""
    pairs = [(node, parent) for node, parent in enumerate(above) if parent >= 0]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T


def random_parents(size: int, back: int, seed: int = 0) -> Tensor:
    """A tree in which the parent of a node is one of the `back` before it: a chain for 1, shallow for many.

    Shapes: → :math:`(N)`
    """
    steps = torch.randint(1, back + 1, (size,), generator=torch.Generator().manual_seed(seed))
    above = (torch.arange(size) - steps).clamp(min=0)
    above[:1] = -1
    return above
