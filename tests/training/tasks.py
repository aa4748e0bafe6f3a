"""Small tasks for the tests of training."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from neuraltrees.datasets import Split, random_graph_split, random_node_split
from neuraltrees.training import NetworkSpec, Run, Task, TrainingSpec

SMALL = NetworkSpec(conv="sage", hidden=8, layers=2, heads=2)
QUICK = TrainingSpec(epochs=4, batches=3, lr=0.02, weight_decay=1e-3, every_class=False)


def paths(count: int = 12, seed: int = 0) -> list[Data]:
    """Paths and triangles of two node types whose labels depend on a neighbour."""
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for number in range(count):
        size = 3 + number % 4
        index = torch.arange(size - 1)
        edges = torch.stack([index, index + 1])
        if number % 3 == 0:
            edges = torch.cat([edges, torch.tensor([[0], [2]])], 1)
        x = torch.randn(size, 5, generator=generator)
        kinds = (torch.arange(size) > 0).long()
        labels = torch.where(kinds == 0, (x[:, 0] > 0).long(), (x[:, 0] > 0).long() + (x.roll(1, 0)[:, 0] > 0).long())
        graphs.append(Data(x=x, y=labels, node_type=kinds, edge_index=torch.cat([edges, edges.flip(0)], 1)))
    return graphs


def small_task(count: int = 12) -> Task:
    return Task(paths(count), {"first": ("no", "yes"), "other": ("none", "one", "both")})


def small_runs(task: Task, seeds: list[int]) -> list[Run]:
    return [Run(seed, random_node_split(task.num_nodes, seed=seed)) for seed in seeds]


def whole_graphs(task: Task, seed: int = 0) -> Split:
    return random_graph_split([graph.num_nodes for graph in task.graphs], seed=seed)
