"""Metrics: one number per run from answers and labels, over the items of a split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

Observe: TypeAlias = Callable[[Tensor, Tensor], Tensor]
Reduce: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]


def mean(observed: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    """The mean over the items of the mask, for every run.

    Shapes: observed and mask :math:`(n, R)` → :math:`(R)`

    >>> mean(torch.tensor([[1.0], [0.0], [1.0]]), torch.zeros(3), torch.tensor([[1.0], [1.0], [0.0]])).tolist()
    [0.5]
    """
    return (observed * mask).sum(0) / mask.sum(0)


@dataclass(frozen=True)
class Metric:
    """A metric in two steps, so that answers need not be stored: an observation per item, then one number over all.

    An item is a node or a graph, depending on the level of the labels.

    Args:
        name: the name of the metric.
        observe: a function of answers (n, R, C) and labels (n, ...) that returns an observation per item (n, R, ...);
            NaN if an answer is not finite, so that the metric of a run that diverged is NaN.
        reduce: a function of the observations, the labels and a mask (n, R) of zeros and ones that returns a number per
            run (R).
        higher_is_better: whether higher values are better.
        percent: whether it is shown as a percentage.
        capturable: whether both steps can be captured as a CUDA graph, that is, do not wait for the GPU.
    """

    name: str
    observe: Observe
    reduce: Reduce = mean
    higher_is_better: bool = True
    percent: bool = False
    capturable: bool = True

    def better(self, new: Tensor, old: Tensor) -> Tensor:
        """Whether each new value is better than the old one; false for NaN.

        Shapes: new and old :math:`(R)`
        """
        return new > old if self.higher_is_better else new < old

    @property
    def worst(self) -> float:
        """A value that any other is better than."""
        return -torch.inf if self.higher_is_better else torch.inf

    def show(self, value: float) -> str:
        """A value as text, for tables."""
        return f"{100 * value:.1f} %" if self.percent else f"{value:.4g}"

    def show_spread(self, mean: float, spread: float) -> str:
        """A mean with its standard deviation as text, for tables.

        >>> Metric("accuracy", lambda answers, y: answers, percent=True).show_spread(0.614, 0.021)
        '61.4 ± 2.1 %'
        """
        return f"{self.show(mean).removesuffix(' %')} ± {self.show(spread)}"

    def __repr__(self) -> str:
        return f"Metric({self.name!r})"
