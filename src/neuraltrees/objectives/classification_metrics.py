"""Metrics of classification."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from neuraltrees.objectives.metric import Metric


def observe_correct(answers: Tensor, y: Tensor) -> Tensor:
    """1 where the largest logit is that of the label, else 0.

    Shapes: answers :math:`(n, R, C)`, y :math:`(n)` → :math:`(n, R)`
    """
    best = answers.max(-1)
    correct = (best.indices == y.view(-1, 1)).to(answers.dtype)
    # NaN logits also have an argmax, which may be right by chance.
    return torch.where(best.values.isfinite(), correct, torch.nan)


ACCURACY = Metric("accuracy", observe_correct, percent=True)


def observe_class(answers: Tensor, y: Tensor, width: int) -> Tensor:
    """The class of the largest logit; classes are numbered over all node types, `width` numbers per type.

    Shapes: answers :math:`(n, R, C)`, y :math:`(n)`, numbered likewise → :math:`(n, R)`
    """
    best = answers.max(-1)
    first = (y.clamp(min=0) // width * width).view(-1, 1)
    return torch.where(best.values.isfinite(), (best.indices + first).to(answers.dtype), torch.nan)


def macro_f1(width: int, types: int = 1) -> Metric:
    """The mean of the F1 scores of all classes that occur among labels or predictions."""
    observe, score = partial(observe_class, width=width), partial(_f1, classes=width * types)
    return Metric("macro-f1", observe, partial(reduce_per_run, score=score), percent=True, capturable=False)


def _f1(found: Tensor, label: Tensor, classes: int) -> Tensor:
    from torchmetrics.functional.classification import multiclass_f1_score

    return multiclass_f1_score(found.long(), label, classes, average="macro")


def reduce_per_run(observed: Tensor, y: Tensor, mask: Tensor, score: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """A score of the items of the mask, per run; NaN for a run that diverged.

    Shapes: observed :math:`(n, R, ...)`, mask :math:`(n, R)` → :math:`(R)`
    """
    scores = []
    for run in range(observed.shape[1]):
        used, found = mask[:, run] > 0, observed[:, run]
        diverged = not bool(found.isfinite().all())
        scores.append(found.new_tensor(torch.nan) if diverged else score(found[used], y[used]).to(found.dtype))
    return torch.stack(scores)
