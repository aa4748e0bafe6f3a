"""The messages of one round: which states before the round flow into each state after it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from neuraltrees.nn.ensemble.scatter import sum_rows
from neuraltrees.nn.ensemble.sparse import Coefficients


@dataclass(frozen=True)
class Numbers:
    """Where a process computes a part of a graph or tree: the numbers of its messages and states in the whole, which
    determine random numbers such as dropout.

    Args:
        message: the number of every message.
        state: the number of every state after the round.
        count: number of messages of the whole.

    Shapes: message :math:`(E)`, state :math:`(M)`
    """

    message: Tensor
    state: Tensor
    count: int

    @property
    def both(self) -> Tensor:
        """The numbers of messages, then those of states, counted after all messages. Shapes: :math:`(E + M)`"""
        return torch.cat([self.message, self.count + self.state])


@dataclass(frozen=True)
class Messages:
    """The messages from the states before a round to those after it.

    A state may stand for several equal ones; a message then counts once per equal neighbour that sends it.

    Args:
        source, target: the state before the round that sends and the state after it that receives each message.
        count: how many equal neighbours send it.
        relation: its edge type, from 0.
        own: for every state after the round, the same node's state before it.
        degree: number of neighbours of every receiving state.
        source_degree: number of neighbours of every sending state.
        zero: whether the last state before the round is zero and omitted from the tensor of states.
        edge: the row of edge features that each message carries; the last row is zero and omitted from the tensor of
            features. None where messages carry none.
        num_edge_rows: number of rows of edge features, including the zero row.
        numbers: see `Numbers`; None for a whole graph or tree.
        start: where the messages to every state begin, if they are sorted by target; else None.

    Shapes: source, target, count, relation and edge :math:`(E)`, own, degree and start :math:`(M)`, source_degree
    :math:`(N)`
    """

    source: Tensor
    target: Tensor
    count: Tensor
    relation: Tensor
    own: Tensor
    degree: Tensor
    source_degree: Tensor
    zero: bool = False
    edge: Tensor | None = None
    num_edge_rows: int = 0
    numbers: Numbers | None = None
    start: Tensor | None = None

    @classmethod
    def of_edges(
        cls, edge_index: Tensor, num_nodes: int, relation: Tensor | None = None, dtype: torch.dtype | None = None
    ) -> Messages:
        """A message along every edge of a graph, with one state per node and one row of edge features per edge.

        >>> Messages.of_edges(torch.tensor([[0, 1], [1, 2]]), 3).degree.tolist()
        [0.0, 1.0, 1.0]
        """
        source, target = edge_index[0], edge_index[1]
        count = torch.ones_like(source, dtype=dtype or torch.get_default_dtype())
        degree = sum_rows(count, target, num_nodes)
        relation = torch.zeros_like(source) if relation is None else relation
        own = torch.arange(num_nodes, device=edge_index.device)
        edge = torch.arange(source.shape[0], device=edge_index.device)
        return cls(source, target, count, relation, own, degree, degree, edge=edge, num_edge_rows=source.shape[0] + 1)

    def from_leaves(self, kappa: Tensor, num_nodes: int) -> Messages:
        """The same messages in the first round, where a leaf has the state of its graph node and bags have state zero.

        Shapes: kappa :math:`(N)`
        """
        state = torch.where(kappa < 0, num_nodes, kappa)
        # A leaf has one neighbour; the degree of a zero state does not matter.
        degree = self.degree.new_ones(num_nodes + 1)
        return replace(self, source=state[self.source], own=state, source_degree=degree, zero=True)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of states after and before the round."""
        return self.own.shape[0], self.source_degree.shape[0]

    @property
    def num_messages(self) -> int:
        return self.source.shape[0]

    def neighbours(self, weight: Tensor | None = None, relation: int | None = None) -> Coefficients:
        """The weighted sum of the neighbours' states, over all edges or those of one type.

        Shapes: weight :math:`(E)`
        """
        return self._coefficients(self.target, self.source, self._value(weight, relation), start=self.start)

    def selves(self, weight: Tensor | None = None) -> Coefficients:
        """Every state's own state before the round, times a weight.

        Shapes: weight :math:`(M)`
        """
        value = torch.ones_like(self.degree) if weight is None else weight
        row = torch.arange(self.own.shape[0], device=self.own.device)
        return self._coefficients(row, self.own, value, start=row)

    def edges(self, weight: Tensor | None = None) -> Coefficients:
        """The weighted sum of the edge features that the messages to a state carry.

        Shapes: weight :math:`(E)`
        """
        return self._edge_coefficients(self.target, self._value(weight, None), self.shape[0], self.start)

    def received(self, relation: int | None = None) -> Coefficients:
        """The sum of the messages that every state receives, over all edges or those of one type."""
        row = torch.arange(self.num_messages, device=self.source.device)
        return Coefficients(self.target, row, self._value(None, relation), (self.shape[0], self.num_messages))

    def sent(self) -> Coefficients:
        """The state that every message comes from."""
        row = torch.arange(self.num_messages, device=self.source.device)
        return self._coefficients(row, self.source, torch.ones_like(self.count), self.num_messages)

    def carried(self) -> Coefficients:
        """The edge features that every message carries."""
        row = torch.arange(self.num_messages, device=self.source.device)
        return self._edge_coefficients(row, torch.ones_like(self.count), self.num_messages)

    def _value(self, weight: Tensor | None, relation: int | None) -> Tensor:
        value = self.count if weight is None else self.count * weight
        if relation is not None:  # a factor, not a selection, so that shapes do not depend on the values of tensors
            value = value * (self.relation == relation)
        return value

    def _coefficients(
        self, row: Tensor, col: Tensor, value: Tensor, rows: int | None = None, start: Tensor | None = None
    ) -> Coefficients:
        entries = Coefficients(row, col, value, (self.shape[0] if rows is None else rows, self.shape[1]), start)
        return entries.without_last_column() if self.zero else entries

    def _edge_coefficients(self, row: Tensor, value: Tensor, rows: int, start: Tensor | None = None) -> Coefficients:
        assert self.edge is not None
        return Coefficients(row, self.edge, value, (rows, self.num_edge_rows), start).without_last_column()
