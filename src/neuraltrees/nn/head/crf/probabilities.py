"""Checks of the probabilities and labels that are given to a posterior."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from neuraltrees.errors import InputError

LEAST = -100.0  # the log-probability used for zero


def normalised(values: Any, count: int) -> Tensor:
    """Normalised log-probabilities per node, checked; finite for impossible labels."""
    if (
        not isinstance(values, Tensor)
        or not values.is_floating_point()
        or values.shape[:1] != (count,)
        or values.dim() != 2
    ):
        came = f"{values.dtype} of shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
        raise InputError(f"Expected log_probabilities as floats of shape ({count}, labels); got {came}.")
    if values.shape[1] < 1:
        raise InputError("Expected log_probabilities of at least one label; got none.")
    wrong = (values.isnan() | (values == torch.inf)).nonzero()
    if len(wrong):
        place = tuple(wrong[0].tolist())
        raise InputError(
            f"Expected finite numbers or -inf in log_probabilities; got {float(values[place])} at {place}."
        )
    empty = (values == -torch.inf).all(1).nonzero()
    if len(empty):
        raise InputError(f"Expected a possible label for every node; all labels of node {int(empty[0, 0])} have -inf.")
    return values.detach().log_softmax(1).clamp(min=LEAST)


def labels_of(name: str, values: Any, count: int, labels: int) -> Tensor:
    """A label or -1 for every node, checked."""
    good = isinstance(values, Tensor) and not values.is_floating_point() and values.dtype != torch.bool
    if not good or values.shape != (count,):
        came = f"{values.dtype} of shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
        raise InputError(f"Expected {name} as integers, a label or -1 for each of {count} nodes; got {came}.")
    wrong = ((values < -1) | (values >= labels)).nonzero()
    if len(wrong):
        node = int(wrong[0, 0])
        raise InputError(f"Expected {name} from 0 to {labels - 1}, or -1; got {int(values[node])} at node {node}.")
    found: Tensor = values.long()
    return found
