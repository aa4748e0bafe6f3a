"""A task: graphs whose nodes have features, types and labels, checked once before anything is trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.checks import check_at_least
from neuraltrees.data import HTreeData
from neuraltrees.data.scaling import AS_THEY_ARE, Scaling
from neuraltrees.data.splits import Split
from neuraltrees.data.transform import attach_htrees
from neuraltrees.errors import InputError


@dataclass(frozen=True, eq=False)
class Task:
    """Node classification on one graph or many.

    Args:
        graphs: each with features `x`, labels `y` from 0 and `edge_index`; where there are several node types, also
            `node_type`, numbered as `labels` lists them. A graph with an H-tree keeps it, others get theirs when a
            neural tree is trained.
        labels: the names of the labels of each node type.
        max_treewidth: bound for H-trees that are built, later for predictions as well; see `ToHTree`. Say it also for
            graphs that come with trees of bounded treewidth.
        seed: breaks ties in H-trees that are built.
        scaling: how the features were scaled; see `scaled`.

    >>> graph = Data(x=torch.eye(3), y=torch.tensor([0, 1, 1]), edge_index=torch.tensor([[0, 1], [1, 2]]))
    >>> task = Task([graph], {"node": ("even", "odd")})
    >>> task.num_nodes, task.classes
    (3, {'node': 2})
    """

    graphs: Sequence[Data]
    labels: Mapping[str, Sequence[str]]
    max_treewidth: int | None = None
    seed: int = 0
    scaling: Scaling = AS_THEY_ARE

    def __post_init__(self) -> None:
        graphs = listed(self.graphs)
        object.__setattr__(self, "graphs", graphs)
        if not isinstance(self.labels, Mapping) or not all(
            isinstance(names, Sequence) for names in self.labels.values()
        ):
            raise InputError(
                f"Expected labels as a mapping of node types to names, such as {{'node': ('cat', 'dog')}}; "
                f"got {self.labels!r}."
            )
        if self.max_treewidth is not None:
            check_at_least("max_treewidth", self.max_treewidth, 1)
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
        return torch.cat([graph.y.long() for graph in self.graphs])

    @property
    def node_type(self) -> Tensor:
        """The types of all nodes, graph after graph."""
        return torch.cat([type_of(graph) for graph in self.graphs])

    def with_trees(self) -> Task:
        """The same task, its graphs with their H-trees."""
        graphs = with_trees(self.graphs, self.max_treewidth, self.seed)
        return self if graphs is self.graphs else replace(self, graphs=graphs)

    def scaled(self, logarithm: Sequence[int] = (), standardise: bool = True) -> Task:
        """The same task with scaled features; a bundle of what is trained on it scales its inputs alike.

        Args:
            logarithm: columns that are replaced by their logarithm.
            standardise: whether every feature gets mean 0 and standard deviation 1.
        """
        if self.scaling.logarithm or self.scaling.mean is not None:
            raise InputError("Expected a task that is not scaled yet; got a scaled one.")
        scaling = Scaling.fit(self.graphs, logarithm) if standardise else Scaling(tuple(logarithm))
        return replace(self, graphs=[scaling.apply(graph) for graph in self.graphs], scaling=scaling)

    def check_split(self, split: Split, every_class: bool = False) -> None:
        """Raises `InputError` unless the masks are disjoint parts of this task's nodes, each with a node in it.

        Args:
            split: the masks.
            every_class: also demand a training node of every label that a node has.
        """
        if not isinstance(split, Split):
            raise InputError(f"Expected a Split; got {type(split).__name__}.")
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
        y, kinds = self.y, self.node_type
        used = split.train | split.val | split.test
        if (y[used] < 0).any():
            node = int((used & (y < 0)).nonzero()[0])
            raise InputError(f"Expected labels of all nodes of the split; node {node} of all graphs has none (-1).")
        for kind, (name, labels) in enumerate(self.labels.items() if every_class else ()):
            seen, taught = (
                y[mask & (kinds == kind)].clamp(min=0).bincount(minlength=len(labels)) for mask in (used, split.train)
            )
            missing = [str(labels[label]) for label in ((seen > 0) & (taught == 0)).nonzero().flatten().tolist()]
            if missing:
                raise InputError(
                    f"Expected a training node of every {name} label; got none of {', '.join(missing)}. "
                    f"Train on more nodes, draw with another seed, or set every_class=False."
                )

    def fingerprint(self) -> str:
        """A hash of all that a model can see, to tell tasks apart."""
        labels = {kind: list(names) for kind, names in self.labels.items()}
        digest = sha256(repr((labels, self.max_treewidth, self.seed)).encode())
        for graph in self.graphs:
            x = graph.x.to_dense() if graph.x.layout != torch.strided else graph.x
            trees = [graph[name] for name in sorted(graph.keys()) if name.startswith("tree_")]
            for tensor in (x, graph.y, graph.edge_index, type_of(graph), *trees):
                digest.update(f"{tensor.dtype} {tuple(tensor.shape)} ".encode())
                flat = tensor.detach().cpu().contiguous().flatten()
                digest.update(flat.view(torch.uint8).numpy().tobytes() if len(flat) else b"")
        return digest.hexdigest()


def check_graph(graph: Data, num_features: int, classes: Mapping[str, int], labelled: bool = True) -> None:
    """Raises `InputError` unless a graph has finite features and valid node types and labels."""
    x = graph.x
    if x is None or x.dim() != 2 or not x.is_floating_point():
        came = "none" if x is None else f"{x.dtype} of shape {tuple(x.shape)}"
        raise InputError(f"Expected features x as floats of shape (n, F); got {came}.")
    if x.shape[1] == 0:
        raise InputError("Expected at least one feature a node; got none. A constant column will do.")
    if x.shape[1] != num_features:
        raise InputError(f"Expected {num_features} features a node; got {x.shape[1]}.")
    dense = x.layout == torch.strided
    # Networks compute in single precision, where large numbers of double precision are infinite.
    values = (x if dense else x.to_sparse_coo().coalesce().values()).float()
    if not values.isfinite().all():
        where = f" at node {int((~values.isfinite()).any(1).nonzero()[0])}" if dense else ""
        raise InputError(f"Expected finite features; got NaN or infinity{where}. Remove or replace such values.")
    if isinstance(graph, HTreeData):
        graph.htree  # noqa: B018  raises if the tree is another graph's
    _check_edges(graph.edge_index, x.shape[0])
    if len(classes) > 1 and graph.get("node_type") is None:
        raise InputError(f"Expected node_type, since there are the types {', '.join(classes)}; got none.")
    kinds = type_of(graph)
    if kinds.is_floating_point() or kinds.dtype == torch.bool:
        raise InputError(f"Expected node_type as integers; got {kinds.dtype}. Use node_type.long().")
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


def listed(graphs: Iterable[Data]) -> list[Data]:
    """The graphs as a list; `InputError` for what is none."""
    if isinstance(graphs, Data) or not isinstance(graphs, Iterable):
        raise InputError(
            f"Expected a list of graphs; got {type(graphs).__name__}. Put a single one in brackets: [graph]."
        )
    found = list(graphs)
    wrong = next((graph for graph in found if not isinstance(graph, Data)), None)
    if wrong is not None:
        raise InputError(
            f"Expected graphs as torch_geometric.data.Data; got {type(wrong).__name__}. "
            f"A NetworkX graph becomes one by torch_geometric.utils.from_networkx."
        )
    return found


def with_trees(graphs: Sequence[Data], max_treewidth: int | None, seed: int) -> Sequence[Data]:
    """The graphs with their H-trees: those they came with, or new ones."""
    bare = [number for number, graph in enumerate(graphs) if not isinstance(graph, HTreeData)]
    if not bare:
        return graphs
    built = dict(zip(bare, attach_htrees([graphs[number] for number in bare], max_treewidth, seed=seed), strict=True))
    return [built.get(number, graph) for number, graph in enumerate(graphs)]


def type_of(graph: Data) -> Tensor:
    """The node types of a graph: all 0 where it has none."""
    kinds: Tensor | None = graph.get("node_type")
    if kinds is None:
        return torch.zeros(graph.num_nodes, dtype=torch.int64)
    return kinds if kinds.is_floating_point() or kinds.dtype == torch.bool else kinds.long()


def _check_labels(y: Tensor | None, kinds: Tensor, classes: Mapping[str, int]) -> None:
    if y is None or y.shape != kinds.shape or y.is_floating_point() or y.dtype == torch.bool:
        came = "none" if y is None else f"{y.dtype} of shape {tuple(y.shape)}"
        raise InputError(f"Expected labels y as integers of shape ({len(kinds)},); got {came}.")
    y = y.long()
    limit = torch.tensor(list(classes.values()))[kinds]
    wrong = ((y < -1) | (y >= limit)).nonzero().flatten()
    if len(wrong):
        node = int(wrong[0])
        name = list(classes)[int(kinds[node])]
        raise InputError(
            f"Expected {name} labels between 0 and {int(limit[node]) - 1}, or -1 for none; "
            f"got {int(y[node])} at node {node}."
        )


def concatenated(graphs: Iterable[Data]) -> Tensor:
    """The features of several graphs, one after another; those of a single graph as they are, sparse or not."""
    features = [graph.x for graph in graphs]
    return features[0] if len(features) == 1 else torch.cat([_dense(x) for x in features])


def _dense(x: Tensor) -> Tensor:
    return x if x.layout == torch.strided else x.to_dense()
