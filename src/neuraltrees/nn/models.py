"""The neural tree and its baselines: the same network on the graph itself, and an MLP of the features alone."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from neuraltrees.nn.ensemble.sparse import SparseMap
from neuraltrees.nn.head import Places
from neuraltrees.nn.input_checks import check_plan_alone, check_types
from neuraltrees.nn.network import Network
from neuraltrees.nn.plan import Plan
from neuraltrees.nn.schedule import FeatureLayers, GraphRounds, TreeRounds


class NeuralTree(Network):
    """Message passing on the H-tree of a graph.

    Leaves start with the features of their graph nodes, and bags with zero or, by `bag_start`, with the mean or sum of
    their nodes' features. After T rounds, the state of a graph node is the mean over its leaves.

    >>> import torch
    >>> from torch_geometric.data import Data
    >>> import neuraltrees as nt
    >>> tree = nt.build_htree(nt.Graph([[0, 1, 2], [1, 2, 0]]))
    >>> model = NeuralTree(in_channels=6, hidden_channels=8, out_channels=4, num_layers=2)
    >>> model(torch.randn(3, 6), tree.edge_index, tree.kappa).shape
    torch.Size([3, 4])

    With a plan of the tree, made once, the same answers are much faster:

    >>> data = nt.ToHTree()(Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=3))
    >>> model(torch.randn(3, 6), model.plan(data)).shape
    torch.Size([3, 4])
    """

    default_layers = 4
    default_schedule = TreeRounds

    def forward(
        self,
        x: Tensor | SparseMap,
        edge_index: Tensor | Plan | None = None,
        kappa: Tensor | None = None,
        node_type: Tensor | None = None,
        edge_type: Tensor | None = None,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
        members: Tensor | None = None,
    ) -> Tensor:
        """The answers: per node, or per graph if the head answers per graph.

        A plan holds the structure, the node types and the graphs, so that only `x`, the plan and `edge_attr` are
        passed. Sparse features may be passed as `SparseMap.of_features(x)`, made once: torch sorts its own sparse
        tensors again for the gradient of every step.

        Args:
            x: features of the graph nodes, dense or sparse; they are never copied to the leaves.
            edge_index: both directions of the H-tree's edges, or a plan.
            kappa: graph node of every leaf, -1 for bags.
            node_type: type of every graph node, if types have encoders or readouts of their own.
            edge_type: type of every tree edge, with `relations`.
            edge_attr: with a plan, the features of the graph's edges; else those of the tree's edges.
            batch: the graph of every graph node, if there are several and the head answers per graph.
            num_graphs: number of graphs; by default computed from `batch`, which waits for a GPU.
            members: every tree node with each graph node in its bag (`HTree.members`), if bags do not start at zero.

        Shapes: x :math:`(n, F)` or :math:`(n, R, F)`, edge_index :math:`(2, E)`, kappa :math:`(N)`, node_type and batch
        :math:`(n)`, edge_type :math:`(E)`, edge_attr :math:`(m, D)`, members :math:`(2, I)` → :math:`(n, C)` or
        :math:`(n, R, C)`, and :math:`(G, C)` or :math:`(G, R, C)` per graph
        """
        if isinstance(edge_index, Plan):
            check_plan_alone(kappa=kappa, node_type=node_type, edge_type=edge_type, batch=batch)
            return self.answers(x, edge_index, edge_attr)
        given = {} if members is None else {"members": members}
        rounds = self._traced_rounds(x, edge_index, kappa, edge_type, **given)
        return self.answers(x, _traced(self, rounds, node_type, batch, num_graphs), edge_attr)


class GNN(Network):
    """The baseline: the same network with messages on the graph itself, along its edges in the given directions.

    >>> import torch
    >>> model = GNN(in_channels=6, hidden_channels=8, out_channels=4, num_layers=2, conv="gcn")
    >>> model(torch.randn(3, 6), torch.tensor([[0, 1], [1, 0]])).shape
    torch.Size([3, 4])
    """

    default_layers = 3
    default_schedule = GraphRounds
    has_relations = False

    def forward(
        self,
        x: Tensor | SparseMap,
        edge_index: Tensor | Plan | None = None,
        node_type: Tensor | None = None,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
    ) -> Tensor:
        """The answers, per node or per graph; see `NeuralTree.forward`.

        Shapes: x :math:`(n, F)` or :math:`(n, R, F)`, edge_index :math:`(2, m)`, node_type and batch :math:`(n)`,
        edge_attr :math:`(m, D)` → :math:`(n, C)` or :math:`(n, R, C)`; :math:`(G, C)` or :math:`(G, R, C)` per graph
        """
        if isinstance(edge_index, Plan):
            check_plan_alone(node_type=node_type, batch=batch)
            return self.answers(x, edge_index, edge_attr)
        rounds = self._traced_rounds(x, edge_index)
        return self.answers(x, _traced(self, rounds, node_type, batch, num_graphs), edge_attr)


class MLP(Network):
    """The baseline without messages: one linear layer per round, applied to every node by itself.

    It has the options of the other networks; `conv`, `heads`, `relations` and `merge`, which concern messages, have no
    effect, and it reads no edge features.

    >>> import torch
    >>> model = MLP(in_channels=6, hidden_channels=8, out_channels=4, num_layers=2)
    >>> model(torch.randn(3, 6)).shape
    torch.Size([3, 4])
    """

    default_layers = 3
    default_schedule = FeatureLayers
    has_relations = False

    def forward(
        self,
        x: Tensor | SparseMap,
        edge_index: Tensor | Plan | None = None,
        node_type: Tensor | None = None,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
    ) -> Tensor:
        """The answers, per node or per graph; see `NeuralTree.forward`. Edges have no effect.

        Shapes: x :math:`(n, F)` or :math:`(n, R, F)`, node_type and batch :math:`(n)` → :math:`(n, C)` or
        :math:`(n, R, C)`; :math:`(G, C)` or :math:`(G, R, C)` per graph
        """
        if isinstance(edge_index, Plan):
            check_plan_alone(node_type=node_type, batch=batch)
            return self.answers(x, edge_index, edge_attr)
        edges = torch.zeros(2, 0, dtype=torch.int64) if edge_index is None else edge_index
        rounds = self._traced_rounds(x, edges)
        return self.answers(x, _traced(self, rounds, node_type, batch, num_graphs), edge_attr)


def _traced(
    network: Network, rounds: Any, node_type: Tensor | None, batch: Tensor | None, num_graphs: int | None
) -> Plan:
    """The plan of plain tensors."""
    check_types(network, node_type)
    if num_graphs is None:
        num_graphs = 1 if batch is None else int(batch.max()) + 1 if batch.numel() else 0
    return Plan(rounds, Places(node_type, batch, num_graphs), node_type)
