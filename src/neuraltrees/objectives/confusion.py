"""Confusion matrices, with precision, recall and F1 of every class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Confusion:
    """A confusion matrix: how often items of each class were predicted as each class.

    Args:
        type: the node type, or "graph".
        labels: the names of the classes.
        counts: a row per true class, a column per predicted class.

    Shapes: counts :math:`(C, C)`; precision, recall, f1 and support :math:`(C)`

    >>> import torch
    >>> found = Confusion.of("node", ("cat", "dog"), torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1]))
    >>> found.counts.tolist(), found.recall.tolist(), found.precision.tolist(), found.accuracy
    ([[1, 1], [0, 1]], [0.5, 1.0], [1.0, 0.5], 0.6666666666666666)
    """

    type: str
    labels: tuple[str, ...]
    counts: Tensor

    @classmethod
    def of(cls, type: str, labels: tuple[str, ...], y: Tensor, predicted: Tensor) -> Confusion:
        """The matrix of some items.

        Shapes: y and predicted :math:`(n)`
        """
        size = len(labels)
        return cls(type, labels, (y * size + predicted).bincount(minlength=size * size).view(size, size))

    @property
    def support(self) -> Tensor:
        """Items of each class."""
        return self.counts.sum(1)

    @property
    def precision(self) -> Tensor:
        """The share of right items among those predicted as a class; NaN for a class that was never predicted."""
        return self.counts.diagonal().double() / self.counts.sum(0)

    @property
    def recall(self) -> Tensor:
        """The share of the items of a class that were predicted as it; NaN for a class without items."""
        return self.counts.diagonal().double() / self.counts.sum(1)

    @property
    def f1(self) -> Tensor:
        """The harmonic mean of precision and recall; NaN for a class that neither occurs nor was predicted."""
        return 2 * self.counts.diagonal().double() / (self.counts.sum(0) + self.counts.sum(1))

    @property
    def accuracy(self) -> float:
        """The share of items that were predicted as their class."""
        return float(self.counts.diagonal().sum()) / max(1, int(self.counts.sum()))

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        scores = {name: getattr(self, name).tolist() for name in ("precision", "recall", "f1", "support")}
        return {"type": self.type, "labels": list(self.labels), **scores, "confusion": self.counts.tolist()}
