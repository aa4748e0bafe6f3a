"""Approximate marginals from the same potentials, for comparison with exact ones."""

from __future__ import annotations

import torch
from torch import Tensor

from neuraltrees.inference.crf.tables import FactorTables


def loopy_beliefs(
    unary: Tensor, tables: FactorTables, ends: Tensor, iterations: int = 50, damping: float = 0.5
) -> Tensor:
    """Marginals by loopy belief propagation with parallel updates and damped log-messages; exact on trees.

    Shapes: unary :math:`(B, n, D)`, ends :math:`(2, E)` → :math:`(B, n, D)`
    """
    first, last = ends
    pair = tables.whole(torch.arange(ends.shape[1], device=ends.device))
    forth, back = unary.new_zeros(2, len(unary), ends.shape[1], unary.shape[2])
    for _ in range(iterations):
        beliefs = unary.index_add(1, last, forth).index_add(1, first, back)
        to_last = torch.logsumexp((beliefs[:, first] - back).unsqueeze(-1) + pair, -2).log_softmax(-1)
        to_first = torch.logsumexp((beliefs[:, last] - forth).unsqueeze(-2) + pair, -1).log_softmax(-1)
        forth, back = (damping * old + (1 - damping) * new for old, new in ((forth, to_last), (back, to_first)))
    return unary.index_add(1, last, forth).index_add(1, first, back).softmax(-1)


def mean_field(
    unary: Tensor, tables: FactorTables, ends: Tensor, iterations: int = 100, damping: float = 0.5
) -> Tensor:
    """Marginals by naive mean field: the product distribution closest to the joint distribution.

    Shapes: as those of `loopy_beliefs`
    """
    first, last = ends
    pair = tables.whole(torch.arange(ends.shape[1], device=ends.device))
    found = unary.softmax(-1)
    for _ in range(iterations):
        to_last = (found[:, first].unsqueeze(-2) @ pair).squeeze(-2)
        to_first = (pair @ found[:, last].unsqueeze(-1)).squeeze(-1)
        new = unary.index_add(1, last, to_last).index_add(1, first, to_first).softmax(-1)
        found = damping * found + (1 - damping) * new
    return found
