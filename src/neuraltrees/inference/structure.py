"""Cardinalities and cliques of a model, in the forms that exact inference reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from neuraltrees.graph import Int32, Int64


class StructureArrays(NamedTuple):
    """As the compiled core reads them: clique k is scope_nodes[scope_ptr[k] : scope_ptr[k + 1]]."""

    cardinalities: Int64
    scope_ptr: Int64
    scope_nodes: Int32


@dataclass(frozen=True)
class Structure:
    """What models of equal cardinalities and cliques share."""

    cardinalities: tuple[int, ...]
    cliques: tuple[tuple[int, ...], ...]

    @cached_property
    def arrays(self) -> StructureArrays:
        lengths = np.fromiter(map(len, self.cliques), np.int64, len(self.cliques))
        ptr = np.zeros(len(self.cliques) + 1, np.int64)
        np.cumsum(lengths, out=ptr[1:])
        nodes = np.fromiter(chain.from_iterable(self.cliques), np.int32, int(ptr[-1]))
        return StructureArrays(np.array(self.cardinalities, dtype=np.int64), ptr, nodes)

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of every table."""
        return [tuple([self.cardinalities[v] for v in clique]) for clique in self.cliques]

    @cached_property
    def sizes(self) -> list[int]:
        """The lengths of an answer: one number, and the distribution of every variable."""
        return [1, *self.cardinalities]

    @cached_property
    def single(self) -> dict[int, int]:
        """The variables with only one state, with that state."""
        return {v: 0 for v, count in enumerate(self.cardinalities) if count == 1}
