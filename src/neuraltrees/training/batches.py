"""Batches of whole graphs: every graph or tree is planned once and computed once in every epoch."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from neuraltrees.data.features import edge_attr_of
from neuraltrees.data.graph_checks import type_of
from neuraltrees.data.task import Task
from neuraltrees.errors import InputError
from neuraltrees.nn.ensemble.sparse import SparseMap
from neuraltrees.nn.network import Network
from neuraltrees.nn.parallel import Group
from neuraltrees.nn.plan import Plan


@dataclass(frozen=True, eq=False)
class GraphBatch:
    """Some graphs, ready for a network.

    Args:
        items: the numbers of their items among all items of the task.
        x: features of their nodes.
        edges: features of their edges, if the network reads them.
        y: the labels of their items, in the form that the objective compares with answers.
        plan: the network's plan of them.
        lessons: the network's lessons, if its head reads labels; else empty.

    Shapes: items and y :math:`(items, ...)`, x :math:`(n, F)`, edges :math:`(m, D)`
    """

    items: Tensor
    x: Tensor | SparseMap
    edges: Tensor | None
    y: Tensor
    plan: Plan
    lessons: tuple[Plan, ...] = ()


def divide(task: Task, count: int, number: int = 0) -> list[list[int]]:
    """The graphs of every batch: batches have equal numbers of graphs and similar numbers of nodes.

    A training uses one or a few divisions and only changes the order of batches, so that trees are planned once.
    Batches are the same for all runs. Items without a training label only take part in the statistics of batch norm.

    Args:
        task: the graphs.
        count: number of batches, at most one per graph.
        number: seed of the division; 0 divides by size without randomness.
    """
    draw = torch.Generator().manual_seed(number)
    sizes = torch.tensor([graph.num_nodes for graph in task.graphs])
    batches: list[list[int]] = [[] for _ in range(min(count, len(sizes)))]
    by_size = sizes.argsort(stable=True, descending=True).tolist()
    if task.objective.level == "node":  # a graph without nodes has no items
        by_size = [graph for graph in by_size if sizes[graph] > 0] or by_size[:1]
    batches = batches[: len(by_size)]
    for turn, start in enumerate(range(0, len(by_size), len(batches))):
        order = by_size[start : start + len(batches)]
        if number:
            order = [order[i] for i in torch.randperm(len(order), generator=draw).tolist()]
        for batch, graph in zip(batches, order if turn % 2 == 0 else reversed(order), strict=False):
            batch.append(graph)
    return [sorted(batch) for batch in batches]


def graphs_to_train_on(task: Task, train: Tensor) -> list[bool] | None:
    """Which graphs hold items to train on; None if they hold at least half of all nodes, which is worth no second plan.

    Shapes: train :math:`(items)`, a mask
    """
    nodes = [graph.num_nodes for graph in task.graphs]
    sizes = nodes if task.objective.level == "node" else [1] * len(nodes)
    found = [bool(part.any()) for part in train.bool().cpu().split_with_sizes(sizes)]
    taught = sum(size for size, here in zip(nodes, found, strict=True) if here)
    return found if 2 * taught < sum(nodes) else None


@dataclass(frozen=True, eq=False)
class Known:
    """The labels that every run may read: its training labels, -1 elsewhere.

    Shapes: labels :math:`(items, R)`
    """

    labels: Tensor
    seeds: tuple[int, ...]


def make_batch(
    graphs: Sequence[Data],
    network: Network,
    items: Tensor,
    y: Tensor,
    types: Sequence[str],
    known: Known | None = None,
    learn: bool = False,
    group: Group | None = None,
) -> GraphBatch:
    """Graphs joined into one, with the network's plan of them.

    Args:
        graphs: with H-trees, if the network needs them.
        network: the network to plan for; the batch is made on its device.
        items: the numbers of their items among all items of the task.
        y: labels of these items.
        types: the names of the node types.
        known: for a network that reads labels, the labels of all items.
        learn: whether to make lessons, for a network that reads labels.
        group: the processes that each compute a part of every graph; None if this process computes whole graphs.
    """
    joined = joined_graphs(graphs, types)
    like = next(network.parameters())
    labels = None if known is None else known.labels[items]
    if group is not None:
        seeds = known.seeds if known is not None and learn else None
        return _part_of_batch(graphs, joined, network, items, y, group, labels, seeds)
    lessons = network.lessons(joined, labels, known.seeds) if learn and labels is not None and known is not None else ()
    return GraphBatch(
        items.to(like.device),
        feature_columns(graphs, like),
        edge_columns(graphs, like) if network.reads_edges else None,
        y.to(like.device),
        network.plan(joined, labels) if network.reads_labels else network.plan(joined),
        tuple(lessons),
    )


def _part_of_batch(
    graphs: Sequence[Data],
    joined: Data,
    network: Network,
    items: Tensor,
    y: Tensor,
    group: Group,
    labels: Tensor | None,
    seeds: Sequence[int] | None,
) -> GraphBatch:
    """The part of a batch that a process computes; with lessons if seeds are given."""
    like = next(network.parameters())
    plan = network.part_plan(joined, group, labels)
    assert plan.part is not None
    lessons = () if labels is None or seeds is None else network.lessons(joined, labels, seeds, plan)
    nodes, owned = plan.part.nodes.cpu(), plan.part.owned.cpu()
    edges = edge_columns(graphs, like)[plan.part.edges] if network.reads_edges else None
    return GraphBatch(
        items[owned].to(like.device),
        feature_columns(graphs, like, nodes),
        edges,
        y[owned].to(like.device),
        plan,
        tuple(lessons),
    )


def make_batches(
    task: Task,
    network: Network,
    divided: Sequence[Sequence[int]],
    known: Known | None = None,
    learn: bool = False,
    group: Group | None = None,
) -> list[GraphBatch]:
    """The batches of a division, each planned for the network; with a group, this process's part of them."""
    if network.needs_tree or group is not None:
        task = task.with_trees()
    sizes = [graph.num_nodes if task.objective.level == "node" else 1 for graph in task.graphs]
    places, y = torch.arange(sum(sizes)).split_with_sizes(sizes), task.targets
    batches = []
    for batch in divided:
        if not batch:
            raise InputError(
                "Expected at least one graph in every batch of every process; got none. Use fewer batches."
            )
        items = torch.cat([places[i] for i in batch])
        graphs = [task.graphs[i] for i in batch]
        batches.append(make_batch(graphs, network, items, y[items], task.types, known, learn, group))
    return batches


def joined_graphs(graphs: Sequence[Data], types: Sequence[str]) -> Data:
    """One batch of the graphs, with all their common attributes except `x`: PyG cannot batch sparse features."""
    common = set.intersection(*(set(graph.keys()) for graph in graphs)) - {"x", "num_nodes", "batch", "ptr"}
    bare = []
    for graph in graphs:
        each = copy(graph)
        for name in list(each.keys()):
            if name not in common:
                del each[name]
        each.num_nodes, each.node_type = graph.num_nodes, type_of(graph, types)
        bare.append(each)
    joined: Data = Batch.from_data_list(bare)
    return joined


def feature_columns(graphs: Sequence[Data], like: Tensor, rows: Tensor | None = None) -> Tensor | SparseMap:
    """The features of several graphs, concatenated; sparse features of a single graph stay sparse.

    Args:
        graphs: graphs with features.
        like: a tensor of the wanted dtype and device.
        rows: the nodes whose features are returned; None for all.
    """
    columns = [graph.x for graph in graphs]
    sparse = columns[0].layout != torch.strided
    if sparse and len(columns) == 1:
        only = columns[0] if rows is None else columns[0].to_sparse_coo().index_select(0, rows)
        return SparseMap.of_features(only, like.dtype, like.device)
    x = torch.cat([each if each.layout == torch.strided else each.to_dense() for each in columns])
    x = x if rows is None else x[rows]
    return x.to(like) if x.is_floating_point() else x.to(like.device)


def edge_columns(graphs: Sequence[Data], like: Tensor) -> Tensor:
    """The features of the edges of several graphs, concatenated."""
    columns = [edge_attr_of(graph) for graph in graphs]
    edges = torch.cat([each for each in columns if each is not None])
    return edges.to(like) if edges.is_floating_point() else edges.to(like.device)
