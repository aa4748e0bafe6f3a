"""The program that is exported: from plain tensors of any size to the result of `Predictor.predict`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from neuraltrees.data.features import edge_attr_of
from neuraltrees.data.graph_checks import check_graph, type_of
from neuraltrees.data.scaling import Scaling
from neuraltrees.data.trees import TreeSettings, with_trees
from neuraltrees.errors import InputError
from neuraltrees.htree import HTree
from neuraltrees.nn.encoder import Categories
from neuraltrees.nn.ensemble.scatter import sum_rows
from neuraltrees.nn.network import Network
from neuraltrees.nn.schedule import TreeRounds
from neuraltrees.nn.schedule.tree_edges import tree_edges
from neuraltrees.serving.export.example import example_graph
from neuraltrees.training.bundle import Bundle

Shape: TypeAlias = tuple[str | int | None, ...]
# The shape of every input: names are dynamic sizes, numbers are fixed, None is the number of features.
SHAPES: dict[str, Shape] = {
    "x": ("nodes", None),
    "edge_index": (2, "edges"),
    "kappa": ("size",),
    "node_type": ("nodes",),
    "edge_type": ("edges",),
    "edge_attr": ("edges", None),
    "members": (2, "entries"),
}


@dataclass(frozen=True, eq=False)
class Program:
    """A network as a module of plain tensors.

    Args:
        module: computes probabilities or numbers.
        shapes: the names of its inputs, in order, and their shapes; a size with a name is dynamic; see
            `docs/serving.md`.
        about: the meaning of its inputs and outputs, as plain values.
        prepare: makes the inputs, by name, from a graph or a scene.
        example: the graph or scene that it is traced with.
    """

    module: nn.Module
    shapes: Mapping[str, Shape]
    about: Mapping[str, Any]
    prepare: Callable[[Any], Mapping[str, Tensor]]
    example: Any

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(self.shapes)

    def tensors(self, source: Any) -> tuple[Tensor, ...]:
        """The inputs for a graph or a scene, in order; its H-tree is built as in training if the network needs one."""
        found = self.prepare(source)
        return tuple(found[name].contiguous() for name in self.inputs)


def graph_program(bundle: Bundle) -> Program:
    """The program of a network on graphs; a network that reads more than plain tensors raises `InputError`."""
    network = bundle.build().requires_grad_(False)
    _check(bundle, network)
    body = network.schedule.body
    inputs = ["x"]
    if bundle.network.model not in ("mlp", "none"):
        inputs += ["edge_index", "kappa"] if network.needs_tree else ["edge_index"]
    inputs += ["node_type"] if len(bundle.types) > 1 else []
    inputs += ["edge_type"] if body.relations else []
    inputs += ["edge_attr"] if network.reads_edges else []
    inputs += ["members"] if getattr(network.schedule, "start", "zero") != "zero" and network.needs_tree else []
    settings = vars(TreeSettings.of(bundle)) if network.needs_tree else None
    return Program(
        _Module(bundle, network, tuple(inputs)),
        {name: SHAPES[name] for name in inputs},
        about(bundle, inputs) | {"tree": settings},
        partial(_prepared, bundle, network.needs_tree),
        example_graph(bundle),
    )


def about(bundle: Bundle, inputs: Sequence[str]) -> dict[str, Any]:
    """The meaning of inputs and outputs, as plain values."""
    given = bundle.given_features
    return {
        "inputs": list(inputs),
        "features": given if isinstance(given, int) else None,
        "types": list(bundle.types),
        "answers": bundle.objective.level,
        "objective": bundle.objective.name,
        "labels": {name: list(labels) for name, labels in bundle.labels.items()},
    }


def _prepared(bundle: Bundle, tree: bool, graph: Data) -> dict[str, Tensor]:
    """All inputs that a graph may have."""
    check_graph(graph, bundle.given_features, bundle.given_edge_features, bundle.types)
    given = {"x": graph.x.to_dense(), "node_type": type_of(graph, bundle.types)}
    edge_attr = edge_attr_of(graph)
    if tree:
        (with_tree,) = with_trees([graph], TreeSettings.of(bundle))
        built = with_tree.htree
        given |= {"edge_index": built.edge_index, "kappa": built.kappa, "edge_type": built.edge_type}
        given["members"] = built.members
        edge_attr = None if edge_attr is None else _carried(built, graph.edge_index, edge_attr)
    else:
        given["edge_index"] = graph.edge_index
    return given if edge_attr is None else given | {"edge_attr": edge_attr}


class _Module(nn.Module):
    """Scaling, the network, and the mean of the predictions of its runs.

    Its arguments are `Program.inputs` by position, since torch.export needs a fixed signature.
    """

    def __init__(self, bundle: Bundle, network: Network, inputs: tuple[str, ...]) -> None:
        super().__init__()
        self.network, self.inputs, self.objective = network, inputs, bundle.objective
        self.scaling = _Scaling(bundle.scaling)

    def forward(self, *given: Tensor) -> Tensor:
        """Shapes: see `SHAPES` → :math:`(n, C)` per node, :math:`(1, C)` per graph"""
        named = dict(zip(self.inputs, given, strict=True))
        x = self.scaling(named.pop("x"), named.get("node_type"))
        answers = self.network(x, **named)
        return self.objective.predict(answers).mean(1)


class _Scaling(nn.Module):
    """`Scaling` of features by operations that torch.export supports."""

    mean: Tensor | None
    std: Tensor | None

    def __init__(self, scaling: Scaling) -> None:
        super().__init__()
        self.squares = scaling.squares
        self.columns = sorted(set(scaling.logarithm))
        self.register_buffer("mean", scaling.mean)
        self.register_buffer("std", scaling.std)

    def forward(self, x: Tensor, node_type: Tensor | None) -> Tensor:
        if self.columns:
            columns = enumerate(x.split_with_sizes([1] * x.shape[1], 1))
            parts = [part.log() if i in self.columns else part for i, part in columns]
            x = torch.cat(parts, 1)
        if self.mean is not None and self.std is not None:
            mean, std = self.mean, self.std
            if mean.dim() == 2:
                kinds = x.new_zeros(x.shape[0], dtype=torch.int64) if node_type is None else node_type
                mean, std = mean.index_select(0, kinds), std.index_select(0, kinds)
            x = (x - mean) / std
        return torch.cat([x, (x.square() - 1) / 2**0.5], 1) if self.squares else x


def _check(bundle: Bundle, network: Network) -> None:
    """Raises `InputError` for a network that cannot be computed from plain tensors."""
    scaling = bundle.scaling
    if scaling.geometry or scaling.encodings:
        what = "geometry of scenes" if scaling.geometry else "positional encodings"
        raise InputError(
            f"Expected a model whose features are prepared one by one; got one with {what}, which depend on the whole "
            f"graph. Train it without, or serve it by neuraltrees serve."
        )
    if network.head.reads_labels or network.head.reads_edges or network.head.reads_bags:
        raise InputError(
            f"Expected a head that predicts from states alone; got {type(network.head).__name__}, which "
            f"also reads edges, bags or labels. Train with another head, or serve it by neuraltrees serve."
        )
    if network.needs_tree and not isinstance(network.schedule, TreeRounds):
        raise InputError(
            f"Expected rounds on the H-tree; got the schedule {type(network.schedule).__name__}, which plain tensors "
            f"do not describe. Train with the default schedule, or serve it by neuraltrees serve."
        )
    if network.needs_tree and isinstance(bundle.edge_features, Categories):
        raise InputError(
            "Expected features of edges as numbers for a network on H-trees; got categories, which do not add up. "
            "Train without edge_features, or serve it by neuraltrees serve."
        )
    if isinstance(bundle.given_features, Mapping):
        raise InputError(
            "Expected the same number of features for every node type; got different ones. Serve it by neuraltrees "
            "serve."
        )


def _carried(tree: HTree, edge_index: Tensor, attr: Tensor) -> Tensor:
    """The features of every tree edge: the sum of those of the graph edges that it stands for."""
    carried = tree_edges(tree, edge_index)
    rows = sum_rows(attr.index_select(0, carried.rows.col), carried.rows.row, carried.num_edge_rows)
    return rows.index_select(0, carried.edge)
