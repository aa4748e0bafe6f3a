"""Small graphs of all kinds, with features, for the tests of rounds on bags."""

from __future__ import annotations

import networkx as nx
import torch
from torch_geometric.data import Batch, Data

import neuraltrees as nt
from neuraltrees.data import HTreeData

FEATURES, EDGE_FEATURES = 3, 2
CANONICAL = {"method": "canonical", "terminal": "bag"}
PAPER = {"method": "min_fill", "terminal": "clique"}


def naphthalene_with_tail() -> nx.Graph:
    """Two hexagons with a common edge, a chain of two and a triangle at its end."""
    graph = nx.cycle_graph(10)
    graph.add_edges_from([(0, 5), (2, 10), (10, 11), (11, 12), (12, 13), (13, 11)])
    return graph


SHAPES: dict[str, nx.Graph] = {
    "molecule": naphthalene_with_tail(),
    "one node": nx.empty_graph(1),
    "isolated nodes": nx.empty_graph(3),
    "edge": nx.path_graph(2),
    "tree": nx.balanced_tree(2, 2),
    "cycle": nx.cycle_graph(5),
    "K4": nx.complete_graph(4),
    "theta": nx.Graph([(0, 2), (2, 1), (0, 3), (3, 1), (0, 4), (4, 5), (5, 1)]),
    "Petersen": nx.petersen_graph(),
    "two components": nx.disjoint_union(nx.cycle_graph(4), nx.path_graph(3)),
}


def featured(graph: nx.Graph, seed: int = 0, symmetric: bool = False, edge_features: bool = True) -> Data:
    """The graph with random features in float64; those of the two directions of an edge differ unless `symmetric`."""
    draw = torch.Generator().manual_seed(seed)
    edges = torch.tensor(list(graph.edges), dtype=torch.int64).reshape(-1, 2).t()
    nodes = graph.number_of_nodes()
    data = Data(x=torch.randn(nodes, FEATURES, generator=draw, dtype=torch.float64), num_nodes=nodes)
    data.edge_index = torch.cat([edges, edges.flip(0)], 1)
    if edge_features:
        one = torch.randn(2 * edges.shape[1], EDGE_FEATURES, generator=draw, dtype=torch.float64)
        half = one[: edges.shape[1]]
        data.edge_attr = torch.cat([half, half]) if symmetric else one
    data.y = torch.randn(1, 1, generator=draw)
    return data


def with_tree(data: Data, settings: dict[str, str] = CANONICAL) -> HTreeData:
    return nt.ToHTree(**settings)(data)  # type: ignore[arg-type]


def batch_of(names: list[str] | None = None, settings: dict[str, str] = CANONICAL, edge_features: bool = True) -> Batch:
    """The graphs of these names as one batch with H-trees."""
    chosen = list(SHAPES) if names is None else names
    listed = [featured(SHAPES[name], seed, edge_features=edge_features) for seed, name in enumerate(chosen)]
    return Batch.from_data_list([with_tree(each, settings) for each in listed])


def permuted(data: Data, seed: int) -> Data:
    """The same graph with its nodes and its edges in another order."""
    draw = torch.Generator().manual_seed(seed)
    order, edges = (torch.randperm(n, generator=draw) for n in (data.num_nodes, data.edge_index.shape[1]))
    place = torch.empty_like(order).index_copy_(0, order, torch.arange(len(order)))
    new = Data(x=data.x[order], edge_index=place[data.edge_index][:, edges], num_nodes=data.num_nodes, y=data.y)
    if data.edge_attr is not None:
        new.edge_attr = data.edge_attr[edges]
    return new
