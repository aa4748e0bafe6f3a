"""A tree cut into parts of equal work."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from neuraltrees._core import native
from neuraltrees.nn.parallel.halo import Array
from neuraltrees.nn.sweep.plan import SweepPlan

PER_STATE = 4  # a state costs as much as a quarter of its channels in messages: products wait less for memory than sums


def forest_parts(edge_index: Tensor, weight: NDArray[np.float64], parts: int) -> Array:
    """The part of every node of a forest: parts are of nearly equal weight, and few edges run between them.

    Shapes: edge_index :math:`(2, E)`, weight :math:`(N)` → :math:`(N)`

    >>> import torch
    >>> forest_parts(torch.tensor([[0, 1, 2], [1, 2, 3]]), np.ones(4), 2).tolist()
    [1, 1, 0, 0]
    """
    plan = SweepPlan.of_edges(edge_index, len(weight))
    order = np.arange(len(weight)) if plan.order is None else plan.order.numpy()
    found = np.empty(len(weight), np.int64)
    found[order] = native.cut_forest(plan.parent.numpy(), weight[order], parts)
    return found


def cost_of_state(channels: int) -> float:
    """What it takes to compute a state of so many channels, in messages that it receives."""
    return max(1.0, channels / PER_STATE)
