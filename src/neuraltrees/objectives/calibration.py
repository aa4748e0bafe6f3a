"""Calibration of probabilities: whether labels predicted with probability 0.8 are right in 80 % of the cases."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from neuraltrees.checks import check_at_least
from neuraltrees.errors import InputError


@dataclass(frozen=True)
class Calibration:
    """Items by the probability of their most probable label, in bins of equal width.

    Args:
        counts: items per bin.
        confidence: their mean probability; NaN in an empty bin.
        accuracy: the share of right labels among them; NaN in an empty bin.

    >>> Calibration((0, 2), (float("nan"), 0.9), (float("nan"), 0.5)).error
    0.4
    """

    counts: tuple[int, ...]
    confidence: tuple[float, ...]
    accuracy: tuple[float, ...]

    @classmethod
    def of(cls, probabilities: Tensor, y: Tensor, bins: int = 15) -> Calibration:
        """The calibration of predicted probabilities; items without a label (-1) are left out.

        Shapes: probabilities :math:`(items, C)`, y :math:`(items)`
        """
        check_at_least("bins", bins, 1)
        if probabilities.dim() != 2 or y.shape != probabilities.shape[:1]:
            raise InputError(
                f"Expected probabilities of shape (items, labels) and a label per item; got "
                f"{tuple(probabilities.shape)} and {tuple(y.shape)}."
            )
        used = y >= 0
        best = probabilities[used].double().max(1)
        right = (best.indices == y[used]).double()
        place = (best.values * bins).ceil().long().clamp(1, bins) - 1
        zero = torch.zeros(bins, dtype=torch.float64, device=place.device)
        counts, confidence, correct = (
            zero.index_add(0, place, each) for each in (torch.ones_like(right), best.values, right)
        )
        return cls(
            tuple(int(count) for count in counts.tolist()),
            tuple((confidence / counts).tolist()),
            tuple((correct / counts).tolist()),
        )

    @property
    def error(self) -> float:
        """The expected calibration error: the mean difference of confidence and accuracy, weighted by items."""
        total = sum(self.counts)
        if total == 0:
            return float("nan")
        parts = zip(self.counts, self.confidence, self.accuracy, strict=True)
        return sum(count * abs(sure - right) for count, sure, right in parts if count) / total
