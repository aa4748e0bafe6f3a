"""Dropout that draws from torch's generator, or for every run from a seed of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn


class Coins:
    """Coin tosses for R runs at once, each a hash of the run's seed, the step, the place in the network and the entry.

    A run sees the same tosses whichever runs are trained beside it, on any device, and after a resumed break: the step
    is all there is to remember.

    Shapes: seeds :math:`(R)`
    """

    def __init__(self, seeds: Tensor) -> None:
        # Spread over all 64 bits, so that no run at one step has the numbers of another run at another.
        self._seeds = _mixed(seeds * _GOLDEN + _GOLDEN, _MULTIPLIERS_64, 31)
        self._entries: dict[tuple[int, int], Tensor] = {}
        self.step = torch.zeros((), dtype=torch.int64, device=seeds.device)
        self.set_places(1)

    def set_places(self, count: int) -> None:
        """Makes numbers for so many places in the network."""
        self._places = torch.arange(1, count + 1, device=self._seeds.device).view(-1, 1) * _GOLDEN
        self._keys = torch.zeros(count, len(self._seeds), dtype=torch.int32, device=self._seeds.device)
        self.go_to(self.step)

    def go_to(self, step: Tensor | int) -> None:
        """Sets the number of the step."""
        self.step.copy_(torch.as_tensor(step))
        keys = _mixed(self._seeds + self.step * _MULTIPLIERS_64[1], _MULTIPLIERS_64, 29)
        self._keys.copy_(_mixed(keys ^ self._places, _MULTIPLIERS_64, 31) >> 32)

    def mask(self, shape: tuple[int, int], place: int, dropped: float) -> Tensor:
        """Zero for the entries that are dropped, for the others what they are scaled by.

        Shapes: shape :math:`(N, F)` → :math:`(N, R, F)`
        """
        tosses = self._mixed_entries(shape) ^ self._keys[place].view(1, -1, 1)
        tosses = _mixed(tosses, _MULTIPLIERS_32, 15)
        # Even numbers between -p and 1 - p: the ceiling is 0 or 1, and much quicker than a comparison on a CPU.
        return tosses.float().mul_(2.0**-32).add_(0.5 - dropped).ceil_().mul_(1 / (1 - dropped))

    def drop(self, h: Tensor, place: int, dropped: float) -> Tensor:
        """The entries that are not dropped, scaled up; the tosses are made anew for the gradient and kept nowhere.

        Shapes: h :math:`(N, R, *)`
        """
        if not h.is_cuda or h.dtype != torch.float32:
            mask = self.mask((h.shape[0], h.shape[2:].numel()), place, dropped)
            return h * mask.view_as(h).to(h.dtype)
        out: Tensor = _DropOnGpu.apply(h, self, place, dropped)  # type: ignore[no-untyped-call]
        return out

    def drop_on_gpu(self, h: Tensor, place: int, dropped: float) -> Tensor:
        """The same numbers as from `mask`, by one kernel that reads and writes every entry once."""
        flat = h.reshape(h.shape[0], h.shape[1], -1)
        entries, key = self._mixed_entries((flat.shape[0], flat.shape[2])), self._keys[place].view(1, -1, 1)
        return _kernel(dropped)(entries, key, flat.view(torch.int32)).view(torch.float32).view(h.shape)

    def _mixed_entries(self, shape: tuple[int, int]) -> Tensor:
        if shape not in self._entries:
            rows, columns = shape
            entries = torch.arange(1, rows * columns + 1, dtype=torch.int32, device=self._seeds.device)
            self._entries[shape] = _mixed(entries, _MULTIPLIERS_32, 16).view(rows, 1, columns)
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
            return h * torch.rand_like(h).sub_(self.p).ceil_().mul_(1 / (1 - self.p))
        return self.coins.drop(h, self.place, self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class _DropOnGpu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, coins: Coins, place: int, dropped: float) -> Tensor:
        ctx.coins, ctx.place, ctx.dropped = coins, place, dropped
        return coins.drop_on_gpu(h, place, dropped)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        return ctx.coins.drop_on_gpu(grad, ctx.place, ctx.dropped), None, None, None


@cache
def _kernel(dropped: float) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """What `Coins.mask` computes, times a state, as one function of CUDA; all arguments are bits of 32."""
    first, second = (f"{multiplier % 2**32}u" for multiplier in _MULTIPLIERS_32)
    code = f"""
    template <typename T> T drop(T entry, T key, T state) {{
        unsigned toss = static_cast<unsigned>(entry ^ key);
        toss = (toss ^ (toss >> 15)) * {first};
        toss = (toss ^ (toss >> 15)) * {second};
        const float even = static_cast<float>(static_cast<int>(toss)) * {2.0**-32!r}f;
        const float kept = ceilf(even + static_cast<float>({0.5 - dropped!r}));
        return __float_as_int(__int_as_float(state) * (kept * static_cast<float>({1 / (1 - dropped)!r})));
    }}"""
    made: Callable[[Tensor, Tensor, Tensor], Tensor] = torch.cuda.jiterator._create_jit_fn(code)
    return made


def _mixed(number: Tensor, multipliers: tuple[int, ...], shift: int) -> Tensor:
    """A bijection of integers after which the highest bits depend on all."""
    bits = 8 * number.element_size()
    for multiplier in multipliers:
        # A shift of a negative number brings in ones, which would wipe out its sign.
        shifted = (number >> shift).bitwise_and_(2 ** (bits - shift) - 1)
        number = shifted.bitwise_xor_(number).mul_(multiplier)
    return number


_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_MULTIPLIERS_32 = (0x21F0AAAD, 0xD35A2D97 - 2**32)
_MULTIPLIERS_64 = (0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64)
