"""A task: graphs with labels and an objective, checked once before a training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Protocol, TypeAlias

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.checks import check_at_least, check_seed
from neuraltrees.data.features import edge_features, node_features
from neuraltrees.data.graph_checks import check_graph, listed, type_of
from neuraltrees.data.scaling import AS_THEY_ARE, Scaling, check_columns
from neuraltrees.data.splits import Split, random_node_split
from neuraltrees.data.together import surely_fine
from neuraltrees.data.trees import TreeSettings, with_trees
from neuraltrees.decomposition.decompose import Method, check_method
from neuraltrees.decomposition.sampling import Sampler, check_sampler
from neuraltrees.errors import InputError
from neuraltrees.htree.build import Terminal, check_terminal
from neuraltrees.nn.encoder import Categories, Features
from neuraltrees.objectives import Classification, Objective

Splitter: TypeAlias = Callable[[int], Split]

# The values of a task that have nothing to do with what its graphs hold.
SETTINGS = {"max_treewidth", "seed", "scaling", "splitter", "sampler", "method", "terminal", "inputs"}


class Inputs(Protocol):
    """How inputs that are not graphs, such as scenes, become graphs; a bundle stores it."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for files."""


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table of nodes that are the features, in this order; a bundle stores it.

    >>> TableColumns(("height", "weight")).as_dict()
    {'columns': ['height', 'weight']}
    """

    names: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {"columns": list(self.names)}


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """Graphs with labels per node or per graph, and the objective.

    Args:
        graphs: each with features `x`, labels `y` and `edge_index`; where there are several node types, also
            `node_type`, numbered in the order of the labels; `edge_attr` if edges have features. A graph with an H-tree
            keeps it; for others, one is built when a network needs it.
        objective: what is learned; names of labels, or a mapping of node types to names, stand for `Classification`
            per node.
        max_treewidth: treewidth bound of H-trees that are built, also for later predictions; see `ToHTree`. Set it also
            if the graphs come with trees of bounded treewidth.
        seed: breaks ties in H-trees that are built.
        scaling: how the features were scaled; see `scaled`.
        splitter: the split that belongs to a seed; by default 70 / 10 / 20 % of the items at random.
        features: the form of the node features, if it cannot be told from the graphs: `Categories`, or a mapping from
            node types to the form of each. Integers are categories.
        edge_features: the same for edges; by default the form of `edge_attr`.
        sampler: how the treewidth is bounded; see `sample_bounded_treewidth`.
        method, terminal: how H-trees are built; see `ToHTree`.
        inputs: how graphs were made from other inputs, for predictions: `SceneFormat` or `TableColumns`.

    >>> graph = Data(x=torch.eye(3), y=torch.tensor([0, 1, 1]), edge_index=torch.tensor([[0, 1], [1, 2]]))
    >>> Task([graph], {"node": ("even", "odd")})
    Task(1 graph, 3 nodes, Classification(node: 2 labels, level='node', metric='accuracy'))
    """

    graphs: Sequence[Data]
    objective: Objective
    max_treewidth: int | None = None
    seed: int = 0
    scaling: Scaling = AS_THEY_ARE
    splitter: Splitter | None = None
    features: Features | None = None
    edge_features: int | Categories | None = None
    sampler: Sampler = "elimination"
    method: Method = "min_fill"
    terminal: Terminal = "clique"
    inputs: Inputs | None = None

    def __init__(
        self,
        graphs: Iterable[Data],
        objective: Objective | Mapping[str, Sequence[str]] | Sequence[str],
        max_treewidth: int | None = None,
        seed: int = 0,
        scaling: Scaling = AS_THEY_ARE,
        splitter: Splitter | None = None,
        features: Features | None = None,
        edge_features: int | Categories | None = None,
        sampler: Sampler = "elimination",
        method: Method = "min_fill",
        terminal: Terminal = "clique",
        inputs: Inputs | None = None,
    ) -> None:
        objective = objective if isinstance(objective, Objective) else Classification(objective)
        values = (listed(graphs), objective, max_treewidth, seed, scaling, splitter, features, edge_features, sampler)
        for name, value in zip(self.__match_args__, (*values, method, terminal, inputs), strict=True):
            object.__setattr__(self, name, value)
        self._check_settings()
        if not self.graphs:
            raise InputError("Expected at least one graph; got none.")
        self._describe_features()
        if surely_fine(self.graphs, objective, self.features, self.edge_features):
            return
        for number, graph in enumerate(self.graphs):
            try:
                self.check_graph(graph)
            except InputError as error:
                raise InputError(f"Graph {number}: {error}") from None

    def _check_settings(self) -> None:
        """Checks all that has nothing to do with what the graphs hold."""
        if not isinstance(self.scaling, Scaling):
            raise InputError(f"Expected scaling as Scaling(...); got {self.scaling!r}. To scale: Task(...).scaled().")
        if self.splitter is not None and not callable(self.splitter):
            raise InputError(f"Expected splitter as a function of a seed; got {self.splitter!r}.")
        check_seed(self.seed)
        if self.max_treewidth is not None:
            check_at_least("max_treewidth", self.max_treewidth, 1)
        check_sampler(self.sampler)
        check_method(self.method)
        check_terminal(self.terminal)

    def _describe_features(self) -> None:
        if self.features is None:
            object.__setattr__(self, "features", node_features(self.graphs))
        if self.edge_features is None:
            object.__setattr__(self, "edge_features", edge_features(self.graphs))
        if isinstance(self.features, Mapping) and self.objective.level == "node" and len(self.labels) > 1:
            if self.features.keys() != self.labels.keys():
                raise InputError(
                    f"Expected features of the node types {', '.join(self.labels)}, which have labels; got those of "
                    f"{', '.join(self.features)}."
                )
            # Types are numbered as the labels list them.
            object.__setattr__(self, "features", {name: self.features[name] for name in self.labels})

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """The label names of each node type, if labels are classes."""
        return self.objective.labels if isinstance(self.objective, Classification) else {}

    @property
    def types(self) -> tuple[str, ...]:
        """The names of the node types."""
        if isinstance(self.features, Mapping):
            return tuple(self.features)
        return tuple(self.labels) if self.objective.level == "node" and self.labels else ("node",)

    @property
    def classes(self) -> dict[str, int]:
        """How many labels each node type has."""
        return {name: len(names) for name, names in self.labels.items()}

    @property
    def num_nodes(self) -> int:
        return sum(graph.num_nodes for graph in self.graphs)

    @property
    def num_items(self) -> int:
        """The number of items: of nodes or of graphs."""
        return self.num_nodes if self.objective.level == "node" else len(self.graphs)

    @property
    def num_features(self) -> int:
        """The number of columns of `x`."""
        return int(self.graphs[0].num_features)

    @property
    def y(self) -> Tensor:
        """The labels of all items, graph after graph, as stored in the graphs."""
        return torch.cat([self.objective.labels_of(graph) for graph in self.graphs])

    @property
    def targets(self) -> Tensor:
        """The labels of all items in the form in which the objective compares them with answers."""
        return self.objective.targets(self.graphs, [type_of(graph, self.types) for graph in self.graphs])

    @property
    def node_type(self) -> Tensor:
        """The types of all nodes, graph after graph."""
        return torch.cat([type_of(graph, self.types) for graph in self.graphs])

    def split(self, seed: int = 0) -> Split:
        """The split that belongs to a seed."""
        return random_node_split(self.num_items, seed=seed) if self.splitter is None else self.splitter(seed)

    def with_trees(self) -> Task:
        """The same task with an H-tree for every graph."""
        graphs = with_trees(self.graphs, TreeSettings.of(self))
        return self if graphs is self.graphs else self.replace(graphs=graphs)

    def replace(self, **changes: Any) -> Task:
        """A copy of the task with some values changed. Graphs are checked again if they change or must hold others."""
        return self._with(**changes) if changes.keys() <= SETTINGS else replace(self, **changes)

    def _with(self, **changes: Any) -> Task:
        """A copy whose graphs need no check: they are those of this task, or were made from them."""
        found = copy(self)
        for name, value in changes.items():
            object.__setattr__(found, name, value)
        found._check_settings()
        return found

    def scaled(
        self,
        logarithm: Sequence[int] = (),
        standardise: bool = True,
        squares: bool = False,
        geometry: bool = False,
    ) -> Task:
        """The same task with scaled features; a bundle that is trained on it scales its inputs in the same way.

        Args:
            logarithm: columns that are replaced by their logarithm.
            standardise: whether every feature gets mean 0 and standard deviation 1.
            squares: whether the squares of the scaled features are appended; see `Scaling`.
            geometry: for scene graphs, whether `SceneGeometry` is applied first. Each node type is then scaled
                separately and has its own encoder; edges are scaled by the types of their ends.
        """
        if self.scaling.changes:
            raise InputError("Expected a task that is not scaled yet; got a scaled one.")
        if not isinstance(self.features, int):
            raise InputError(f"Expected features that are numbers, to scale them; got {self.features}.")
        types = len(self.types) if geometry else 1
        plain = Scaling(check_columns(logarithm), squares=squares, geometry=geometry)
        scaling = Scaling.fit(self.graphs, logarithm, squares, geometry, types) if standardise else plain
        graphs = [scaling.apply(graph) for graph in self.graphs]
        width = graphs[0].x.shape[1]
        if not geometry:
            return self.replace(graphs=graphs, scaling=scaling, features=width)
        features = width if types == 1 else dict.fromkeys(self.types, width)
        return self.replace(graphs=graphs, scaling=scaling, features=features, edge_features=None)

    def encoded(self, walks: int = 0, laplacian: int = 0) -> Task:
        """The same task with positional encodings beside the features, each column of mean 0 and standard deviation 1;
        a bundle encodes its inputs in the same way.

        Args:
            walks: how many return probabilities of random walks; see `return_probabilities`.
            laplacian: how many eigenvectors of the Laplacian; see `laplacian_vectors`.
        """
        check_at_least("walks", walks, 0)
        check_at_least("laplacian", laplacian, 0)
        if self.scaling.encodings:
            raise InputError("Expected a task without positional encodings; got one that has them.")
        if isinstance(self.features, Mapping) or self.features is None:
            raise InputError("Expected one type of nodes, to encode their positions; got several.")
        scaling, graphs = replace(self.scaling, walks=walks, laplacian=laplacian).fit_encodings(self.graphs)
        if isinstance(self.features, Categories):
            features: Features = replace(self.features, numbers=self.features.numbers + scaling.encodings)
        else:
            features = self.features + scaling.encodings
        return self._with(graphs=graphs, scaling=scaling, features=features)

    def check_graph(self, graph: Data, labelled: bool = True) -> None:
        """Raises `InputError` unless a graph has features, node types and labels as this task has them."""
        assert self.features is not None
        check_graph(graph, self.features, self.edge_features, self.types)
        if labelled:
            self.objective.check(graph, type_of(graph, self.types))

    def check_split(self, split: Split, every_class: bool = False) -> None:
        """Raises `InputError` unless the masks are disjoint parts of this task's items, each with a labelled one.

        Args:
            split: the masks.
            every_class: also demand a training item of every label that an item has.
        """
        if not isinstance(split, Split):
            raise InputError(f"Expected a Split; got {type(split).__name__}.")
        y, level = self.targets, self.objective.level
        labelled = self.objective.labelled(y).cpu()
        masks = {"training": split.train, "validation": split.val, "test": split.test}
        for name, mask in masks.items():
            if not isinstance(mask, Tensor):
                raise InputError(f"Expected a {name} mask of {self.num_items} booleans; got {type(mask).__name__}.")
            if mask.shape != (self.num_items,) or mask.dtype != torch.bool:
                of = "node of all graphs" if level == "node" else "graph"
                raise InputError(
                    f"Expected a {name} mask of {self.num_items} booleans, one for every {of}; "
                    f"got {mask.dtype} of shape {tuple(mask.shape)}."
                )
            if not mask.any():
                raise InputError(f"Expected at least one {name} {level}; got none. Raise its share.")
            if not (mask & labelled).any():
                raise InputError(f"Expected at least one {name} {level} with a label; all {int(mask.sum())} have none.")
            if name != "training":
                self.objective.check_measurable(y[mask & labelled], name)
        if (split.train.int() + split.val.int() + split.test.int()).max() > 1:
            raise InputError(f"Expected disjoint training, validation and test {level}s; got a {level} in two of them.")
        if every_class:
            kinds = self.node_type if level == "node" else torch.zeros(self.num_items, dtype=torch.int64)
            self.objective.check_training(y, kinds, split.train | split.val | split.test, split.train)

    def fingerprint(self) -> str:
        """A hash of all data that a model can see, to tell tasks apart."""
        own = [getattr(each, "__qualname__", repr(each)) for each in (getattr(self.objective, "own_loss", None),)]
        what = (self.objective.name, self.objective.as_dict(), self.objective.metric.name, own)
        plain = (self.method, self.terminal) == ("min_fill", "clique")
        trees = (*([self.sampler] if self.max_treewidth else []), *([] if plain else [self.method, self.terminal]))
        about = (*what, self.max_treewidth, self.seed, *trees)
        digest = sha256(repr(about).encode())
        for graph in self.graphs:
            x = graph.x.to_dense() if graph.x.layout != torch.strided else graph.x
            own = [graph[name] for name in sorted(graph.keys()) if name.startswith(("tree_", "scene_"))]
            edges = [] if self.edge_features is None else [graph.edge_attr]
            for tensor in (x, graph.y, graph.edge_index, type_of(graph, self.types), *own, *edges):
                digest.update(f"{tensor.dtype} {tuple(tensor.shape)} ".encode())
                flat = tensor.detach().cpu().contiguous().flatten()
                digest.update(flat.view(torch.uint8).numpy().tobytes() if len(flat) else b"")
        return digest.hexdigest()

    def __repr__(self) -> str:
        graphs = f"{len(self.graphs):,} graph{'s' * (len(self.graphs) > 1)}"
        bound = "" if self.max_treewidth is None else f", max_treewidth={self.max_treewidth}"
        return f"Task({graphs}, {self.num_nodes:,} nodes, {self.objective!r}{bound})"
