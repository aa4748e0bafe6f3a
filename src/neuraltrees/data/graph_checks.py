"""Checks that graphs have the features, edges and node types of a task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import BaseData

from neuraltrees.checks import check_data
from neuraltrees.data.features import check_features
from neuraltrees.data.htree_data import HTreeData
from neuraltrees.errors import InputError
from neuraltrees.nn.encoder import Categories, Features


def check_graph(graph: Data, features: Features, edge_features: int | Categories | None, types: Sequence[str]) -> None:
    """Raises `InputError` unless a graph has finite features of the right form, valid edges and node types."""
    check_data(graph)
    for name in ("x", "edge_index", "node_type"):
        value = graph.get(name)
        if value is not None and not isinstance(value, Tensor):
            raise InputError(f"Expected {name} as a tensor; got {type(value).__name__}. Use torch.as_tensor.")
    if isinstance(graph, HTreeData):
        _ = graph.htree  # raises an error if the tree is that of another graph
    count = graph.x.shape[0] if isinstance(graph.x, Tensor) and graph.x.dim() else 0
    if len(types) > 1 and graph.get("node_type") is None:
        raise InputError(f"Expected node_type, since there are the types {', '.join(types)}; got none.")
    kinds = type_of(graph, types)
    if kinds.is_floating_point() or kinds.dtype == torch.bool:
        raise InputError(f"Expected node_type as integers; got {kinds.dtype}. Use node_type.long().")
    if isinstance(graph.x, Tensor) and (
        kinds.shape != (count,) or (count and not 0 <= int(kinds.min()) <= int(kinds.max()) < len(types))
    ):
        raise InputError(
            f"Expected a node_type for each of {count} nodes, below {len(types)} ({', '.join(types)}); "
            f"got {kinds.tolist()[:8]}."
        )
    check_features(graph, features, None, kinds)
    _check_edges(graph.edge_index, count)
    check_features(graph, features, edge_features, kinds)


def _check_edges(edge_index: Tensor | None, num_nodes: int) -> None:
    if edge_index is None or edge_index.dim() != 2 or edge_index.shape[0] != 2 or edge_index.dtype != torch.int64:
        came = "none" if edge_index is None else f"{edge_index.dtype} of shape {tuple(edge_index.shape)}"
        raise InputError(f"Expected edge_index as int64 of shape (2, E); got {came}.")
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < num_nodes:
        end = int(edge_index.max()) if int(edge_index.max()) >= num_nodes else int(edge_index.min())
        raise InputError(f"Expected edges between the nodes 0 to {num_nodes - 1}; got one at node {end}.")


def listed(graphs: Iterable[Data]) -> list[Data]:
    """The graphs as a list; anything else raises `InputError`."""
    if isinstance(graphs, BaseData) or not isinstance(graphs, Iterable):
        raise InputError(
            f"Expected a list of graphs; got {type(graphs).__name__}. Put a single one in brackets: [graph]."
        )
    found = list(graphs)
    for graph in found:
        check_data(graph)
    return found


def type_of(graph: Data, types: Sequence[str]) -> Tensor:
    """The node types of a graph; all 0 if there is only one type, or if the graph has no `node_type`."""
    kinds: Tensor | None = graph.get("node_type") if len(types) > 1 else None
    if kinds is None:
        return torch.zeros(graph.num_nodes, dtype=torch.int64)
    return kinds if kinds.is_floating_point() or kinds.dtype == torch.bool else kinds.long()
