"""Maps between the nodes of a graph and the leaves of its H-tree."""

from __future__ import annotations

import torch
from torch import Tensor

from neuraltrees.nn.ensemble.scatter import sum_rows
from neuraltrees.nn.ensemble.sparse import Coefficients, ScatterMap


def lift_to_leaves(z: Tensor, kappa: Tensor) -> Tensor:
    r"""The initial states of message passing: :math:`h^0_l = z_{κ(l)}` on leaves and 0 on bags.

    Shapes: z :math:`(n, *)`, kappa :math:`(N)` → :math:`(N, *)`

    >>> lift_to_leaves(torch.tensor([[1.0], [2.0]]), torch.tensor([-1, 1, 0, 1])).flatten().tolist()
    [0.0, 2.0, 1.0, 2.0]
    """
    padded = torch.cat([z, z.new_zeros(1, *z.shape[1:])])
    return padded.index_select(0, torch.where(kappa < 0, z.shape[0], kappa))


def pool_leaves(h: Tensor, kappa: Tensor, num_nodes: int) -> Tensor:
    r"""Mean state of the leaves of each graph node: :math:`y_v = \mathrm{mean}\{h_l : κ(l) = v\}` (COMB).

    Shapes: h :math:`(N, *)`, kappa :math:`(N)` → :math:`(n, *)`

    >>> pool_leaves(torch.tensor([[9.0], [2.0], [1.0], [4.0]]), torch.tensor([-1, 1, 0, 1]), 2).flatten().tolist()
    [1.0, 3.0]
    """
    return ScatterMap(pooling(kappa, num_nodes, h.dtype))(h)


def pooling(kappa: Tensor, num_nodes: int, dtype: torch.dtype) -> Coefficients:
    """The map of `pool_leaves`; no shape depends on the values, so a bag is an entry of value zero.

    Shapes: kappa :math:`(N)`
    """
    leaf = (kappa >= 0).to(dtype)
    node = kappa.clamp(min=0)
    count = sum_rows(leaf, node, num_nodes)
    value = leaf / count.clamp(min=1)[node]
    return Coefficients(node, torch.arange(kappa.shape[0], device=kappa.device), value, (num_nodes, kappa.shape[0]))
