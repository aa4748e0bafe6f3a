"""Columns of many graphs, one after another, from which those of any few graphs are taken without a loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.movable import moved_fields


@dataclass(frozen=True, eq=False)
class Column:
    """A value per row of a space, such as the source of every edge.

    Args:
        values: the rows of all graphs, graph by graph.
        space: what the rows are: "nodes", "edges", ….
        into: the space whose rows the values count, from 0 in every graph; None for values that are no such numbers.

    Shapes: values :math:`(rows, ...)`
    """

    values: Tensor
    space: str
    into: str | None = None


@dataclass(frozen=True, eq=False)
class Cut:
    """The columns of some graphs, the rows of each space numbered from 0 through all of them.

    Args:
        columns: values by name.
        graph: for every space the graph of every row, counted within the cut; for padding the number of graphs.
        rows: for every space the number of rows, padding included.
        ptr: for every space where the rows of each graph begin, and where the last ends.
        num_graphs: how many graphs there are.
        limits: see `Ragged`.
        padded: whether the last rows of every space may be padding.

    Shapes: columns :math:`(rows, ...)`, graph :math:`(rows)`, ptr :math:`(B + 1)`
    """

    columns: Mapping[str, Tensor]
    graph: Mapping[str, Tensor]
    rows: Mapping[str, int]
    ptr: Mapping[str, Tensor]
    num_graphs: int
    limits: Mapping[str, int]
    padded: bool = False

    def __getitem__(self, name: str) -> Tensor:
        return self.columns[name]

    def weight(self, space: str, dtype: torch.dtype) -> Tensor | None:
        """One for every row that is no padding, zero for padding; None where there is none of it."""
        return (self.graph[space] < self.num_graphs).to(dtype) if self.padded else None


@dataclass(frozen=True, eq=False)
class Ragged:
    """Columns of G graphs and where each graph begins in every space.

    `cut` takes the rows of some graphs by a few operations, whatever their number, and with `room` into tensors whose
    shapes do not depend on which graphs they are: so a training step on other graphs every time can be replayed on a
    GPU.

    Args:
        ptr: for every space where the rows of each graph begin, and at last the number of rows.
        columns: by name.
        limits: numbers that no graph exceeds, by name, such as the depth of its tree.

    Shapes: ptr :math:`(G + 1)`

    >>> ptr = {"nodes": torch.tensor([0, 2, 5]), "edges": torch.tensor([0, 1, 3])}
    >>> source = Column(torch.tensor([0, 1, 2]), "edges", into="nodes")
    >>> Ragged(ptr, {"source": source}).cut(torch.tensor([1, 0]))["source"].tolist()
    [1, 2, 3]
    """

    ptr: Mapping[str, Tensor]
    columns: Mapping[str, Column]
    limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def num_graphs(self) -> int:
        return len(next(iter(self.ptr.values()))) - 1

    def to(self, device: torch.device | str) -> Ragged:
        """The same on a device."""
        return moved_fields(self, torch.device(device))

    def with_columns(
        self,
        columns: Mapping[str, Column],
        ptr: Mapping[str, Tensor] | None = None,
        limits: Mapping[str, int] | None = None,
    ) -> Ragged:
        """The same with more columns, spaces and limits."""
        return Ragged({**self.ptr, **(ptr or {})}, {**self.columns, **columns}, {**self.limits, **(limits or {})})

    def sizes(self) -> dict[str, Tensor]:
        """How many rows every graph has in every space. Shapes: → :math:`(G)`"""
        return {space: ptr.diff() for space, ptr in self.ptr.items()}

    def whole(self) -> Cut:
        """The columns of all graphs."""
        graphs = torch.arange(self.num_graphs, device=next(iter(self.ptr.values())).device)
        return self.cut(graphs)

    def cut(self, graphs: Tensor, room: Mapping[str, int] | None = None) -> Cut:
        """The columns of some graphs.

        Args:
            graphs: their numbers; with `room`, G stands for a graph without rows.
            room: for every space the number of rows to make, more than the graphs have. The rest is padding: rows
                that copy the first of all and count the last row of every space, so that they meet padding alone.
                By default there is none.

        Shapes: graphs :math:`(B)`
        """
        first, start, graph, found, bounds = {}, {}, {}, {}, {}
        for space, ptr in self.ptr.items():
            if room is not None:  # a last graph without rows
                ptr = torch.cat([ptr, ptr[-1:]])
            first[space] = ptr[graphs]
            size = ptr[graphs + 1] - first[space]
            end = size.cumsum(0)
            start[space] = end - size
            bounds[space] = torch.cat([end.new_zeros(1), end])
            rows = int(end[-1]) if room is None and len(end) else 0 if room is None else room[space]
            row = torch.arange(rows, device=ptr.device)
            graph[space] = torch.searchsorted(end, row, right=True)
            inside = graph[space].clamp(max=max(0, len(graphs) - 1))
            place = first[space][inside] + row - start[space][inside] if rows else row
            found[space] = place if room is None else torch.where(graph[space] < len(graphs), place, 0)
        taken = {name: self._taken(column, found, start, graph, room) for name, column in self.columns.items()}
        rows_of = {space: len(each) for space, each in graph.items()}
        return Cut(taken, graph, rows_of, bounds, len(graphs), self.limits, room is not None)

    def _taken(
        self,
        column: Column,
        found: Mapping[str, Tensor],
        start: Mapping[str, Tensor],
        graph: Mapping[str, Tensor],
        room: Mapping[str, int] | None,
    ) -> Tensor:
        rows = found[column.space]
        if len(column.values) == 0:
            shape = (len(rows), *column.values.shape[1:])
            last = 0 if room is None or column.into is None else room[column.into] - 1
            return column.values.new_full(shape, last)
        values = column.values[rows]
        if column.into is None:
            return values
        of, count = graph[column.space], len(start[column.into])
        shifted = values + start[column.into][of.clamp(max=max(0, count - 1))] if count else values
        return shifted if room is None else torch.where(of < count, shifted, room[column.into] - 1)


def grouped(values: Mapping[str, Tensor], graph: Tensor, num_graphs: int) -> tuple[dict[str, Tensor], Tensor]:
    """Rows in the order of their graphs, and where each graph begins.

    Shapes: graph :math:`(rows)` → ptr :math:`(G + 1)`
    """
    counts = graph.bincount(minlength=num_graphs)
    if len(counts) > num_graphs:
        raise InputError(f"Expected rows of {num_graphs} graphs; got one of graph {len(counts) - 1}.")
    ptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    if bool((graph.diff() >= 0).all()):
        return dict(values), ptr
    order = graph.argsort(stable=True)
    return {name: each[order] for name, each in values.items()}, ptr
