"""The dense kernel of a sweep: the product of the factors along the path between every two nodes, by walking it."""

from __future__ import annotations

import torch
from torch import Tensor


def path_products(above: list[int], factors: Tensor) -> Tensor:
    """For every two nodes the product of the factors of the edges between them, 0 in different trees.

    Shapes: factors :math:`(N, *)`, one per node for the edge to its parent → :math:`(N, N, *)`
    """
    size = len(above)
    joined: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    for node, parent in enumerate(above):
        if parent >= 0:
            joined[node].append((parent, node))
            joined[parent].append((node, node))
    rows = []
    for start in range(size):
        row = {start: torch.ones_like(factors[0])}
        open_nodes = [start]
        while open_nodes:
            node = open_nodes.pop()
            for other, edge in joined[node]:
                if other not in row:
                    row[other] = row[node] * factors[edge]
                    open_nodes.append(other)
        rows.append(torch.stack([row.get(node, torch.zeros_like(factors[0])) for node in range(size)]))
    return torch.stack(rows) if rows else factors.new_zeros(0, 0, *factors.shape[1:])


def dense_sweep(values: Tensor, decay: Tensor, above: list[int], gate: Tensor | None = None) -> Tensor:
    """The sweep by the dense kernel; torch differentiates it.

    Shapes: values and gate :math:`(N, *, F)`, decay :math:`(F)` or :math:`(*, F)` → :math:`(N, *, F)`
    """
    factors = decay.expand(values.shape) if gate is None else decay * gate
    return (path_products(above, factors) * values.unsqueeze(0)).sum(1)
