"""H-trees for the graphs of a task or of a bundle."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch_geometric.data import Batch, Data

from neuraltrees.data.htree_data import TREE_ATTRIBUTES, HTreeData
from neuraltrees.data.transform import attach_htrees
from neuraltrees.decomposition.decompose import DEFAULT_SECONDS, Method
from neuraltrees.decomposition.sampling import Sampler
from neuraltrees.errors import TreeTooLargeError
from neuraltrees.graph import Graph
from neuraltrees.htree.build import Terminal, build_htree


@dataclass(frozen=True)
class TreeSettings:
    """How H-trees are built; see `ToHTree`."""

    max_treewidth: int | None
    seed: int
    sampler: Sampler
    method: Method
    terminal: Terminal

    @classmethod
    def of(cls, given: Any) -> TreeSettings:
        """The settings of a task or of a bundle."""
        return cls(*(getattr(given, name) for name in cls.__match_args__))


def with_trees(graphs: Sequence[Data], settings: TreeSettings) -> Sequence[Data]:
    """The graphs with their H-trees: those they came with, or new ones."""
    bare = [number for number, graph in enumerate(graphs) if not isinstance(graph, HTreeData)]
    if not bare:
        return graphs
    try:
        trees = attach_htrees([graphs[number] for number in bare], **vars(settings))
    except TreeTooLargeError as error:
        raise error.advising("Bound the treewidth: Task(graphs, labels, max_treewidth=4).") from None
    built = dict(zip(bare, trees, strict=True))
    return [built.get(number, graph) for number, graph in enumerate(graphs)]


def graph_union(graphs: Sequence[Data], settings: TreeSettings | None = None) -> Data:
    """One graph of all, with the graph of every node in `batch`, and with `settings` their H-trees as one forest.

    It has no other attributes: for many small graphs this is much faster than `Batch.from_data_list`.
    """
    sizes = torch.tensor([graph.num_nodes for graph in graphs], dtype=torch.int64)
    first = sizes.cumsum(0) - sizes
    edges = [graph.edge_index.cpu() for graph in graphs]
    shift = first.repeat_interleave(torch.tensor([each.shape[1] for each in edges], dtype=torch.int64))
    joined = Data(edge_index=torch.cat(edges, 1) + shift, num_nodes=int(sizes.sum()))
    joined.batch = torch.arange(len(graphs)).repeat_interleave(sizes)
    joined.num_graphs = len(graphs)
    if settings is None:
        return joined
    apart = settings.max_treewidth is not None or settings.method in DEFAULT_SECONDS
    if apart or any(isinstance(graph, HTreeData) for graph in graphs):
        joined.htree = Batch.from_data_list([_tree_alone(graph) for graph in with_trees(graphs, settings)]).htree
        return joined
    try:
        joined.htree = build_htree(
            Graph.from_data(joined), method=settings.method, terminal=settings.terminal, seed=settings.seed
        )
    except TreeTooLargeError as error:
        raise error.advising("Bound the treewidth: Task(graphs, labels, max_treewidth=4).") from None
    return joined


def _tree_alone(graph: Data) -> Data:
    """The graph without features."""
    bare = copy(graph)
    for name in list(bare.keys()):
        if name not in TREE_ATTRIBUTES and name != "edge_index":
            del bare[name]
    bare.num_nodes = graph.num_nodes
    return bare
