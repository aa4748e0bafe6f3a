"""Probabilities of labels by name, on top of a row of an array: no dictionary per node is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np


class Shares(Mapping[str, float]):
    """The probability of every label by name.

    Args:
        places: the position of each label in the row; nodes of a type share this mapping.
        row: the probabilities, in the order of `places`.

    Shapes: row :math:`(labels)`

    >>> Shares({"kitchen": 0, "bath": 1}, np.array([0.75, 0.25]))
    {'kitchen': 0.75, 'bath': 0.25}
    """

    __slots__ = ("places", "row")

    def __init__(self, places: Mapping[str, int], row: np.ndarray) -> None:
        self.places, self.row = places, row

    def __getitem__(self, name: str) -> float:
        return float(self.row[self.places[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def as_dict(self) -> dict[str, float]:
        """All probabilities as a dictionary; faster than item by item."""
        return dict(zip(self.places, self.row.tolist(), strict=True))

    def __repr__(self) -> str:
        return repr(self.as_dict())
