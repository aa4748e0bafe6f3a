"""The messages of one round: which earlier states flow into each state."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from neuraltrees.nn.ensemble.sparse import Coefficients


@dataclass(frozen=True)
class Links:
    """The messages from the states before a round to those after it.

    A state may stand for several equal ones, so a message counts as often as equal neighbours send it.

    Args:
        source, target: the earlier state that sends and the state that receives each message.
        count: how many equal neighbours send it.
        relation: its edge type, from 0.
        own: the earlier state of every receiving state itself.
        degree: number of neighbours of every receiving state.
        source_degree: number of neighbours of every sending state.
        zero: whether the last of the earlier states is zero, and left out where these are passed on.

    Shapes: source, target, count and relation :math:`(E)`, own and degree :math:`(M)`, source_degree :math:`(N)`
    """

    source: Tensor
    target: Tensor
    count: Tensor
    relation: Tensor
    own: Tensor
    degree: Tensor
    source_degree: Tensor
    zero: bool = False

    @classmethod
    def of_edges(
        cls, edge_index: Tensor, num_nodes: int, relation: Tensor | None = None, dtype: torch.dtype | None = None
    ) -> Links:
        """A message along every edge of a graph, each node a state of its own.

        >>> Links.of_edges(torch.tensor([[0, 1], [1, 2]]), 3).degree.tolist()
        [0.0, 1.0, 1.0]
        """
        source, target = edge_index[0], edge_index[1]
        count = torch.ones_like(source, dtype=dtype or torch.get_default_dtype())
        degree = count.new_zeros(num_nodes).index_add(0, target, count)
        relation = torch.zeros_like(source) if relation is None else relation
        own = torch.arange(num_nodes, device=edge_index.device)
        return cls(source, target, count, relation, own, degree, degree)

    def from_leaves(self, kappa: Tensor, num_nodes: int) -> Links:
        """The same messages in the first round, where a leaf has the state of its graph node and all bags have zero.

        Shapes: kappa :math:`(N)`
        """
        state = torch.where(kappa < 0, num_nodes, kappa)
        # A leaf has one neighbour; how many a state of zero has does not matter.
        degree = self.degree.new_ones(num_nodes + 1)
        return replace(self, source=state[self.source], own=state, source_degree=degree, zero=True)

    @property
    def shape(self) -> tuple[int, int]:
        """How many states there are after and before the round."""
        return self.own.shape[0], self.source_degree.shape[0]

    def neighbours(self, weight: Tensor | None = None, relation: int | None = None) -> Coefficients:
        """The sum of the neighbours' states times a weight each, of all edges or of one type.

        Shapes: weight :math:`(E)`
        """
        value = self.count if weight is None else self.count * weight
        if relation is not None:  # a factor and not a selection, so that no shape depends on what the tensors hold
            value = value * (self.relation == relation)
        return self._coefficients(self.target, self.source, value)

    def selves(self, weight: Tensor | None = None) -> Coefficients:
        """Every state's own earlier one, times a weight.

        Shapes: weight :math:`(M)`
        """
        value = torch.ones_like(self.degree) if weight is None else weight
        row = torch.arange(self.own.shape[0], device=self.own.device)
        return self._coefficients(row, self.own, value)

    def _coefficients(self, row: Tensor, col: Tensor, value: Tensor) -> Coefficients:
        entries = Coefficients(row, col, value, self.shape)
        return entries.without_last_column() if self.zero else entries
