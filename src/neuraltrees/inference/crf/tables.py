"""Tables of edges and cliques as weighted sums of a few shared tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag


@dataclass(frozen=True, eq=False)
class FactorTables:
    r"""Log-potentials of edges, or of cliques of one size, :math:`θ_f = \sum_j w_{fj} T_{i(f, j)}`, as shared tables.

    A table has an axis per node: for an edge, its ends u < v. With T tables of edges, the number T + i is the transpose
    of table i.

    Args:
        tables: the shared tables.
        index: the numbers of the tables of every edge or clique.
        weight: their weights; None for 1.

    Shapes: tables :math:`(B, T, D, …)` or :math:`(1, T, D, …)`, index :math:`(F, J)`, weight :math:`(B, F, J)`
    """

    tables: Tensor
    index: Tensor
    weight: Tensor | None = None

    @property
    def count(self) -> int:
        """Number of shared tables."""
        return self.tables.shape[1]

    @property
    def order(self) -> int:
        """Number of nodes of an edge or a clique."""
        return self.tables.dim() - 2

    @property
    def both(self) -> Tensor:
        """The shared tables; those of edges, then their transposes. Shapes: :math:`(B, 2T, D, D)`"""
        return self._numbered(tuple(range(self.order)))

    def flat(self, batch: int) -> FactorTables:
        """The same for a union of `batch` copies of the graph, as one batch entry with the factors of all copies."""
        if batch == 1:
            return self
        index = self.index.repeat(batch, 1)
        copy = torch.arange(batch, device=index.device).repeat_interleave(len(self.index)).unsqueeze(1)
        transposed = index >= self.count
        index = index - self.count * transposed + self.count * (copy + batch * transposed)
        tables = self.tables.expand(batch, *self.tables.shape[1:]).reshape(1, -1, *self.tables.shape[2:])
        weight = None if self.weight is None else self.weight.expand(batch, -1, -1).reshape(1, -1, index.shape[1])
        return FactorTables(tables, index, weight)

    def given(self, axes: tuple[int, ...], factor: Tensor, labels: Sequence[Tensor]) -> Tensor:
        """The potentials of the other nodes of some factors, given the labels of those at some axes.

        Shapes: factor and each of the labels :math:`(F)` → :math:`(B, F, D, …)`, with the other axes
        """
        others = tuple(axis for axis in range(self.order) if axis not in axes)
        index, size = self.index.index_select(0, factor), self.tables.shape[-1]
        for label in labels:
            index = index * size + label.unsqueeze(1)
        tables = self._numbered(axes + others).flatten(1, 1 + len(axes))
        if self.weight is not None and len(tables) == len(self.weight) == 1 and not tables.is_cuda and len(others) == 1:
            share = self.weight[0].index_select(0, factor)
            return embedding_bag(index, tables[0], mode="sum", per_sample_weights=share).unsqueeze(0)
        found = tables.index_select(1, index.flatten()).view(len(tables), *index.shape, *tables.shape[2:])
        if self.weight is None:
            return found.squeeze(2) if index.shape[1] == 1 else found.sum(2)
        share = self.weight.index_select(1, factor)
        return (found * share.view(*share.shape, *[1] * len(others))).sum(2)

    def entries(self, factor: Tensor, labels: Sequence[Tensor]) -> Tensor:
        """The potentials of some factors for some labels of all their nodes; labels broadcast against each other.

        Shapes: factor :math:`(F)`, labels :math:`(B, F, *)` or :math:`(1, F, *)` each → :math:`(B, F, *)`
        """
        size = self.tables.shape[-1]
        both = self.both.flatten(1)
        total: Tensor | None = None
        for j in range(self.index.shape[1]):
            number = self.index[:, j].index_select(0, factor)
            place = number.view(1, -1, *[1] * (labels[0].dim() - 2))
            for label in labels:
                place = place * size + label
            batch = max(len(both), len(place))
            found = both.expand(batch, -1).gather(1, place.expand(batch, *place.shape[1:]).flatten(1))
            found = found.view(batch, *place.shape[1:])
            if self.weight is not None:
                share = self.weight[:, :, j].index_select(1, factor)
                found = found * share.view(*share.shape, *[1] * (found.dim() - 2))
            total = found if total is None else total + found
        assert total is not None
        return total

    def whole(self, factor: Tensor) -> Tensor:
        """The full tables of some factors. Shapes: factor :math:`(F)` → :math:`(B, F, D, …)`"""
        size = self.tables.shape[-1]
        labels = torch.arange(size, device=factor.device)
        shape = (1, len(factor), *[size] * self.order)
        return self.entries(factor, [along(labels, axis, self.order).expand(shape) for axis in range(self.order)])

    def _numbered(self, axes: tuple[int, ...]) -> Tensor:
        """All tables by their numbers, with their axes in the given order."""
        order = (0, 1, *(2 + axis for axis in axes))
        tables = self.tables.permute(order)
        return torch.cat([tables, self.tables.mT.permute(order)], 1) if self.order == 2 else tables


Tables: TypeAlias = tuple[FactorTables, ...]  # those of edges, then those of cliques by size


def along(labels: Tensor, axis: int, order: int) -> Tensor:
    """Labels along one of the axes of a table. Shapes: :math:`(*, D)` → :math:`(*, 1, …, D, …, 1)`"""
    lead = labels.shape[:-1] if labels.dim() > 1 else (1, 1)
    return labels.view(*lead, *(labels.shape[-1] if each == axis else 1 for each in range(order)))
