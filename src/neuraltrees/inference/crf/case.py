"""The arguments of a call of a conditional random field."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from neuraltrees.inference.crf.solver import Evidence, Solver
from neuraltrees.inference.crf.tables import Tables


class Case(NamedTuple):
    """Arguments with one batch dimension.

    Args:
        solver: the engine for them.
        unary, tables: the potentials of nodes, and those of edges and cliques.
        known: the known labels, -1 elsewhere.
        batch: the batch dimensions that were given.
        source: the tensor that `known` was made of, if its values are not checked.
        named: the tables as they were given, by the names of the arguments.

    Shapes: unary :math:`(B, n, D)`, known :math:`(n)` or :math:`(B, n)`
    """

    solver: Solver
    unary: Tensor
    tables: Tables
    known: Tensor | None
    batch: torch.Size
    source: Tensor | None
    named: dict[str, Tensor]

    @property
    def given(self) -> Evidence:
        return self.solver.given(self.known, self.source)
