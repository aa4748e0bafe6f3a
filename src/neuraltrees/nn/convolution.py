"""What all convolutions share: a linear step on states, then messages along edges."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Edges:
    """The edges along which messages pass: source → target among `num_nodes` nodes.

    Shapes: index :math:`(2, E)`
    """

    index: Tensor
    num_nodes: int

    @property
    def source(self) -> Tensor:
        return self.index[0]

    @property
    def target(self) -> Tensor:
        return self.index[1]

    def degree(self, like: Tensor) -> Tensor:
        """How many edges enter every node, in the type of `like`."""
        return like.new_zeros(self.num_nodes).index_add(0, self.target, like.new_ones(self.index.shape[1]))

    def sum(self, z: Tensor, weight: Tensor | None = None) -> Tensor:
        """The sum of the neighbours' states, each message times its edge's weight.

        Shapes: z :math:`(N, *)`, weight :math:`(E)` or :math:`(E, *)` → :math:`(N, *)`
        """
        messages = z.index_select(0, self.source)
        if weight is not None:
            messages = messages * weight.view(*weight.shape, *[1] * (z.dim() - weight.dim()))
        return torch.zeros_like(z).index_add(0, self.target, messages)

    def mean(self, z: Tensor) -> Tensor:
        """The mean of the neighbours' states, zero for a node without any."""
        count = self.degree(z).clamp(min=1)
        return self.sum(z) / count.view(-1, *[1] * (z.dim() - 1))


class Convolution(nn.Module):
    """One round of AGG, in two steps.

    The linear step comes first, because it may be made on fewer states than there are tree nodes: the leaves of a graph
    node all start from its features, and bags from zero, which any `transform` leaves zero.

    Shapes: `transform` :math:`(N, *, F) → (N, *, ·)`, `propagate` back to :math:`(N, *, O)`
    """

    def transform(self, h: Tensor) -> Tensor:
        raise NotImplementedError

    def propagate(self, z: Tensor, edges: Edges) -> Tensor:
        raise NotImplementedError

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        return self.propagate(self.transform(h), edges)

    def reset_parameters(self) -> None:
        raise NotImplementedError
