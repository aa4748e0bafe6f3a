"""Batch norm followed by a ReLU, dropout and a residual on a GPU: two kernels forward and two backward instead of about
thirty; needs Triton.

Shapes: all states :math:`(N, C)` with the channels of all runs side by side, weight :math:`(N)`, others :math:`(C)`
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

CHANNELS, ROWS, MOST_SHARES = 32, 64, 64
EPSILON = 1e-5


@dataclass(frozen=True, eq=False)
class Drop:
    """Dropout; see `DropoutMasks`.

    Args:
        entries: the mixed numbers of all entries.
        keys: the key of every run.
        dropped: share of the entries that are dropped.

    Shapes: entries :math:`(N, F)`, keys :math:`(R)`
    """

    entries: Tensor
    keys: Tensor
    dropped: float


class NormRelu(torch.autograd.Function):
    r""":math:`r + \mathrm{drop}(w\, \mathrm{relu}(γ (h - μ) / \sqrt{σ^2 + ε} + β))`, with mean and variance over the
    rows of weight 1; relu, drop and the residual r are optional.

    The running statistics are updated on the way.
    """

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        scale: Tensor,
        shift: Tensor,
        weight: Tensor | None,
        running_mean: Tensor,
        running_var: Tensor,
        momentum: float,
        relu: bool,
        residual: Tensor | None = None,
        drop: Drop | None = None,
    ) -> Tensor:
        from neuraltrees.nn.ensemble import norm_kernels as kernels

        flat = h.contiguous().view(h.shape[0], -1)
        (rows, channels), size = flat.shape, h.shape[-1]
        shares, per_share = _shares(rows)
        parts = flat.new_empty(3, shares, channels)
        statistics = flat.new_empty(3, channels)  # mean, 1 / standard deviation, count
        out = torch.empty_like(flat)
        masks = flat if weight is None else weight
        blocks = channels // size * -(-size // CHANNELS)
        tile: dict[str, Any] = {"WEIGHTED": weight is not None, "ROWS": ROWS, "CHANNELS": CHANNELS}
        kernels.moments[blocks, shares](flat, masks, parts, rows, channels, size, per_share, shares, **tile)
        tile |= {"RELU": relu, "DROPS": drop is not None}
        entries, keys, low, factor = flat, flat, 0.0, 0.0
        if drop is not None:
            entries, keys, low, factor = drop.entries, drop.keys, 0.5 - drop.dropped, 1 / (1 - drop.dropped)
        added = flat if residual is None else residual.contiguous()
        kernels.apply[blocks, -(-rows // ROWS)](
            flat, masks, parts, scale, shift, running_mean, running_var, statistics, added, entries, keys, out,
            rows, channels, size, shares, momentum, EPSILON, low, factor,
            ADDS=residual is not None, SHARES=_power(shares), **tile,
        )  # fmt: skip
        ctx.save_for_backward(flat, scale, shift, masks, statistics)
        # Not saved by autograd, which would refuse that the keys change after the backward pass.
        ctx.drop, ctx.tile, ctx.shape, ctx.adds = (entries, keys, low, factor), tile, h.shape, residual is not None
        return out.view(h.shape)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from neuraltrees.nn.ensemble import norm_kernels as kernels

        flat, scale, shift, masks, statistics = ctx.saved_tensors
        (rows, channels), size = flat.shape, ctx.shape[-1]
        shares, per_share = _shares(rows)
        grad = grad.contiguous().view(rows, channels)
        parts = flat.new_empty(2, shares, channels)
        of_scale, of_shift = torch.empty_like(scale), torch.empty_like(shift)
        out = torch.empty_like(flat)
        blocks = channels // size * -(-size // CHANNELS)
        entries, keys, low, factor = ctx.drop
        kernels.sums[blocks, shares](
            grad, flat, masks, scale, shift, statistics, entries, keys, out, parts,
            rows, channels, size, per_share, shares, low, factor, **ctx.tile,
        )  # fmt: skip
        kernels.gradients[blocks, -(-rows // ROWS)](
            grad, flat, masks, scale, shift, statistics, parts, out, of_scale, of_shift,
            rows, channels, size, shares, SHARES=_power(shares), **ctx.tile,
        )  # fmt: skip
        of_residual = grad.view(ctx.shape) if ctx.adds else None
        return out.view(ctx.shape), of_scale, of_shift, None, None, None, None, None, of_residual, None


def _shares(rows: int) -> tuple[int, int]:
    """The number of shares that the rows are divided into for summing, and the number of rows per share."""
    blocks = -(-rows // ROWS)
    shares = min(MOST_SHARES, blocks)
    return shares, -(-blocks // shares) * ROWS


def _power(number: int) -> int:
    """The smallest power of two that is at least this number."""
    return 1 << (number - 1).bit_length()
