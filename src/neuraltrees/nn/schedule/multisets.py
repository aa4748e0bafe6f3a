"""Equal multisets, found by hashing and verified: the core of colour refinement."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.int64]


def entries_of(start: Array, rows: Array) -> tuple[Array, Array]:
    """The places of the items of some rows, row by row, and the position in `rows` of the row of each.

    Args:
        start: where each row starts, and where the last one ends.
        rows: numbers of rows.
    """
    size = np.diff(start)[rows]
    whose = np.repeat(np.arange(len(rows)), size)
    within = np.arange(len(whose)) - np.repeat(np.cumsum(size) - size, size)
    return start[rows][whose] + within, whose


def sorted_within(start: Array, items: Array) -> Array:
    """The items, each row of them in ascending order."""
    return items[np.lexsort((items, np.repeat(np.arange(len(start) - 1), np.diff(start))))]


def distinct(start: Array, items: Array, label: Array | None = None) -> Array:
    """A number per row, from 0: equal if and only if the rows have equal items (as multisets) and equal labels.

    Args:
        start: where each row starts, and where the last one ends.
        items: integers from 0.
        label: one more integer per row.

    >>> distinct(np.array([0, 2, 4, 5]), np.array([7, 3, 3, 7, 3])).tolist()
    [1, 1, 0]
    """
    items = sorted_within(start, items)
    label = np.zeros(len(start) - 1, np.int64) if label is None else label
    rng = np.random.default_rng(0)
    while True:
        # The sum of random numbers, one per item, identifies a multiset; the check below makes sure of it.
        numbers = rng.integers(2**64, size=(int(items.max(initial=0)) + 1, 2), dtype=np.uint64)
        running = np.concatenate([np.zeros((1, 2), np.uint64), np.cumsum(numbers[items], axis=0)])
        keys = np.column_stack([label.astype(np.uint64), running[start[1:]] - running[start[:-1]]])
        order = np.lexsort(keys.T)
        new = np.ones(len(order), bool)
        new[1:] = (keys[order[1:]] != keys[order[:-1]]).any(1)
        found = np.empty(len(order), np.int64)
        found[order] = np.cumsum(new) - 1
        if _same_rows(start, items, order[new][found]):
            return found


def _same_rows(start: Array, items: Array, other: Array) -> bool:
    """Whether the sorted items of every row equal those of the other row given for it."""
    size = np.diff(start)
    same_length = bool((size == size[other]).all())
    return same_length and bool((items == items[entries_of(start, other)[0]]).all())
