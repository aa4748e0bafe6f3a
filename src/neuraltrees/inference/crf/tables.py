"""Tables of edges as weighted sums of a few shared tables."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class EdgeTables:
    r"""Log-potentials of edges, :math:`θ_e = \sum_j w_{ej} T_{i(e, j)}`, without a full table per edge.

    Entries are :math:`(y_u, y_v)` of the ends u < v of an edge. With T tables, the number T + i is the transpose of
    table i.

    Args:
        tables: the shared tables.
        index: the numbers of the tables of every edge.
        weight: their weights; None for 1.

    Shapes: tables :math:`(B, T, D, D)` or :math:`(1, T, D, D)`, index :math:`(E, J)`, weight :math:`(B, E, J)`
    """

    tables: Tensor
    index: Tensor
    weight: Tensor | None = None

    @property
    def count(self) -> int:
        """Number of shared tables."""
        return self.tables.shape[1]

    @property
    def both(self) -> Tensor:
        """The shared tables, then their transposes. Shapes: :math:`(B, 2T, D, D)`"""
        return torch.cat([self.tables, self.tables.mT], 1)

    def flat(self, batch: int) -> EdgeTables:
        """The same for a union of `batch` copies of the graph, as one batch entry with the edges of all copies."""
        if batch == 1:
            return self
        index = self.index.repeat(batch, 1)
        copy = torch.arange(batch, device=index.device).repeat_interleave(len(self.index)).unsqueeze(1)
        transposed = index >= self.count
        index = index - self.count * transposed + self.count * (copy + batch * transposed)
        tables = self.tables.expand(batch, -1, -1, -1).reshape(1, -1, *self.tables.shape[2:])
        weight = None if self.weight is None else self.weight.expand(batch, -1, -1).reshape(1, -1, index.shape[1])
        return EdgeTables(tables, index, weight)

    def rows(self, edge: Tensor, label: Tensor) -> Tensor:
        """Potentials of the upper ends of some edges, given the labels of their lower ends.

        Shapes: edge and label :math:`(F)` → :math:`(B, F, D)`
        """
        return self._given(self.index.index_select(0, edge), edge, label)

    def columns(self, edge: Tensor, label: Tensor) -> Tensor:
        """Potentials of the lower ends of some edges, given the labels of their upper ends.

        Shapes: edge and label :math:`(F)` → :math:`(B, F, D)`
        """
        return self._given((self.index.index_select(0, edge) + self.count) % (2 * self.count), edge, label)

    def entries(self, edge: Tensor, first: Tensor, last: Tensor) -> Tensor:
        """The potentials of some edges for some labels of both ends; labels broadcast against each other.

        Shapes: edge :math:`(F)`, first and last :math:`(B, F, *)` or :math:`(1, F, *)` → :math:`(B, F, *)`
        """
        size = self.tables.shape[-1]
        both = self.both.flatten(1)
        total: Tensor | None = None
        for j in range(self.index.shape[1]):
            number = self.index[:, j].index_select(0, edge)
            place = (number.view(1, -1, *[1] * (first.dim() - 2)) * size + first) * size + last
            batch = max(len(both), len(place))
            found = both.expand(batch, -1).gather(1, place.expand(batch, *place.shape[1:]).flatten(1))
            found = found.view(batch, *place.shape[1:])
            if self.weight is not None:
                share = self.weight[:, :, j].index_select(1, edge)
                found = found * share.view(*share.shape, *[1] * (found.dim() - 2))
            total = found if total is None else total + found
        assert total is not None
        return total

    def whole(self, edge: Tensor) -> Tensor:
        """The full tables of some edges. Shapes: edge :math:`(F)` → :math:`(B, F, D, D)`"""
        labels = torch.arange(self.tables.shape[-1], device=edge.device)
        shape = (1, len(edge), len(labels), len(labels))
        return self.entries(edge, labels.view(1, 1, -1, 1).expand(shape), labels.view(1, 1, 1, -1).expand(shape))

    def _given(self, index: Tensor, edge: Tensor, label: Tensor) -> Tensor:
        both = self.both
        found = both.flatten(1, 2).index_select(1, (index * both.shape[2] + label.unsqueeze(1)).flatten())
        found = found.view(len(both), *index.shape, both.shape[3])
        if self.weight is None:
            return found.squeeze(2) if index.shape[1] == 1 else found.sum(2)
        return (found * self.weight.index_select(1, edge).unsqueeze(-1)).sum(2)
