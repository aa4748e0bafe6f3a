"""Small trained networks of every kind that can be exported, and graphs for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.data.scaling import Scaling
from neuraltrees.datasets import random_graph_split
from neuraltrees.objectives import Classification
from neuraltrees.training import NetworkSpec, Run, Task, TrainingSpec, fit

CONVS = ("gcn", "sage", "gat", "gin")
QUICK = TrainingSpec(epochs=2, batches=1, lr=0.02, every_class=False)


@dataclass(frozen=True)
class Kind:
    """A network and a head: edge features, relations and several members where they are marked."""

    name: str
    model: str
    level: str
    edges: bool = False
    relations: bool = False
    members: int = 1
    start: str | None = None


KINDS = (
    Kind("tree nodes", "neural-tree", "node", relations=True, members=2),
    Kind("tree graphs", "neural-tree", "graph", edges=True),
    Kind("tree from means", "neural-tree", "graph", edges=True, start="mean"),
    Kind("gnn nodes", "gnn", "node", edges=True),
    Kind("gnn graphs", "gnn", "graph", members=2),
)


def graphs(kind: Kind, count: int = 12) -> list[Data]:
    found = []
    for number in range(count):
        graph = sparse_graph(5 + number, number, edges=kind.edges, types=2 if kind.level == "node" else 1)
        graph.y = graph.node_type + (graph.x[:, 0] > 0).long() if kind.level == "node" else torch.tensor(number % 2)
        found.append(graph)
    return found


def sparse_graph(nodes: int, seed: int, edges: bool = False, types: int = 2) -> Data:
    """A random graph of treewidth at most 3: every node is joined to up to two of the three before it."""
    draw = torch.Generator().manual_seed(seed)
    pairs = []
    for v in range(1, nodes):
        count = int(torch.randint(0, 3, (1,), generator=draw))
        pairs += [(v - 1 - back, v) for back in torch.randperm(min(v, 3), generator=draw)[:count].tolist()]
    forth = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).t()
    graph = Data(
        x=torch.rand(nodes, 5, generator=draw) + 0.1,
        edge_index=torch.cat([forth, forth.flip(0)], 1),
        node_type=torch.arange(nodes) % types,
        num_nodes=nodes,
    )
    if edges:
        graph.edge_attr = torch.rand(graph.edge_index.shape[1], 3, generator=draw)
    return graph


def random_graph(nodes: int, bundle: nt.Bundle, seed: int = 0) -> Data:
    return sparse_graph(nodes, seed, bundle.edge_features is not None, len(bundle.types))


@cache
def trained(conv: str, kind: Kind) -> nt.Bundle:
    """A network of this kind after two epochs, with scaled features."""
    of_kind = graphs(kind)
    per_node = kind.level == "node"
    labels = {"even": ("low", "high", "never"), "odd": ("none", "low", "high")} if per_node else ("no", "yes")
    scaling = Scaling.fit(of_kind, logarithm=(1,), squares=True, types=2 if per_node else 1)
    objective = Classification(labels, level=kind.level)
    task = Task([scaling.apply(graph) for graph in of_kind], objective, scaling=scaling)
    options = {"relations": kind.relations, "bag_start": kind.start}
    spec = NetworkSpec(model=kind.model, conv=conv, hidden=8, layers=3, heads=2, **options)
    sizes = [graph.num_nodes if per_node else 1 for graph in of_kind]
    runs = [Run(seed, random_graph_split(sizes, seed=seed)) for seed in range(kind.members)]
    return nt.Bundle.of(fit(task, spec, QUICK, runs), list(range(kind.members)))
