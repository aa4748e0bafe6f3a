"""Messages on the graph itself: what a GNN does."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.movable import moved
from neuraltrees.nn.ensemble.backend import SCATTER, Backend
from neuraltrees.nn.messages import Messages
from neuraltrees.nn.schedule.edge_checks import check_graph_edges
from neuraltrees.nn.schedule.rounds import RoundPlan, Rounds


class GraphRounds(Rounds):
    """T rounds along the edges of the graph as they are given: `data.edge_index`, with features `data.edge_attr`."""

    def plan(self, data: Data) -> RoundPlan:
        edge_index: Tensor = data.edge_index
        backend = self.backend
        return moved(self._bound(edge_index.cpu(), int(data.num_nodes), backend), backend.device)

    def trace(self, edge_index: Tensor, kappa: Tensor | None, edge_type: Tensor | None, num_nodes: int) -> RoundPlan:
        check_graph_edges(edge_index, num_nodes)
        return self._bound(edge_index, num_nodes, SCATTER)

    def _bound(self, edge_index: Tensor, num_nodes: int, backend: Backend) -> RoundPlan:
        messages = Messages.of_edges(edge_index, num_nodes, None, self.dtype)
        rounds = tuple(conv.bind(messages, backend) for conv in self._convs())
        none = (None,) * len(rounds)
        return RoundPlan(rounds, none, None, (num_nodes,) * len(rounds), none)
