"""Messages on the graph itself: what a GNN does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.movable import moved
from neuraltrees.nn.ensemble.backend import SCATTER, Backend
from neuraltrees.nn.messages import Messages, Numbers
from neuraltrees.nn.parallel import Array, Group, Part, RoundPart, cost_of_state, first_round, forest_parts, later_round
from neuraltrees.nn.parallel.rounds import own_edge_rows
from neuraltrees.nn.schedule.edge_checks import check_graph_edges
from neuraltrees.nn.schedule.rounds import RoundPlan, Rounds
from neuraltrees.nn.schedule.tree import htree_of
from neuraltrees.nn.schedule.tree_parts import first_leaves


class GraphRounds(Rounds):
    """T rounds along the edges of the graph in their given directions (`data.edge_index`, `data.edge_attr`)."""

    def plan(self, data: Data) -> RoundPlan:
        edge_index: Tensor = data.edge_index
        backend = self.backend
        return moved(self._bound(edge_index.cpu(), int(data.num_nodes), backend), backend.device)

    def part(self, data: Data, group: Group) -> tuple[RoundPlan, Part]:
        """A node belongs to the part of the H-tree that holds its first leaf, so that few edges run between parts."""
        if self.external:
            return super().part(data, group)
        n, backend, rank = int(data.num_nodes), self.backend, group.rank
        messages = Messages.of_edges(data.edge_index.cpu(), n, None, self.dtype)
        numbers = Numbers(torch.arange(messages.num_messages), torch.arange(n), messages.num_messages)
        messages = replace(messages, numbers=numbers)
        owner = node_parts(data, messages.degree.numpy() + cost_of_state(self.body.hidden_channels), group.size)
        owned = (owner == rank).nonzero()[0]
        first, nodes, _ = first_round(messages, owner, owned, group)
        later, halo = later_round(messages, owner, owner, group)
        rounds, edges = own_edge_rows([first, *[later] * (len(self.convs) - 1)])
        bound = tuple(conv.bind(each, backend) for conv, each in zip(self._convs(), rounds, strict=True))
        here, none = torch.from_numpy(owned), (None,) * len(bound)
        exchanged = RoundPart(group, (halo,) * (len(bound) - 1), (here,) * len(bound))
        plan = RoundPlan(bound, none, None, (len(owned),) * len(bound), none, part=exchanged)
        read = (torch.from_numpy(each) for each in (nodes, owned, edges, owner))
        return moved(plan, backend.device), Part(group, *read)

    def trace(self, edge_index: Tensor, kappa: Tensor | None, edge_type: Tensor | None, num_nodes: int) -> RoundPlan:
        check_graph_edges(edge_index, num_nodes)
        return self._bound(edge_index, num_nodes, SCATTER)

    def _bound(self, edge_index: Tensor, num_nodes: int, backend: Backend) -> RoundPlan:
        messages = Messages.of_edges(edge_index, num_nodes, None, self.dtype)
        rounds = tuple(conv.bind(messages, backend) for conv in self._convs())
        none = (None,) * len(rounds)
        return RoundPlan(rounds, none, None, (num_nodes,) * len(rounds), none)


def node_parts(data: Data, weight: NDArray[np.float64], parts: int) -> Array:
    """The part of every graph node: that of its first leaf in the H-tree, which is cut by the weights of the nodes.

    Shapes: weight :math:`(n)` → :math:`(n)`
    """
    tree = htree_of(data)
    first = first_leaves(tree.kappa.cpu().numpy(), len(weight))
    at_leaf = np.zeros(tree.num_nodes)
    at_leaf[first] = weight
    return forest_parts(tree.edge_index.cpu(), at_leaf, parts)[first]
