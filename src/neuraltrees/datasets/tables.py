"""A graph from your own files: a list of edges and a table of nodes, or GraphML with attributes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.data.folds import stored_split
from neuraltrees.data.splits import Split, random_node_split
from neuraltrees.data.task import TableColumns, Task
from neuraltrees.datasets.spec import DataSpec
from neuraltrees.errors import InputError
from neuraltrees.graph_files import NodeTable, read_graph, read_node_table

PARTS = {"train": 0, "training": 0, "val": 1, "valid": 1, "validation": 1, "test": 2}


@dataclass(frozen=True, eq=False)
class GraphTable:
    """A graph with a row of texts per node, including nodes without edges.

    Shapes: edge_index :math:`(2, m)`, both directions of every edge
    """

    table: NodeTable
    edge_index: Tensor

    @classmethod
    def read(cls, edges: str, nodes: str | None) -> GraphTable:
        """The graph of a file, with the table of its nodes from another file or from GraphML itself."""
        named = read_graph(edges)
        if nodes is None:
            if not named.columns:
                raise InputError(
                    f"Expected the features of the nodes of {edges}; got none. "
                    f"Give a CSV file with a row per node: nodes=FILE. For a table of molecules: smiles=COLUMN."
                )
            table = NodeTable(str(edges), named.names, named.columns, (0,) * len(named.names))
            return cls(table, named.graph.edge_index)
        table = read_node_table(nodes)
        row = {name: number for number, name in enumerate(table.names)}
        missing = next((name for name in named.names if name not in row), None)
        if missing is not None:
            raise InputError(f"Expected edges between the nodes of {nodes}; got {missing!r} in {edges}.")
        return cls(table, torch.tensor([row[name] for name in named.names], dtype=torch.int64)[named.graph.edge_index])

    def columns(self, without: Sequence[str]) -> list[str]:
        """The names of all columns but some."""
        names = [name for name in self.table.columns if name not in without]
        if not names:
            raise InputError(f"{self.table.source}: expected at least one column of numbers as a feature; got none.")
        return names

    def features(self, columns: Sequence[str]) -> Tensor:
        """The numbers of some columns, in this order.

        Shapes: → :math:`(n, F)`
        """
        return torch.tensor([self._numbers(name) for name in columns], dtype=torch.float32).t().contiguous()

    def _numbers(self, name: str) -> list[float]:
        found = []
        for node, cell in enumerate(self.table.columns[name]):
            try:
                number = float({"true": "1", "false": "0"}.get(cell.lower(), cell))
            except ValueError:
                number = math.nan
            if not math.isfinite(number):
                raise InputError(
                    f"{self.table.place(node)}: expected a number in column {name!r}; got {cell!r:.40}. "
                    f"Leave the column out: ignore={name}."
                )
            found.append(number)
        return found


def load_files(spec: DataSpec) -> Task:
    """Classify the nodes of one graph, read from files."""
    given = GraphTable.read(spec.dataset, spec.nodes)
    table = given.table
    y, labels = _labels(table, spec.label)
    skipped = _columns(table, spec.ignore)
    columns = given.columns([spec.label, *skipped, *([] if spec.split_column is None else [spec.split_column])])
    if spec.split_column is None:
        splitter: Any = partial(_random_split, y >= 0, spec.train_share)
    else:
        splitter = partial(stored_split, _stored(table, spec.split_column))
    graph = Data(x=given.features(columns), y=y, edge_index=given.edge_index)
    inputs = TableColumns(tuple(columns))
    return Task([graph], {"node": labels}, spec.max_treewidth, spec.seed, splitter=splitter, inputs=inputs)


def read_unlabelled(
    edges: str, nodes: str | None, ignore: str | None, columns: Sequence[str] | None
) -> tuple[list[Data], list[list[str]]]:
    """A graph to predict for, and the names of its nodes.

    Args:
        edges: the file of the edges.
        nodes: the table of the nodes; None if `edges` has their attributes.
        ignore: columns that are not features, separated by commas.
        columns: the columns that the network was trained on, whatever else the table has; None if that is not known.
    """
    given = GraphTable.read(edges, nodes)
    ignored = _columns(given.table, ignore)
    if columns is None:
        columns = given.columns(ignored)
    for name in columns:
        given.table.column(name, "a feature that the network was trained on")
    return [Data(x=given.features(columns), edge_index=given.edge_index)], [list(given.table.names)]


def _columns(table: NodeTable, ignore: str | None) -> list[str]:
    listed = [each.strip() for each in (ignore or "").split(",") if each.strip()]
    for name in listed:
        table.column(name, "values to ignore")
    return listed


def _labels(table: NodeTable, name: str) -> tuple[Tensor, list[str]]:
    """The label of every node, -1 where the cell is empty, and their names in order.

    Shapes: → :math:`(n)`
    """
    if name not in table.columns:
        raise InputError(
            f"{table.source}: expected a column {name!r} with the labels of the nodes; got the columns "
            f"{', '.join(table.columns)}. Name yours: label=COLUMN."
        )
    cells = table.columns[name]
    found = {cell for cell in cells if cell}
    if len(found) < 2:
        raise InputError(f"{table.source}: expected at least two labels in column {name!r}; got {len(found)}.")
    whole = all(re.fullmatch(r"-?\d{1,18}", cell, re.ASCII) for cell in found)
    labels = sorted(found, key=int) if whole else sorted(found)
    number: Mapping[str, int] = {label: place for place, label in enumerate(labels)}
    return torch.tensor([number.get(cell, -1) for cell in cells]), labels


def _stored(table: NodeTable, name: str) -> Tensor:
    """The part of every node by a column: 0 to train, 1 to validate, 2 to test, -1 for none.

    Shapes: → :math:`(n)`
    """
    parts = []
    for node, cell in enumerate(table.column(name, "train, val or test")):
        if cell and cell.lower() not in PARTS:
            raise InputError(
                f"{table.place(node)}: expected train, val, test or nothing in {name!r}; got {cell!r:.40}."
            )
        parts.append(PARTS.get(cell.lower(), -1))
    return torch.tensor(parts)


def _random_split(labelled: Tensor, share: float, seed: int) -> Split:
    """Shares of the nodes that have a label."""
    places = labelled.nonzero().flatten()
    drawn = random_node_split(len(places), share, seed=seed)
    masks = []
    for mask in (drawn.train, drawn.val, drawn.test):
        masks.append(torch.zeros(len(labelled), dtype=torch.bool).index_put_((places[mask],), torch.tensor(True)))
    return Split(*masks)
