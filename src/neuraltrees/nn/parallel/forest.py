"""A tree cut into parts of equal work."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from neuraltrees._core import native
from neuraltrees.nn.parallel.halo import Array
from neuraltrees.nn.sweep.plan import SweepPlan

PER_STATE = 4  # a state costs channels / 4 messages: matrix products are less bound by memory than sums of messages


def forest_parts(edge_index: Tensor, weight: NDArray[np.float64], parts: int) -> Array:
    """The part of every node of a forest: parts have nearly equal weights, and few edges between them.

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
    """The cost of computing a state of this many channels, in units of one received message."""
    return max(1.0, channels / PER_STATE)
