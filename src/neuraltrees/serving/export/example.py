"""The graph that a network is traced with; any graph will do whose sizes are all above 1."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from neuraltrees.nn.encoder import Categories, Features
from neuraltrees.training.bundle import Bundle

NODES = 7


def example_graph(bundle: Bundle) -> Data:
    """A triangle with a path attached, both directions of every edge, with features of the network's form."""
    forth = torch.tensor([[0, 1, 2, 2, 3, 4, 5], [1, 2, 0, 3, 4, 5, 6]])
    edges = torch.cat([forth, forth.flip(0)], 1)
    graph = Data(x=_columns(bundle.given_features, NODES), edge_index=edges, num_nodes=NODES)
    graph.node_type = torch.arange(NODES) % len(bundle.types)
    if bundle.edge_features is not None:
        graph.edge_attr = _columns(bundle.edge_features, edges.shape[1])
    return graph


def _columns(features: Features, rows: int) -> torch.Tensor:
    assert isinstance(features, int | Categories)
    if isinstance(features, Categories):
        return torch.zeros(rows, features.width, dtype=torch.int64 if not features.numbers else torch.float32)
    return torch.linspace(0.1, 1.0, rows * features).view(rows, features)
