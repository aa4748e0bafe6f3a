"""Graphs that are hard to distinguish: CSL and EXP with classes, BREC and SR25 as pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import torch
from torch_geometric.data import Data

from neuraltrees.data.folds import fold_split
from neuraltrees.data.packed import PackedGraphs
from neuraltrees.data.task import Task
from neuraltrees.datasets.inventory import PLACES
from neuraltrees.datasets.spec import DataSpec
from neuraltrees.datasets.stored_graphs import AGAIN, as_tensor, find_stored, read_arrays, read_processed
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.nn.encoder import Categories
from neuraltrees.objectives import Classification

FOLDS = {"csl": 5, "exp": 10}  # as in the papers that introduced them as benchmarks
NAMES = {"csl": [f"skip length {n}" for n in (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)], "exp": ["0", "1"]}

# The files of BREC, by the name of their category; pairs are in a row, or one after another.
BREC = {
    "basic": "basic",
    "regular": "simple regular",
    "str": "strongly regular",
    "extension": "extension",
    "cfi": "CFI",
    "4vtx": "4-vertex condition",
    "dr": "distance regular",
}


@dataclass(frozen=True, eq=False)
class GraphPair:
    """Two graphs that are not isomorphic; all nodes have the same features."""

    category: str
    first: Data
    second: Data


def load_expressivity(spec: DataSpec) -> Task:
    """CSL: which of ten circulant graphs; EXP: whether a formula can be satisfied. Cross validation by the seed."""
    name = spec.dataset
    packed = classified(name, spec.data_root)
    labels = NAMES[name]
    sizes = Categories((2 if name == "exp" else 1,))
    splitter = partial(fold_split, packed.y, FOLDS[name])
    return Task(packed, Classification(labels, level="graph"), splitter=splitter, features=sizes)


def classified(name: str, root: PathLike | None = None) -> PackedGraphs:
    """The graphs of CSL (150, ten classes) or EXP (1,200, two classes)."""
    advice = "Put the file there."
    if name == "csl":
        advice = "PyG downloads it: torch_geometric.datasets.GNNBenchmarkDataset('ROOT', 'CSL')."
    path = find_stored(root, name.upper(), PLACES[name], advice)
    return _plain(read_processed(path) if path.suffix == ".pt" else _read(path), name == "exp")


def _read(path: Path) -> PackedGraphs:
    names = ("x", "edge_index", "y", "ptr_x", "ptr_edge_index")
    x, edge_index, y, node_ptr, edge_ptr = (as_tensor(each) for each in read_arrays(path, names).values())
    try:
        return PackedGraphs(x.reshape(len(x), -1), edge_index, y, node_ptr, edge_ptr)
    except InputError as error:
        raise InputError(f"{path}: {error} {AGAIN}") from None


def _plain(packed: PackedGraphs, categories: bool) -> PackedGraphs:
    """The graphs with integer features: their own, or 0 for every node."""
    x = packed.x.long() if categories else torch.zeros(len(packed.x), 1, dtype=torch.int64)
    return PackedGraphs(x, packed.edge_index, packed.y, packed.node_ptr, packed.edge_ptr)


def brec(root: PathLike | None = None) -> list[GraphPair]:
    """The 400 pairs of BREC (Wang and Zhang, 2024): graphs that 1-WL, and for some the 3-WL test, cannot tell apart."""
    folder = find_stored(root, "BREC", PLACES["brec"], "Put its .npy files into such a folder.")
    return [pair for file, category in BREC.items() for pair in _pairs(folder / f"{file}.npy", category)]


def _pairs(path: Path, category: str) -> list[GraphPair]:
    try:
        coded = np.load(path, allow_pickle=False).reshape(-1, 2)
    except FileNotFoundError:
        raise InputError(f"Expected the file {path}, beside the others of BREC; it is missing.") from None
    except (ValueError, EOFError) as error:
        raise InputError(f"Expected {path} to be an array of graphs in graph6; got: {error}. {AGAIN}") from None
    pairs = []
    for row in coded.tolist():
        try:
            first, second = (_decoded(each) for each in row)
        except (nx.NetworkXError, ValueError, IndexError) as error:
            raise InputError(f"Expected {path} to be an array of graphs in graph6; got: {error}. {AGAIN}") from None
        pairs.append(GraphPair(category, first, second))
    return pairs


def _decoded(text: bytes | str) -> Data:
    graph = nx.from_graph6_bytes(text if isinstance(text, bytes) else text.encode())
    edges = torch.tensor(list(graph.edges), dtype=torch.int64).reshape(-1, 2).t()
    both = torch.stack([edges, edges.flip(0)], -1).flatten(1)
    return Data(x=torch.zeros(graph.number_of_nodes(), 1, dtype=torch.int64), edge_index=both)


def sr25(root: PathLike | None = None) -> list[GraphPair]:
    """All 105 pairs of the 15 strongly regular graphs with 25 nodes of degree 12."""
    path = find_stored(root, "SR25", PLACES["sr25"], "Put the file there.")
    graphs = [Data(x=graph.x, edge_index=graph.edge_index) for graph in _plain(_read(path), False)]
    return [GraphPair("strongly regular", *pair) for pair in combinations(graphs, 2)]
