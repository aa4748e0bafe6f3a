"""Dropout that draws from torch's generator, or for every run from a seed of its own."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Coins:
    """Coin tosses for R runs at once, each a hash of the run's seed, the step, the place in the network and the entry.

    A run sees the same tosses whichever runs are trained beside it, on any device, and after a resumed break: the step
    is all there is to remember.

    Shapes: seeds :math:`(R)`
    """

    def __init__(self, seeds: Tensor) -> None:
        self.seeds = seeds
        self.step = torch.zeros((), dtype=torch.int64, device=seeds.device)
        self._entries: dict[tuple[int, int], Tensor] = {}

    def keep(self, shape: tuple[int, int], place: int, dropped: float) -> Tensor:
        """Which entries stay.

        Shapes: shape :math:`(N, F)` → :math:`(N, R, F)`
        """
        tosses = self._mixed_entries(shape) ^ self._keys(place).view(1, -1, 1)
        tosses = _mixed(tosses, _MULTIPLIERS_32, 15)
        return tosses >= int(dropped * 2**32) - 2**31

    def _keys(self, place: int) -> Tensor:
        keys = self.seeds
        for number in (self.step, place):
            keys = _mixed((keys ^ number) + _MULTIPLIERS_64[0], _MULTIPLIERS_64, 31)
        return (keys >> 32).to(torch.int32)

    def _mixed_entries(self, shape: tuple[int, int]) -> Tensor:
        if shape not in self._entries:
            rows, columns = shape
            entries = torch.arange(rows * columns, dtype=torch.int32, device=self.seeds.device)
            self._entries[shape] = _mixed(entries + 1, _MULTIPLIERS_32, 16).view(rows, 1, columns)
        return self._entries[shape]


class Dropout(nn.Module):
    """Sets a share of the entries to zero in training and scales the others up.

    With `coins`, which the training engine sets, every run has tosses of its own; else torch's generator decides.

    Shapes: :math:`(N, *)`; with coins :math:`(N, R, F)` or :math:`(N, R, ·, F)`
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.coins: Coins | None = None
        self.place = 0

    def forward(self, h: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return h
        if self.coins is None:
            return F.dropout(h, self.p)
        flat = h.flatten(2) if h.dim() > 2 else h.unsqueeze(2)
        keep = self.coins.keep((flat.shape[0], flat.shape[2]), self.place, self.p)
        out: Tensor = _Mask.apply(flat, keep, 1 / (1 - self.p))  # type: ignore[no-untyped-call]
        return out.view_as(h)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class _Mask(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, keep: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(keep)
        ctx.scale = scale
        return torch.ops.aten.native_dropout_backward(h, keep, scale)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (keep,) = ctx.saved_tensors
        return torch.ops.aten.native_dropout_backward(grad, keep, ctx.scale), None, None


def _mixed(number: Tensor, multipliers: tuple[int, ...], shift: int) -> Tensor:
    """A bijection of integers after which the highest bits depend on all."""
    bits = 8 * number.element_size()
    for multiplier in multipliers:
        # A shift of a negative number brings in ones, which would wipe out its sign.
        shifted = (number >> shift).bitwise_and_(2 ** (bits - shift) - 1)
        number = shifted.bitwise_xor_(number).mul_(multiplier)
    return number


_MULTIPLIERS_32 = (0x21F0AAAD, 0xD35A2D97 - 2**32)
_MULTIPLIERS_64 = (0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64)
