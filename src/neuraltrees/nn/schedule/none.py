"""No rounds: the head reads the features of nodes directly."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.nn.ensemble.sparse import SparseMap
from neuraltrees.nn.schedule.schedule import Body, Schedule


class NoRounds(Schedule):
    """The states of nodes are their features. With a linear head this is logistic regression, with a `CRFHead` a
    classical conditional random field.

    Shapes: :math:`(n, *, F) → (n, *, F)`
    """

    def __init__(self, body: Body) -> None:
        super().__init__(body)
        self.width = body.in_channels

    def plan(self, data: Data) -> Any:
        return None

    def trace(self, edge_index: Tensor, kappa: Tensor | None, edge_type: Tensor | None, num_nodes: int) -> Any:
        return None

    def forward(self, x: Tensor | SparseMap, plan: Any, edges: Tensor | None = None) -> Tensor:
        if not isinstance(x, Tensor):
            raise InputError(
                "Expected dense features for a head that reads them directly; got sparse ones. Use x.to_dense()."
            )
        h = x
        if self.body.runs is not None and h.dim() == 2:
            return h.unsqueeze(1).expand(-1, self.body.runs, -1)
        return h

    def activation(self, h: Tensor) -> Tensor:
        return h


class HiddenLayer(NoRounds):
    """The states of nodes are their encoded features after an activation. With an encoder per node type and a head,
    this is a network with one hidden layer that sees each node by itself.
    """

    def activation(self, h: Tensor) -> Tensor:
        return h.relu()
