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
    """A metric in two steps, so that answers need not be kept: what is seen of each item, then the number over all.

    An item here is a node or a graph, whatever is labelled.

    Args:
        name: what it is called.
        observe: from answers (n, R, C) and labels (n, ...) to what is kept of every item (n, R, ...); NaN where an
            answer is not finite, so that a run that diverged has a metric of NaN.
        reduce: from that, the labels and a mask (n, R) of zeros and ones to a number per run (R).
        higher_is_better: whether larger numbers are better.
        percent: whether it is shown in per cent.
        capturable: whether both steps may be captured as a CUDA graph: neither waits for the GPU.
    """

    name: str
    observe: Observe
    reduce: Reduce = mean
    higher_is_better: bool = True
    percent: bool = False
    capturable: bool = True

    def better(self, new: Tensor, old: Tensor) -> Tensor:
        """Where a new value is better than an old one; NaN never is.

        Shapes: new and old :math:`(R)`
        """
        return new > old if self.higher_is_better else new < old

    @property
    def worst(self) -> float:
        """What any other value is better than."""
        return -torch.inf if self.higher_is_better else torch.inf

    def show(self, value: float) -> str:
        """A value as tables show it."""
        return f"{100 * value:.1f} %" if self.percent else f"{value:.4g}"

    def show_spread(self, mean: float, spread: float) -> str:
        """A mean with its standard deviation, as tables show them.

        >>> Metric("accuracy", lambda answers, y: answers, percent=True).show_spread(0.614, 0.021)
        '61.4 ± 2.1 %'
        """
        return f"{self.show(mean).removesuffix(' %')} ± {self.show(spread)}"

    def __repr__(self) -> str:
        return f"Metric({self.name!r})"
