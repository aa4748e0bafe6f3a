"""TUDataset: graphs with classes by name, such as `tu:MUTAG`, from the text files in `raw/`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from neuraltrees.data.folds import fold_split
from neuraltrees.data.packed import PackedGraphs, pointers
from neuraltrees.data.task import Task
from neuraltrees.datasets.inventory import PLACES
from neuraltrees.datasets.root import find_data_root
from neuraltrees.datasets.spec import DataSpec
from neuraltrees.datasets.stored_graphs import AGAIN, find_stored
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.nn.encoder import Categories
from neuraltrees.objectives import Classification

FOLDS = 10
ROOTS = (*(f"{place}/" for place in PLACES["tu:NAME"]), "")


@dataclass(frozen=True, eq=False)
class ClassifiedGraphs:
    """Graphs with a class each.

    Args:
        packed: the graphs; `y` numbers the classes from 0.
        labels: the names of the classes, as the files have them.
        features, edge_features: the form of the features.
    """

    packed: PackedGraphs
    labels: tuple[str, ...]
    features: int | Categories
    edge_features: int | Categories | None = None


def load_tu(spec: DataSpec) -> Task:
    """Classes of graphs by ten-fold cross validation: the runs of ten seeds in a row test every graph once."""
    found = tu(spec.dataset.partition(":")[2], spec.data_root)
    return Task(
        found.packed,
        Classification(found.labels, level="graph"),
        splitter=partial(fold_split, found.packed.y, FOLDS),
        features=found.features,
        edge_features=found.edge_features,
    )


def tu(name: str, root: PathLike | None = None) -> ClassifiedGraphs:
    """A dataset in the layout of PyG's `TUDataset(root, name)`.

    Features of nodes are their labels, as categories; without labels their attributes, and without these their degree.
    Features of edges are their labels, if they have any.
    """
    if not re.fullmatch(r"[\w.-]+", name):
        raise InputError(f"Expected the name of a TU dataset, such as tu:MUTAG; got {f'tu:{name}'!r}.")
    advice = f"PyG downloads it: torch_geometric.datasets.TUDataset('ROOT/tu', '{name}').{_others(root)}"
    folder = find_stored(root, f"the TU dataset {name}", [f"{each}{name}/raw" for each in ROOTS], advice)
    ends = _table(folder, name, "A", int)
    owner = _table(folder, name, "graph_indicator", int)[:, 0] - 1
    classes = _table(folder, name, "graph_labels", int)
    try:
        return _graphs(folder, name, ends - 1, owner, classes[:, 0])
    except InputError as error:
        raise InputError(f"{folder}: {error} {AGAIN}") from None


def _graphs(folder: Path, name: str, ends: Tensor, owner: Tensor, classes: Tensor) -> ClassifiedGraphs:
    nodes = len(owner)
    if ends.shape[1] != 2 or (len(ends) and not 0 <= int(ends.min()) <= int(ends.max()) < nodes):
        raise InputError(f"Expected edges between the nodes 1 to {nodes:,}; got one at node {int(ends.max()) + 1:,}.")
    if bool((owner.diff() < 0).any()) or int(owner.min()) < 0 or int(owner.max()) >= len(classes):
        raise InputError(f"Expected the nodes of {len(classes):,} graphs, one graph after another; got others.")
    count = owner.bincount(minlength=len(classes))
    labels = _optional(folder, name, "edge_labels", int, len(ends))
    # Both directions, each once, without self-loops, graph after graph.
    both = torch.cat([ends, ends.flip(1)])
    both_labels = None if labels is None else torch.cat([labels, labels])
    key = both[:, 0] * nodes + both[:, 1]
    kept = (both[:, 0] != both[:, 1]).nonzero().flatten()
    _, first = np.unique(key[kept].numpy(), return_index=True)
    kept = kept[torch.from_numpy(first)]
    edges = both[kept]
    if bool((owner[edges[:, 0]] != owner[edges[:, 1]]).any()):
        raise InputError("Expected edges within graphs; got one between two of them.")
    start = pointers(count)
    x, features = _nodes(folder, name, nodes, edges)
    attr, edge_features = (None, None) if both_labels is None else _from_zero(both_labels[kept])
    values, y = torch.unique(classes, return_inverse=True)
    packed = PackedGraphs(
        x,
        (edges - start[owner[edges[:, 0]]].unsqueeze(1)).t().contiguous(),
        y,
        start,
        pointers(owner[edges[:, 0]].bincount(minlength=len(classes))),
        attr,
    )
    return ClassifiedGraphs(packed, tuple(str(each) for each in values.tolist()), features, edge_features)


def _nodes(folder: Path, name: str, nodes: int, edges: Tensor) -> tuple[Tensor, int | Categories]:
    labels = _optional(folder, name, "node_labels", int, nodes)
    if labels is not None:
        return _from_zero(labels)
    attributes = _optional(folder, name, "node_attributes", float, nodes)
    if attributes is not None:
        return attributes, attributes.shape[1]
    degree = edges[:, 0].bincount(minlength=nodes).unsqueeze(1)
    return degree, Categories((int(degree.max()) + 1,))


def _from_zero(labels: Tensor) -> tuple[Tensor, Categories]:
    """Labels numbered from 0 in every column."""
    columns = [torch.unique(column, return_inverse=True) for column in labels.unbind(1)]
    return torch.stack([place for _, place in columns], 1), Categories(len(values) for values, _ in columns)


def _optional(folder: Path, name: str, what: str, kind: type, rows: int) -> Tensor | None:
    if not (folder / f"{name}_{what}.txt").exists():
        return None
    found = _table(folder, name, what, kind)
    if len(found) != rows:
        raise InputError(f"Expected {rows:,} rows in {name}_{what}.txt; got {len(found):,}.")
    return found


def _table(folder: Path, name: str, what: str, kind: type) -> Tensor:
    path = folder / f"{name}_{what}.txt"
    try:
        found: np.ndarray[Any, Any] = np.loadtxt(path, delimiter=",", dtype=kind, ndmin=2)
    except FileNotFoundError:
        raise InputError(f"Expected the file {path}, beside the others of this dataset; it is missing.") from None
    except ValueError as error:
        raise InputError(f"Expected {path} to be a table of numbers; got: {error}. {AGAIN}") from None
    if not len(found):
        raise InputError(f"Expected {path} to be a table of numbers; it is empty. {AGAIN}")
    return torch.from_numpy(found.astype(np.int64 if kind is int else np.float32))


def _others(root: PathLike | None) -> str:
    """The names of the datasets that are there."""
    folder = find_data_root(root)
    found = {path.parent.parent.name for each in ROOTS for path in (folder / each).glob("*/raw/*_graph_indicator.txt")}
    return f" There are {', '.join(f'tu:{name}' for name in sorted(found))}." if found else ""
