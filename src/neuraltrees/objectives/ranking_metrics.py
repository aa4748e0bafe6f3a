"""Metrics of rankings: how well the scores of positive items exceed those of negative items."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from neuraltrees.objectives.metric import Metric


def observe_scores(answers: Tensor, y: Tensor) -> Tensor:
    """All logits, which rank the items.

    Shapes: answers :math:`(n, R, L)`, y :math:`(n, L)` → :math:`(n, R, L)`
    """
    return answers


@dataclass(frozen=True, eq=False)
class Ranking:
    """The items of every run and label, sorted by descending score; items that do not count have weight 0.

    Counts are cumulative. Items with equal scores share one rank: `before` is the count before the first of them,
    `after` the count including the last.

    Shapes: all :math:`(n, R, L)` but finite :math:`(R)`
    """

    positive: Tensor
    negative: Tensor
    positives_before: Tensor
    positives_after: Tensor
    negatives_after: Tensor
    finite: Tensor

    @classmethod
    def of(cls, scores: Tensor, y: Tensor, mask: Tensor) -> Ranking:
        """Shapes: scores :math:`(n, R, L)`, y :math:`(n, L)` of 0, 1 and NaN, mask :math:`(n, R)`"""
        known = (~y.isnan()).unsqueeze(1) & (mask > 0).unsqueeze(-1)
        ranked, order = scores.sort(dim=0, descending=True)
        positive, negative = ((known & (y == value).unsqueeze(1)).double().gather(0, order) for value in (1, 0))
        place = torch.arange(len(y), device=y.device).view(-1, 1, 1).expand_as(order)
        changes = torch.ones_like(order, dtype=torch.bool)
        changes[1:] = ranked[1:] != ranked[:-1]
        first = torch.where(changes, place, 0).cummax(0).values
        ends = torch.ones_like(changes)
        ends[:-1] = changes[1:]
        last = torch.where(ends, place, len(y)).flip(0).cummin(0).values.flip(0)
        positives, negatives = positive.cumsum(0), negative.cumsum(0)
        return cls(
            positive,
            negative,
            (positives - positive).gather(0, first),
            positives.gather(0, last),
            negatives.gather(0, last),
            scores.isfinite().all(2).all(0),
        )

    def mean(self, per_label: Tensor) -> Tensor:
        """The mean over labels, without those whose items are all positive or all negative, as in the Open Graph
        Benchmark. NaN for a run that diverged.

        Shapes: :math:`(R, L)` → :math:`(R)`
        """
        ranks = (self.positive.sum(0) > 0) & (self.negative.sum(0) > 0)
        total = torch.where(ranks, per_label, 0.0).sum(1) / ranks.sum(1)
        return torch.where(self.finite, total, torch.nan)


def reduce_roc_auc(observed: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    """The share of pairs of a positive and a negative item in the right order; pairs of equal scores count half."""
    if not len(y):
        return observed.new_full((observed.shape[1],), torch.nan)
    found = Ranking.of(observed, y, mask)
    right = (found.negative * (found.positives_before + found.positives_after)).sum(0) / 2
    auc = right / (found.positive.sum(0) * found.negative.sum(0))
    return found.mean(auc).to(observed.dtype)


def reduce_average_precision(observed: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    """The mean, over positive items, of the share of positive items among those with the same or a higher score."""
    if not len(y):
        return observed.new_full((observed.shape[1],), torch.nan)
    found = Ranking.of(observed, y, mask)
    precision = found.positives_after / (found.positives_after + found.negatives_after).clamp(min=1)
    return found.mean((found.positive * precision).sum(0) / found.positive.sum(0)).to(observed.dtype)


ROC_AUC = Metric("roc-auc", observe_scores, reduce_roc_auc, percent=True)
AVERAGE_PRECISION = Metric("average-precision", observe_scores, reduce_average_precision, percent=True)
