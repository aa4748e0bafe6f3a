"""Splits by folds for cross validation, cross-fitted probabilities, and splits that are stored with a dataset."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from neuraltrees.checks import check_at_least, check_seed
from neuraltrees.data.splits import Split
from neuraltrees.errors import InputError


def fold_split(y: Tensor, folds: int = 10, seed: int = 0) -> Split:
    """Cross validation: fold `seed % folds` tests, the next one validates, the others train.

    Every fold has the same share of each class, to within one item. The seeds 0 to `folds` - 1 use one division into
    folds, so that each item is tested once; the next `folds` seeds use another.

    Shapes: y :math:`(items)`

    Args:
        y: the class of every item.
        folds: how many there are, at least 3.
        seed: see above.

    >>> y = torch.tensor([0, 1]).repeat(10)
    >>> fold_split(y, folds=5)
    Split(train=12, val=4, test=4)
    >>> sum(int(fold_split(y, 5, seed).test.sum()) for seed in range(5))
    20
    """
    check_at_least("folds", folds, 3)
    check_seed(seed)
    if len(y) < folds:
        raise InputError(f"Expected at least {folds} items, one per fold; got {len(y)}.")
    turn, division = seed % folds, seed // folds
    fold = _dealt(y, folds, division)
    test, val = fold == turn, fold == (turn + 1) % folds
    return Split(~(test | val), val, test)


def stored_split(part: Tensor, seed: int = 0) -> Split:
    """The split that is stored with a dataset, the same for every seed: 0 trains, 1 validates, 2 tests, other items are
    not used.

    Shapes: part :math:`(items)`

    >>> stored_split(torch.tensor([0, 0, 1, 2, -1]))
    Split(train=2, val=1, test=1)
    """
    return Split(part == 0, part == 1, part == 2)


def cross_fit(predict: Callable[[Tensor], Tensor], y: Tensor, folds: int = 5, seed: int = 0) -> Tensor:
    """Predictions of a model for every item, none of them by a model that was trained on the item's own label.

    The labelled items are divided into folds. Each fold is predicted by a model trained on the labels of the other
    folds, and the items without a label by a model trained on all labels.

    Shapes: y :math:`(items)` → :math:`(items, *)`

    Args:
        predict: trains a model on the labels that it is given, -1 where there is none, and returns its predictions for
            all items. It is called once per fold, then once with all labels.
        y: the labels, -1 where there is none.
        folds: how many there are, at least 2; every fold has the same share of each class, to within one item.
        seed: seed of the folds.

    >>> def share_of_ones(known):
    ...     return (known == 1).sum().div((known >= 0).sum()).expand(len(known))
    >>> cross_fit(share_of_ones, torch.tensor([0, 1, 1, 1, -1]), folds=4).tolist()
    [1.0, 0.6666666865348816, 0.6666666865348816, 0.6666666865348816, 0.75]
    """
    check_at_least("folds", folds, 2)
    check_seed(seed)
    if not isinstance(y, Tensor) or y.is_floating_point() or y.dtype == torch.bool or y.dim() != 1:
        came = f"{y.dtype} of shape {tuple(y.shape)}" if isinstance(y, Tensor) else type(y).__name__
        raise InputError(f"Expected y as integers, a label or -1 for every item; got {came}.")
    labelled = (y >= 0).nonzero().flatten()
    if len(labelled) < folds:
        raise InputError(f"Expected at least {folds} labels, one per fold; got {len(labelled)}. Use fewer folds.")
    fold = torch.full_like(y, -1)
    fold[labelled] = _dealt(y[labelled].cpu(), folds, seed).to(y)
    parts = [(predict(torch.where(fold == number, -1, y)), fold == number) for number in range(folds)]
    found = predict(y.clone())
    for part, rows in [(found, fold < 0), *parts]:
        if not isinstance(part, Tensor) or part.shape[:1] != y.shape or part.shape != found.shape:
            given = f"shape {tuple(part.shape)}" if isinstance(part, Tensor) else type(part).__name__
            raise InputError(f"Expected predict to return a tensor with a row for each of {len(y)} items; got {given}.")
        found = torch.where(rows.to(part.device).view(-1, *[1] * (part.dim() - 1)), part, found)
    return found


def _dealt(y: Tensor, folds: int, seed: int) -> Tensor:
    """The fold of every item: items sorted by class go to the folds in turn, so that all have the same share of each.

    Shapes: y :math:`(items)` → :math:`(items)`
    """
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    dealt = order[y[order].argsort(stable=True)]
    fold = torch.empty(len(y), dtype=torch.int64)
    fold[dealt] = torch.arange(len(y)) % folds
    return fold
