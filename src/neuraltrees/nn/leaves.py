"""Between the nodes of a graph and the leaves of its H-tree."""

from __future__ import annotations

import torch
from torch import Tensor


def lift_to_leaves(z: Tensor, kappa: Tensor) -> Tensor:
    r"""The start of message passing: :math:`h^0_l = z_{κ(l)}` on leaves and 0 on bags.

    Shapes: z :math:`(n, *)`, kappa :math:`(N)` → :math:`(N, *)`

    >>> lift_to_leaves(torch.tensor([[1.0], [2.0]]), torch.tensor([-1, 1, 0, 1])).flatten().tolist()
    [0.0, 2.0, 1.0, 2.0]
    """
    padded = torch.cat([z, z.new_zeros(1, *z.shape[1:])])
    return padded.index_select(0, _slots(kappa, z.shape[0]))


def pool_leaves(h: Tensor, kappa: Tensor, num_nodes: int) -> Tensor:
    r"""Mean state of the leaves of each graph node: :math:`y_v = \mathrm{mean}\{h_l : κ(l) = v\}` (COMB).

    Shapes: h :math:`(N, *)`, kappa :math:`(N)` → :math:`(n, *)`

    >>> pool_leaves(torch.tensor([[9.0], [2.0], [1.0], [4.0]]), torch.tensor([-1, 1, 0, 1]), 2).flatten().tolist()
    [1.0, 3.0]
    """
    slots = _slots(kappa, num_nodes)
    total = h.new_zeros(num_nodes + 1, *h.shape[1:]).index_add(0, slots, h)[:num_nodes]
    count = h.new_zeros(num_nodes + 1).index_add(0, slots, h.new_ones(h.shape[0]))[:num_nodes]
    return total / count.clamp(min=1).view(-1, *[1] * (h.dim() - 1))


def _slots(kappa: Tensor, num_nodes: int) -> Tensor:
    """The graph node of a leaf, and one place past the last for all bags: no shape depends on what the tensor holds."""
    return torch.where(kappa < 0, num_nodes, kappa)
