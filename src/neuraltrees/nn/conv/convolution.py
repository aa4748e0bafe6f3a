"""What all convolutions share: a round of AGG is bound to its messages once, then applied to states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.ensemble.sparse import Coefficients, MakeMap, Map, ScatterMap, SparseMap
from neuraltrees.nn.schedule.messages import Links

RELATIONS = 3  # root-root, child → parent, parent → child


class Convolution(nn.Module):
    """One round of AGG.

    `bind` turns the messages of a round into the maps that `forward` applies; it knows neither weights nor states, so
    it is done once for a tree that does not change. Where a whole round is linear (`pools`),
    the mean over leaves may be joined to it.

    Shapes: `forward` :math:`(N, *, F) → (M, *, O)`
    """

    pools: bool = False

    def bind(self, links: Links, make: MakeMap = ScatterMap, pool: Coefficients | None = None) -> Any:
        raise NotImplementedError

    def forward(self, h: Tensor | SparseMap, bound: Any) -> Tensor:
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Draws all parameters anew."""
        for module in self.modules():
            if isinstance(module, RunLinear):
                module.reset_parameters()


@dataclass(frozen=True)
class Term:
    """A summand :math:`A h W` of a round, with the map or the product first, whichever is cheaper."""

    map: Map
    map_first: bool

    @classmethod
    def of(cls, entries: Coefficients, lin: nn.Module, make: MakeMap, pool: Coefficients | None = None) -> Term:
        assert isinstance(lin, RunLinear)
        map = make(entries if pool is None else pool @ entries)
        if isinstance(map, ScatterMap):
            return cls(map, False)
        (rows, columns), wide = map.shape, lin.in_channels * lin.out_channels
        # A multiplication of the product is about four times as quick as one of the map, which waits for memory.
        first = rows * wide + 4 * map.entries * lin.in_channels
        return cls(map, first < columns * wide + 4 * map.entries * lin.out_channels)

    def __call__(self, h: Tensor | SparseMap, lin: nn.Module) -> Tensor:
        """Shapes: h :math:`(N, *, F)` → :math:`(M, *, O)`"""
        assert isinstance(lin, RunLinear)
        if self.map_first and isinstance(h, Tensor) and h.layout == torch.strided:
            return lin.multiply(self.map(h))
        return self.map(lin.multiply(h))


def total(parts: Iterable[Tensor]) -> Tensor:
    """The sum of at least one tensor."""
    first, *rest = parts
    for part in rest:
        first = first + part
    return first
