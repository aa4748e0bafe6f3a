"""Metrics of regression."""

from __future__ import annotations

import torch
from torch import Tensor

from neuraltrees.objectives.metric import Metric


def observe_error(answers: Tensor, y: Tensor) -> Tensor:
    """The absolute error of every target; zero for a missing one.

    Shapes: answers :math:`(n, R, T)`, y :math:`(n, T)` → :math:`(n, R, T)`
    """
    error = (answers - y.nan_to_num(0.0).unsqueeze(1)).abs()
    return torch.where(y.isnan().unsqueeze(1) & error.isfinite(), 0.0, error)


def _mean(values: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    """The mean over the targets of the items of the mask, without missing ones."""
    used = mask.unsqueeze(-1) * (~y.isnan()).to(values.dtype).unsqueeze(1)
    return (values * used).sum((0, 2)) / used.sum((0, 2))


def reduce_rmse(observed: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    """The root of the mean squared error."""
    return _mean(observed.square(), y, mask).sqrt()


MAE = Metric("mae", observe_error, _mean, higher_is_better=False)
RMSE = Metric("rmse", observe_error, reduce_rmse, higher_is_better=False)
