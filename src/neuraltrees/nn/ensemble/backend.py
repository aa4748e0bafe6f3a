"""How the sums of a round are computed: message by message, or by sparse matrices that are prepared once per tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import torch
from torch import Tensor

from neuraltrees.nn.ensemble.sparse import Coefficients, ScatterChoice, ScatterMap, SparseMap
from neuraltrees.nn.ensemble.weighted_sum import FusedSum, ScatterSum, SumEntries


@dataclass(frozen=True)
class ScatterBackend:
    """Nothing is prepared: for a structure that is used once, and for `torch.export`."""

    prepared: ClassVar[bool] = False

    def map(self, entries: Coefficients) -> ScatterMap:
        """Sums of states with fixed coefficients."""
        return ScatterMap(entries)

    def choice(self, index: Tensor, columns: int) -> ScatterChoice:
        """The map from `columns` states to those of the index."""
        return ScatterChoice(index, columns)

    def weighted_sum(self, messages: SumEntries) -> ScatterSum:
        """Sums of states with computed weights."""
        return ScatterSum(messages)


@dataclass(frozen=True)
class SparseBackend:
    """Sparse matrices in compressed rows, made once: for a structure that is used in many steps."""

    dtype: torch.dtype = torch.float32
    device: torch.device = torch.device("cpu")  # noqa: RUF009  # a device is immutable
    prepared: ClassVar[bool] = True

    def map(self, entries: Coefficients) -> SparseMap:
        """Sums of states with fixed coefficients."""
        return SparseMap.of(entries, self.dtype, self.device)

    def choice(self, index: Tensor, columns: int) -> SparseMap:
        """The map from `columns` states to those of the index."""
        return SparseMap.choosing(index, columns, self.dtype, self.device)

    def weighted_sum(self, messages: SumEntries) -> FusedSum:
        """Sums of states with computed weights."""
        return FusedSum(messages, self.device)


Backend: TypeAlias = ScatterBackend | SparseBackend
SCATTER = ScatterBackend()
