"""Splits by folds for cross validation, and splits that are stored with a dataset."""

from __future__ import annotations

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
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(division))
    # Items sorted by class go to the folds in turn, so that every fold has the same share of each class.
    dealt = order[y[order].argsort(stable=True)]
    fold = torch.empty(len(y), dtype=torch.int64)
    fold[dealt] = torch.arange(len(y)) % folds
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
