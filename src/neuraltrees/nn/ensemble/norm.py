"""Normalisation with separate weights per run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from neuraltrees.nn import triton_kernels
from neuraltrees.nn.ensemble import fused_norm, native_layers
from neuraltrees.nn.ensemble.dropout import Dropout
from neuraltrees.nn.ensemble.precision import full_precision
from neuraltrees.nn.parallel.group import Group


@dataclass(frozen=True, eq=False)
class Then:
    """What follows a norm: dropout, and the sum with a residual.

    Args:
        residual: what is added; None for nothing.
        drop: the dropout before it is added.
        numbers: see `Dropout`.
    """

    residual: Tensor | None
    drop: Dropout
    numbers: Tensor | None = None

    def __call__(self, h: Tensor) -> Tensor:
        dropped: Tensor = self.drop(h, self.numbers)
        return dropped if self.residual is None else self.residual + dropped


class RunBatchNorm(nn.Module):
    r""":math:`h' = γ (h - μ) / \sqrt{σ^2 + 10^{-5}} + β`, with mean and variance over the nodes of a batch in training.

    A merged state is weighted by the number of nodes that it represents (`copies`). If that is 1 for all, this equals
    `torch.nn.BatchNorm1d`. Every run has its own statistics; a batch without nodes does not change them. With a
    `group`, passed or set, statistics are over the nodes of all its processes.

    Shapes: h :math:`(N, *, F)`, copies :math:`(N)` → :math:`(N, *, F)`
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int, runs: int | None = None, momentum: float = 0.1) -> None:
        super().__init__()
        shape = (channels,) if runs is None else (runs, channels)
        self.weight, self.bias = nn.Parameter(torch.ones(shape)), nn.Parameter(torch.zeros(shape))
        self.register_buffer("running_mean", torch.zeros(shape))
        self.register_buffer("running_var", torch.ones(shape))
        self.momentum = momentum
        self.group: Group | None = None

    def reset_parameters(self) -> None:
        for tensor, start in ((self.weight, 1), (self.bias, 0), (self.running_mean, 0), (self.running_var, 1)):
            nn.init.constant_(tensor, start)

    def forward(self, h: Tensor, copies: Tensor | None = None, group: Group | None = None) -> Tensor:
        group = self.group if group is None else group
        mean, var = self._statistics(h, copies, group) if self.training else (self.running_mean, self.running_var)
        scale = self.weight * (var + 1e-5).rsqrt()
        return h * scale + (self.bias - mean * scale)

    def padded(
        self,
        h: Tensor,
        weight: Tensor | None = None,
        relu: bool = False,
        group: Group | None = None,
        then: Then | None = None,
        copies: Tensor | None = None,
    ) -> Tensor:
        """The same, optionally followed by a ReLU and more. Rows of weight 0 are padding: they do not count and stay 0.

        Shapes: h :math:`(N, *, F)`, weight and copies :math:`(N)`, of which one at most is given
        """
        group = self.group if group is None else group
        kernels = self._kernels(h, weight, group, then, copies)
        if kernels is not None:
            drop = None if then is None else then.drop.fused(h, then.numbers)
            apart = then if then is not None and then.drop.active and drop is None else None
            residual = None if then is None or apart is not None else then.residual
            out: Tensor = kernels.apply(
                h, self.weight, self.bias, weight if copies is None else copies, self.running_mean, self.running_var,
                self.momentum, relu, residual, drop,
            )  # fmt: skip
            return out if apart is None else apart(out)
        new = self(h, weight if copies is None else copies, group)
        new = without_padding(new.relu() if relu else new, weight)
        return new if then is None else then(new)

    def _kernels(
        self, h: Tensor, weight: Tensor | None, group: Group | None, then: Then | None, copies: Tensor | None
    ) -> Any:
        """What computes `padded` at once in training; None if nothing does."""
        if not self.training or (group is not None and not group.alone) or torch.compiler.is_compiling():
            return None
        if h.is_cuda and h.dtype == torch.float32 and len(h) > 0 and copies is None and triton_kernels.available():
            return fused_norm.NormRelu
        residual = None if then is None else then.residual
        others = (self.weight, self.running_mean, residual, copies)
        if weight is None and len(h) > 1 and native_layers.suits(h, *others):
            return native_layers.NormRelu
        return None

    @full_precision
    def _statistics(self, h: Tensor, copies: Tensor | None, group: Group | None) -> tuple[Tensor, Tensor]:
        """Mean and variance in the precision of the running ones."""
        h = h.to(self.running_mean.dtype)
        copies = None if copies is None else copies.to(h.dtype)
        momentum: Tensor | float = self.momentum
        if group is not None and not group.alone:
            copies = h.new_ones(h.shape[0]) if copies is None else copies
        elif not h.shape[0]:
            return self.running_mean, self.running_var
        if copies is None:
            count: Tensor | int = h.shape[0]
            mean = h.mean(0)
            var = (h - mean).square().mean(0)
        else:
            together = Group() if group is None else group
            count = together.total_(copies.sum())
            share = copies / count.clamp(min=1)
            momentum = (count > 0).to(h.dtype) * momentum
            mean = together.total(share @ h.flatten(1)).view_as(self.weight)
            var = together.total(share @ (h - mean).square().flatten(1)).view_as(self.weight)
        with torch.no_grad():
            unbiased = var * (count / max(count - 1, 1) if isinstance(count, int) else count / (count - 1).clamp(min=1))
            self.running_mean.lerp_(mean, momentum)
            self.running_var.lerp_(unbiased, momentum)
        return mean, var


class RunLayerNorm(nn.Module):
    r""":math:`h' = γ (h - μ) / \sqrt{σ^2 + 10^{-5}} + β`, with mean and variance over the channels of every state.

    Shapes: h :math:`(N, *, F)` → :math:`(N, *, F)`; copies of merged states have no effect
    """

    def __init__(self, channels: int, runs: int | None = None) -> None:
        super().__init__()
        shape = (channels,) if runs is None else (runs, channels)
        self.weight, self.bias = nn.Parameter(torch.ones(shape)), nn.Parameter(torch.zeros(shape))

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, h: Tensor, copies: Tensor | None = None, group: Group | None = None) -> Tensor:
        return nn.functional.layer_norm(h, h.shape[-1:]) * self.weight + self.bias

    def padded(
        self,
        h: Tensor,
        weight: Tensor | None = None,
        relu: bool = False,
        group: Group | None = None,
        then: Then | None = None,
        copies: Tensor | None = None,
    ) -> Tensor:
        """As for `RunBatchNorm`."""
        new = self(h)
        new = without_padding(new.relu() if relu else new, weight)
        return new if then is None else then(new)


def without_padding(h: Tensor, weight: Tensor | None) -> Tensor:
    """The states, set to zero where the weight is zero.

    Shapes: h :math:`(N, ...)`, weight :math:`(N)`
    """
    return h if weight is None else h * weight.view(-1, *[1] * (h.dim() - 1))
