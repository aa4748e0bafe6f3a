"""Metrics of classes and of several labels."""

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
    # The largest of several NaNs has a place as well, and may be right by chance.
    return torch.where(best.values.isfinite(), correct, torch.nan)


ACCURACY = Metric("accuracy", observe_correct, percent=True)


def observe_class(answers: Tensor, y: Tensor, width: int) -> Tensor:
    """The class of the largest logit; classes are numbered through all node types, `width` for each.

    Shapes: answers :math:`(n, R, C)`, y :math:`(n)`, numbered likewise → :math:`(n, R)`
    """
    best = answers.max(-1)
    first = (y.clamp(min=0) // width * width).view(-1, 1)
    return torch.where(best.values.isfinite(), (best.indices + first).to(answers.dtype), torch.nan)


def macro_f1(width: int, types: int = 1) -> Metric:
    """The mean of the F1 scores of all classes that occur among labels or answers."""
    observe, score = partial(observe_class, width=width), partial(_f1, classes=width * types)
    return Metric("macro-f1", observe, partial(reduce_per_run, score=score), percent=True, capturable=False)


def _f1(found: Tensor, label: Tensor, classes: int) -> Tensor:
    from torchmetrics.functional.classification import multiclass_f1_score

    return multiclass_f1_score(found.long(), label, classes, average="macro")


def observe_scores(answers: Tensor, y: Tensor) -> Tensor:
    """All logits, which rank the items.

    Shapes: answers :math:`(n, R, L)`, y :math:`(n, L)` → :math:`(n, R, L)`
    """
    return answers


def _ranking(found: Tensor, label: Tensor, function: str) -> Tensor:
    """The mean over labels of a metric of their ranking, over the items where a label is not missing.

    A label whose items are all positive or all negative has no ranking and does not count, as in the Open Graph
    Benchmark.
    """
    import torchmetrics.functional.classification as metrics

    of_label: Callable[[Tensor, Tensor], Tensor] = getattr(metrics, function)
    scores = []
    for column in range(label.shape[1]):
        known = ~label[:, column].isnan()
        truth = label[known, column].long()
        if len(truth) and 0 < int(truth.sum()) < len(truth):
            # In double precision a logistic function keeps almost all logits apart.
            scores.append(of_label(found[known, column].double().sigmoid(), truth))
    return torch.stack(scores).mean() if scores else found.new_tensor(torch.nan)


def reduce_per_run(observed: Tensor, y: Tensor, mask: Tensor, score: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """A score of the items of the mask, run after run; NaN for a run that diverged.

    Shapes: observed :math:`(n, R, ...)`, mask :math:`(n, R)` → :math:`(R)`
    """
    scores = []
    for run in range(observed.shape[1]):
        used, found = mask[:, run] > 0, observed[:, run]
        diverged = not bool(found.isfinite().all())
        scores.append(found.new_tensor(torch.nan) if diverged else score(found[used], y[used]).to(found.dtype))
    return torch.stack(scores)


ROC_AUC = Metric(
    "roc-auc",
    observe_scores,
    partial(reduce_per_run, score=partial(_ranking, function="binary_auroc")),
    percent=True,
    capturable=False,
)
AVERAGE_PRECISION = Metric(
    "average-precision",
    observe_scores,
    partial(reduce_per_run, score=partial(_ranking, function="binary_average_precision")),
    percent=True,
    capturable=False,
)
