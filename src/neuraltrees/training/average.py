"""Averaged weights: they vary less than the last ones, and cost only memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    r"""The exponential moving average of a network's weights, :math:`a ← β_t a + (1 - β_t) w` after step t = 0, 1, ….

    :math:`β_t = \min(β, (1 + t) / (10 + t))`, so that the influence of the first weights decreases fast. The running
    statistics of batch norm are averaged too: those of the last weights do not fit the averaged ones.

    Args:
        network: the network.
        decay: the decay β.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        kept = network.state_dict(keep_vars=True)
        self.weights = {name: value for name, value in kept.items() if value.is_floating_point()}
        self.decay = decay
        self.values = {name: value.detach().clone() for name, value in self.weights.items()}

    @torch.no_grad()
    def update(self, step: Tensor) -> None:
        """Adds the weights after a step to the average, without synchronising with a GPU."""
        share = 1 - ((1 + step) / (10 + step)).clamp(max=self.decay)
        averages = [*self.values.values()]
        steps = torch._foreach_sub([*self.weights.values()], averages)  # a few kernels for all tensors
        torch._foreach_mul_(steps, share)
        torch._foreach_add_(averages, steps)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """A context in which the network has the averaged weights."""
        own = {name: value.detach().clone() for name, value in self.weights.items()}
        self._set(self.values)
        try:
            yield
        finally:
            self._set(own)

    @torch.no_grad()
    def _set(self, values: dict[str, Tensor]) -> None:
        for name, value in self.weights.items():
            value.copy_(values[name])
