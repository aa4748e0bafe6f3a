"""Many entries that are rows of a small table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from neuraltrees.nn.ensemble.incidence import Incidence


@dataclass(frozen=True, eq=False)
class Rows:
    """M entries, each of which is a row of a small table, such as the embedding of a kind of bond.

    A linear layer is applied to the K rows of the table instead of the M entries.

    Args:
        table: the rows.
        index: the row of every entry.

    Shapes: table :math:`(K, *, F)`, index :math:`(M)`
    """

    table: Tensor
    index: Tensor

    def __len__(self) -> int:
        return len(self.index)

    def map(self, layer: Callable[[Tensor], Tensor]) -> Rows:
        """The entries after a layer."""
        return Rows(layer(self.table), self.index)

    def dense(self) -> Tensor:
        """The entries themselves. Shapes: → :math:`(M, *, F)`"""
        return self.table.index_select(0, self.index)

    def counts(self, entry: Incidence, to: Incidence) -> Tensor:
        """How many entries in each row of `to` have each row of the table: a sum of entries is these counts times the
        table.

        Args:
            entry, to: for each of L places, an entry, and the row that it is counted in.

        Shapes: → :math:`(N, K)`
        """
        chosen = self.index.index_select(0, entry.index).unsqueeze(1)
        ones = self.table.new_zeros(len(chosen), len(self.table)).scatter_(1, chosen, 1.0)
        return to.sum(ones)

    def times(self, counts: Tensor) -> Tensor:
        """Counts times the table. Shapes: counts :math:`(N, K)` → :math:`(N, *, F)`"""
        return (counts @ self.table.flatten(1)).view(-1, *self.table.shape[1:])
