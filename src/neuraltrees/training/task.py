"""A task: graphs whose nodes have features, types and labels, checked once before anything is trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.data import HTreeData
from neuraltrees.data.transform import attach_htrees
from neuraltrees.datasets import Split
from neuraltrees.errors import InputError


@dataclass(frozen=True, eq=False)
class Task:
    """Node classification on one graph or many.

    Args:
        graphs: each with features `x`, labels `y` from 0 and `edge_index`; where there are several node types, also
            `node_type`, numbered as `labels` lists them. A graph with an H-tree keeps it, others get theirs when a
            neural tree is trained.
        labels: the names of the labels of each node type.
        max_treewidth: bound for H-trees that are built; see `ToHTree`.
        seed: breaks ties in H-trees that are built.

    >>> graph = Data(x=torch.eye(3), y=torch.tensor([0, 1, 1]), edge_index=torch.tensor([[0, 1], [1, 2]]))
    >>> task = Task([graph], {"node": ("even", "odd")})
    >>> task.num_nodes, task.classes
    (3, {'node': 2})
    """

    graphs: Sequence[Data]
    labels: Mapping[str, Sequence[str]]
    max_treewidth: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        graphs = list(self.graphs)
        object.__setattr__(self, "graphs", graphs)
        if not graphs:
            raise InputError("Expected at least one graph; got none.")
        if not self.labels or not all(len(names) for names in self.labels.values()):
            raise InputError(f"Expected label names for at least one node type; got {dict(self.labels)}.")
        for number, graph in enumerate(graphs):
            try:
                check_graph(graph, graphs[0].num_features, self.classes)
            except InputError as error:
                raise InputError(f"Graph {number}: {error}") from None

    @property
    def classes(self) -> dict[str, int]:
        """How many labels each node type has."""
        return {name: len(names) for name, names in self.labels.items()}

    @property
    def num_nodes(self) -> int:
        return sum(graph.num_nodes for graph in self.graphs)

    @property
    def num_features(self) -> int:
        return int(self.graphs[0].num_features)

    @property
    def y(self) -> Tensor:
        """The labels of all nodes, graph after graph."""
        return torch.cat([graph.y for graph in self.graphs])

    @property
    def node_type(self) -> Tensor:
        """The types of all nodes, graph after graph."""
        return torch.cat([type_of(graph) for graph in self.graphs])

    def with_trees(self) -> Task:
        """The same task, its graphs with their H-trees."""
        if all(isinstance(graph, HTreeData) for graph in self.graphs):
            return self
        return replace(self, graphs=attach_htrees(self.graphs, self.max_treewidth, seed=self.seed))

    def check_split(self, split: Split) -> None:
        """Raises `InputError` unless the masks are disjoint parts of this task's nodes, each with a node in it."""
        masks = {"training": split.train, "validation": split.val, "test": split.test}
        for name, mask in masks.items():
            if mask.shape != (self.num_nodes,) or mask.dtype != torch.bool:
                raise InputError(
                    f"Expected a {name} mask of {self.num_nodes} booleans, one for every node of all graphs; "
                    f"got {mask.dtype} of shape {tuple(mask.shape)}."
                )
            if not mask.any():
                raise InputError(f"Expected at least one {name} node; got none. Raise its share.")
        if (split.train.int() + split.val.int() + split.test.int()).max() > 1:
            raise InputError("Expected disjoint training, validation and test nodes; got a node in two of them.")

    def fingerprint(self) -> str:
        """A hash of all that a model can see, to tell tasks apart."""
        digest = sha256(repr((dict(self.labels), self.max_treewidth, self.seed)).encode())
        for graph in self.graphs:
            x = graph.x.to_dense() if graph.x.layout != torch.strided else graph.x
            for tensor in (x, graph.y, graph.edge_index, type_of(graph)):
                digest.update(tensor.contiguous().numpy().tobytes())
        return digest.hexdigest()


def check_graph(graph: Data, num_features: int, classes: Mapping[str, int], labelled: bool = True) -> None:
    """Raises `InputError` unless a graph has finite features and valid node types and labels."""
    x = graph.x
    if x is None or x.dim() != 2 or not x.is_floating_point():
        came = "none" if x is None else f"{x.dtype} of shape {tuple(x.shape)}"
        raise InputError(f"Expected features x as floats of shape (n, F); got {came}.")
    if x.shape[1] != num_features:
        raise InputError(f"Expected {num_features} features a node; got {x.shape[1]}.")
    values = x if x.layout == torch.strided else x.values()
    if not values.isfinite().all():
        where = "" if x.layout != torch.strided else f" at node {int((~x.isfinite()).any(1).nonzero()[0])}"
        raise InputError(f"Expected finite features; got NaN or infinity{where}. Remove or replace such values.")
    if isinstance(graph, HTreeData):
        graph.htree  # noqa: B018  raises if the tree is another graph's
    _check_edges(graph.edge_index, x.shape[0])
    kinds = type_of(graph)
    if kinds.shape != (x.shape[0],) or (len(kinds) and not 0 <= int(kinds.min()) <= int(kinds.max()) < len(classes)):
        raise InputError(
            f"Expected a node_type for each of {x.shape[0]} nodes, below {len(classes)} ({', '.join(classes)}); "
            f"got {kinds.tolist()[:8]}."
        )
    if labelled:
        _check_labels(graph.y, kinds, classes)


def _check_edges(edge_index: Tensor | None, num_nodes: int) -> None:
    if edge_index is None or edge_index.dim() != 2 or edge_index.shape[0] != 2 or edge_index.dtype != torch.int64:
        came = "none" if edge_index is None else f"{edge_index.dtype} of shape {tuple(edge_index.shape)}"
        raise InputError(f"Expected edge_index as int64 of shape (2, E); got {came}.")
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < num_nodes:
        end = int(edge_index.max()) if int(edge_index.max()) >= num_nodes else int(edge_index.min())
        raise InputError(f"Expected edges between the nodes 0 to {num_nodes - 1}; got one at node {end}.")


def type_of(graph: Data) -> Tensor:
    """The node types of a graph: all 0 where it has none."""
    kinds: Tensor | None = graph.node_type if "node_type" in graph else None
    return torch.zeros(graph.num_nodes, dtype=torch.int64) if kinds is None else kinds


def _check_labels(y: Tensor | None, kinds: Tensor, classes: Mapping[str, int]) -> None:
    if y is None or y.shape != kinds.shape or y.is_floating_point() or y.dtype == torch.bool:
        came = "none" if y is None else f"{y.dtype} of shape {tuple(y.shape)}"
        raise InputError(f"Expected labels y as integers of shape ({len(kinds)},); got {came}.")
    limit = torch.tensor(list(classes.values()))[kinds]
    wrong = ((y < 0) | (y >= limit)).nonzero().flatten()
    if len(wrong):
        node = int(wrong[0])
        name = list(classes)[int(kinds[node])]
        raise InputError(
            f"Expected {name} labels between 0 and {int(limit[node]) - 1}; got {int(y[node])} at node {node}."
        )


def concatenated(graphs: Iterable[Data]) -> Tensor:
    """The features of several graphs, one after another; those of a single graph as they are, sparse or not."""
    features = [graph.x for graph in graphs]
    return features[0] if len(features) == 1 else torch.cat([_dense(x) for x in features])


def _dense(x: Tensor) -> Tensor:
    return x if x.layout == torch.strided else x.to_dense()
