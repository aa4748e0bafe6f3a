"""Dropout that draws from torch's generator, or from a seed per run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from neuraltrees.nn.ensemble import native_layers
from neuraltrees.nn.ensemble.fused_norm import Drop


class DropoutMasks:
    """Counter-based dropout masks for R runs at once.

    Every entry is a hash of the run's seed, the step, the place in the network and the entry's number. A run has the
    same masks whichever runs are trained with it, on any device, and after a training is resumed: the only state is the
    number of the step.

    Args:
        seeds: the seed of every run.
        places: number of places in the network that draw masks.
        stream: different streams have different masks, for processes that compute different rows.

    Shapes: seeds :math:`(R)`
    """

    def __init__(self, seeds: Tensor, places: int = 1, stream: int = 0) -> None:
        # Spread over all 64 bits, so that different runs and steps have different random numbers.
        self._seeds = _mixed((seeds * _GOLDEN + _GOLDEN) ^ (stream * 0x5851F42D4C957F2D), _MULTIPLIERS_64, 31)
        self._entries: dict[tuple[int, int, int | None], tuple[Tensor, Tensor | None]] = {}
        self._tables: dict[int, Tensor] = {}
        self.step = torch.zeros((), dtype=torch.int64, device=seeds.device)
        self._places = torch.arange(1, places + 1, device=seeds.device).view(-1, 1) * _GOLDEN
        self._keys = torch.zeros(places, len(seeds), dtype=torch.int32, device=seeds.device)
        self.go_to(self.step)

    def go_to(self, step: Tensor | int) -> None:
        """Sets the number of the step, in place: captured work reads these tensors."""
        self.step.copy_(torch.as_tensor(step))
        keys = _mixed(self._seeds + self.step * _MULTIPLIERS_64[1], _MULTIPLIERS_64, 29)
        self._keys.copy_(_mixed(keys ^ self._places, _MULTIPLIERS_64, 31) >> 32)

    def seed_of(self, run: int, place: int) -> int:
        """A seed for another generator, of this run and step at this place."""
        return int(self._keys[place, run]) & 0xFFFFFFFF

    def mask(self, shape: tuple[int, int], place: int, dropped: float, numbers: Tensor | None = None) -> Tensor:
        """Zero for dropped entries; for the others the factor that they are scaled by.

        Args:
            shape: shape of the states.
            place: place in the network.
            dropped: share of the entries that are dropped.
            numbers: the numbers of the rows, if they are some rows of a larger tensor; by default 0, 1, 2, …

        Shapes: shape :math:`(N, F)`, numbers :math:`(N)` → :math:`(N, R, F)`
        """
        hashes = self._mixed_entries(shape, numbers) ^ self._keys[place].view(1, -1, 1)
        hashes = _mixed(hashes, _MULTIPLIERS_32, 15)
        # Uniform numbers between -p and 1 - p: the ceiling is 0 or 1, and on a CPU much faster than a comparison.
        return hashes.float().mul_(2.0**-32).add_(0.5 - dropped).ceil_().mul_(1 / (1 - dropped))

    def drop(self, h: Tensor, place: int, dropped: float, numbers: Tensor | None = None) -> Tensor:
        """The states with some entries dropped and the others scaled; the mask is recomputed for the gradient.

        Shapes: h :math:`(N, R, *)`
        """
        if native_layers.suits(h):
            kernel = self.fused((h.shape[0], h.shape[2:].numel()), place, dropped, numbers)
            found: Tensor = native_layers.Dropped.apply(h, kernel)  # type: ignore[no-untyped-call]
            return found
        if not h.is_cuda or h.dtype != torch.float32:
            mask = self.mask((h.shape[0], h.shape[2:].numel()), place, dropped, numbers)
            return h * mask.view_as(h).to(h.dtype)
        given = (h, self, place, dropped, numbers)
        out: Tensor = _DropOnGpu.apply(*given)  # type: ignore[no-untyped-call]  # torch has no types here
        return out

    def fused(self, shape: tuple[int, int], place: int, dropped: float, numbers: Tensor | None = None) -> Drop:
        """What a kernel needs to compute `mask` itself."""
        return Drop(self._mixed_entries(shape, numbers), self._keys[place], dropped)

    def drop_on_gpu(self, h: Tensor, place: int, dropped: float, numbers: Tensor | None = None) -> Tensor:
        """The states times `mask`, by one kernel that reads and writes every entry once."""
        flat = h.reshape(h.shape[0], h.shape[1], -1)
        entries, key = self._mixed_entries((flat.shape[0], flat.shape[2]), numbers), self._keys[place].view(1, -1, 1)
        return _kernel(dropped)(entries, key, flat.view(torch.int32)).view(torch.float32).view(h.shape)

    def _mixed_entries(self, shape: tuple[int, int], numbers: Tensor | None) -> Tensor:
        """The hashes of the numbers of all entries. Shapes: shape :math:`(N, F)` → :math:`(N, 1, F)`"""
        rows, columns = shape
        if numbers is None and self._seeds.device.type == "cpu":
            # One table serves all batches, whose numbers of rows differ; captured work on a GPU needs its own for ever.
            table = self._tables.get(columns)
            if table is None or len(table) < rows:
                table = self._tables[columns] = self._counted(rows + rows // 4, columns)
            return table[:rows]
        # Tensors of numbers are distinguished by their id, and kept alive so that no other tensor gets it.
        key = (rows, columns, None if numbers is None else id(numbers))
        if key not in self._entries:
            if numbers is None:
                found = self._counted(rows, columns)
            else:
                column = torch.arange(1, columns + 1, device=self._seeds.device)
                found = _hashes_of((numbers.unsqueeze(1) * columns + column).to(torch.int32))
            self._entries[key] = found, numbers
        return self._entries[key][0]

    def _counted(self, rows: int, columns: int) -> Tensor:
        """The hashes of 1, 2, 3, …, row by row."""
        count = torch.arange(1, rows * columns + 1, dtype=torch.int32, device=self._seeds.device)
        return _hashes_of(count.view(rows, columns))


class Dropout(nn.Module):
    """Sets a share of the entries to zero in training and scales the others up.

    With `masks`, which a trainer sets, every run has its own masks; else torch's generator draws them. If `numbers` are
    given, rows of a part have the masks that they have in the whole tensor.

    Shapes: :math:`(N, *)`; with masks :math:`(N, R, F)` or :math:`(N, R, ·, F)`
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.masks: DropoutMasks | None = None
        self.place = 0

    def forward(self, h: Tensor, numbers: Tensor | None = None) -> Tensor:
        if not self.active:
            return h
        if self.masks is None:
            return h * torch.rand_like(h).sub_(self.p).ceil_().mul_(1 / (1 - self.p))
        return self.masks.drop(h, self.place, self.p, numbers)

    @property
    def active(self) -> bool:
        """Whether anything is dropped now."""
        return self.training and self.p > 0

    def fused(self, h: Tensor, numbers: Tensor | None = None) -> Drop | None:
        """What a kernel that drops entries of states like these needs; None if nothing is dropped, or without masks."""
        if not self.active or self.masks is None or h.dim() != 3:
            return None
        return self.masks.fused((h.shape[0], h.shape[2]), self.place, self.p, numbers)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class _DropOnGpu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, masks: DropoutMasks, place: int, dropped: float, numbers: Tensor | None) -> Tensor:
        ctx.masks, ctx.given = masks, (place, dropped, numbers)
        return masks.drop_on_gpu(h, place, dropped, numbers)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
        return ctx.masks.drop_on_gpu(grad, *ctx.given), None, None, None, None


@cache
def _kernel(dropped: float) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """`DropoutMasks.mask` times a state, as one CUDA function; all arguments are 32-bit integers."""
    first, second = (f"{multiplier % 2**32}u" for multiplier in _MULTIPLIERS_32)
    code = f"""
    template <typename T> T drop(T entry, T key, T state) {{
        unsigned hash = static_cast<unsigned>(entry ^ key);
        hash = (hash ^ (hash >> 15)) * {first};
        hash = (hash ^ (hash >> 15)) * {second};
        const float uniform = static_cast<float>(static_cast<int>(hash)) * {2.0**-32!r}f;
        const float kept = ceilf(uniform + static_cast<float>({0.5 - dropped!r}));
        return __float_as_int(__int_as_float(state) * (kept * static_cast<float>({1 / (1 - dropped)!r})));
    }}"""
    made: Callable[[Tensor, Tensor, Tensor], Tensor] = torch.cuda.jiterator._create_jit_fn(code)
    return made


def _hashes_of(numbers: Tensor) -> Tensor:
    return _mixed(numbers, _MULTIPLIERS_32, 16).unsqueeze(1)


def _mixed(number: Tensor, multipliers: tuple[int, ...], shift: int) -> Tensor:
    """A bijection of integers after which the highest bits depend on all bits."""
    bits = 8 * number.element_size()
    for multiplier in multipliers:
        # The shift of a negative number fills in ones, which are masked out: a logical shift.
        shifted = (number >> shift).bitwise_and_(2 ** (bits - shift) - 1)
        number = shifted.bitwise_xor_(number).mul_(multiplier)
    return number


_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_MULTIPLIERS_32 = (0x21F0AAAD, 0xD35A2D97 - 2**32)
_MULTIPLIERS_64 = (0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64)
