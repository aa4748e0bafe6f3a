"""The passes on one set of tables: no batch, no gradient, in the memory of the CPU. The compiled core does them whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from neuraltrees._core import native
from neuraltrees.decomposition import TreeDecomposition
from neuraltrees.inference.markov import StructureArrays
from neuraltrees.inference.passes import Progress

FLOATS = (torch.float32, torch.float64)


class Tables(NamedTuple):
    """Contiguous tables of one type in the memory of the CPU, and where they begin."""

    kept: Sequence[Tensor]
    addresses: list[int]
    dtype: torch.dtype


@dataclass(frozen=True, eq=False)
class Found:
    """What the core found; it keeps the tables of the cliques for their joint distributions."""

    log_partition: float
    marginals: list[Tensor]
    _run: native.JunctionRun
    _dtype: torch.dtype
    _count: int

    def joints(self) -> list[Tensor]:
        """The joint distributions of the potentials' open variables, each as a column."""
        return [torch.from_numpy(self._run.joint(k)).to(self._dtype).unsqueeze(-1) for k in range(self._count)]


@dataclass(frozen=True, eq=False)
class SinglePasses:
    """Both passes for one structure and one decomposition of its open variables."""

    arrays: StructureArrays
    decomposition: TreeDecomposition

    @cached_property
    def _plan(self) -> native.JunctionPlan:
        td = self.decomposition
        return native.JunctionPlan(*self.arrays, td.bag_ptr, td.bag_nodes, td.edges)

    @cached_property
    def _shapes(self) -> list[tuple[int, ...]]:
        counts, ptr, nodes = (each.tolist() for each in self.arrays)
        sizes = [counts[v] for v in nodes]
        return [tuple(sizes[first:stop]) for first, stop in zip(ptr, ptr[1:], strict=False)]

    @cached_property
    def _sizes(self) -> list[int]:
        return self.arrays.cardinalities.tolist()

    @cached_property
    def _states(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """State 0 for variables of one state, -1 for the others."""
        return np.where(self.arrays.cardinalities == 1, 0, -1)

    def tables(self, log_potentials: Sequence[Tensor]) -> Tables | None:
        """The tables as the core reads them; None if there is a batch, a gradient or a GPU, or if a table is wrong."""
        if not log_potentials:
            return Tables((), [], torch.float64)
        first = log_potentials[0]
        dtype = first.dtype
        try:
            if dtype not in FLOATS or [table.shape for table in log_potentials] != self._shapes:
                return None
            if torch.is_grad_enabled() and any([table.requires_grad for table in log_potentials]):
                return None
            if not all([table.dtype is dtype and table.is_cpu for table in log_potentials]):
                return None
        except AttributeError:
            return None
        if not all([table.is_contiguous() for table in log_potentials]):
            log_potentials = [table.contiguous() for table in log_potentials]
        return Tables(log_potentials, [table.data_ptr() for table in log_potentials], dtype)

    def run(
        self, tables: Tables, observed: dict[int, int], progress: Progress | None = None, marginals: bool = True
    ) -> Found:
        """The log partition function and the marginals; -inf and no marginals for impossible evidence."""
        states = self._states.copy()
        for variable, state in observed.items():
            states[variable] = state
        double = tables.dtype == torch.float64
        total, values, run = self._plan.run(tables.addresses, double, states, marginals, progress)
        split: list[Tensor] = []
        if len(values) or not self._sizes:
            whole = torch.from_numpy(values)
            split = list((whole if double else whole.float()).split(self._sizes)) if self._sizes else []
        return Found(total, split, run, tables.dtype, len(self._shapes))
