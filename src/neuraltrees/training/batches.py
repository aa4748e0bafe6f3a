"""Batches of whole graphs: every tree is planned once and computed once an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from neuraltrees.data import HTreeData
from neuraltrees.data.task import Task, concatenated, type_of
from neuraltrees.nn import GNN, NeuralTree
from neuraltrees.nn.ensemble.sparse import SparseMap
from neuraltrees.nn.models import Network, Plan


@dataclass(frozen=True)
class Portion:
    """Some graphs, ready for a network.

    Args:
        nodes: their nodes, by their place among those of all graphs.
        x, y, node_type: features, labels and types of these nodes.
        plan: the rounds of the network on them.

    Shapes: nodes, y and node_type :math:`(n)`, x :math:`(n, F)`
    """

    nodes: Tensor
    x: Tensor | SparseMap
    y: Tensor
    node_type: Tensor
    plan: Plan


def divide(task: Task, count: int, number: int = 0) -> list[list[int]]:
    """The graphs of every batch: equal in number of graphs and alike in number of nodes.

    There are as many ways to divide as there are numbers. A training uses one or a few of them, in an order of batches
    that changes; so their trees are planned once. Batches hold all graphs, whichever train: so they are the same for
    any runs. What is not labelled for training takes part in the statistics of batch norm alone.
    """
    draw = torch.Generator().manual_seed(number)
    sizes = torch.tensor([graph.num_nodes for graph in task.graphs])
    batches: list[list[int]] = [[] for _ in range(min(count, len(sizes)))]
    by_size = sizes.argsort(stable=True, descending=True).tolist()
    by_size = [graph for graph in by_size if sizes[graph] > 0] or by_size[:1]
    batches = batches[: len(by_size)]
    for turn, start in enumerate(range(0, len(by_size), len(batches))):
        order = by_size[start : start + len(batches)]
        if number:
            order = [order[i] for i in torch.randperm(len(order), generator=draw).tolist()]
        for batch, graph in zip(batches, order if turn % 2 == 0 else reversed(order), strict=False):
            batch.append(graph)
    return [sorted(batch) for batch in batches]


def portion(graphs: Sequence[Data], network: Network, merge: bool, nodes: Tensor, device: torch.device) -> Portion:
    """Graphs joined into one, with the network's plan of it."""
    joined = graphs[0] if len(graphs) == 1 else Batch.from_data_list([_bare(graph) for graph in graphs])
    if isinstance(network, NeuralTree):
        tree = cast(HTreeData, joined).htree
        plan = network.plan(tree.edge_index, tree.kappa, tree.edge_type, merge=merge)
    else:
        plan = cast(GNN, network).plan(joined.edge_index, joined.num_nodes)
    labelled = all("y" in graph for graph in graphs)
    y = torch.cat([graph.y.long() for graph in graphs]) if labelled else torch.zeros(len(nodes), dtype=torch.int64)
    kinds = torch.cat([type_of(graph) for graph in graphs])
    features = concatenated(graphs)
    like = next(network.parameters())
    dense = features.layout == torch.strided
    x = features.to(like) if dense else SparseMap.of_features(features, like.dtype, like.device)
    return Portion(nodes.to(device), x, y.to(device), kinds.to(device), plan)


def portions(
    task: Task, network: Network, merge: bool, count: int, device: torch.device, number: int = 0
) -> list[Portion]:
    """The batches of a task in one of the ways to divide it, each planned for the network."""
    if isinstance(network, NeuralTree):
        task = task.with_trees()
    sizes = [graph.num_nodes for graph in task.graphs]
    places = torch.arange(sum(sizes)).split_with_sizes(sizes)
    return [
        portion([task.graphs[i] for i in batch], network, merge, torch.cat([places[i] for i in batch]), device)
        for batch in divide(task, count, number)
    ]


def _bare(graph: Data) -> Data:
    """The graph and its tree alone: sparse features do not batch, and all else is joined by hand."""
    bare = copy(graph) if isinstance(graph, HTreeData) else Data(edge_index=graph.edge_index)
    bare.num_nodes = graph.num_nodes
    for name in list(bare.keys()):
        if name not in ("edge_index", "num_nodes") and not name.startswith("tree_"):
            del bare[name]
    return bare
