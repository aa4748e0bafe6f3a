"""Columns of many graphs, one graph after another, from which those of some graphs are selected without a loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.movable import moved_fields
from neuraltrees.nn.ensemble.incidence import Incidence, Segments


@dataclass(frozen=True, eq=False)
class Column:
    """A value per row of a space, such as the source of every edge.

    Args:
        values: the rows of all graphs, graph by graph.
        space: what the rows are: "nodes", "edges", ….
        into: the space whose rows the values are numbers of, from 0 in every graph; None for other values.

    Shapes: values :math:`(rows, ...)`
    """

    values: Tensor
    space: str
    into: str | None = None


@dataclass(frozen=True, eq=False)
class Cut:
    """The columns of some graphs, with the rows of each space numbered consecutively from 0.

    Args:
        columns: values by name.
        graph: for every space, the graph of every row, numbered within the cut; for padding, the number of graphs.
        rows: for every space, the number of rows, including padding.
        ptr: for every space, where the rows of each graph begin, and where the last graph ends.
        num_graphs: number of graphs.
        limits: see `Ragged`.
        into: for every column of row numbers, the space of these rows.
        padded: whether the last rows of every space may be padding.

    Shapes: columns :math:`(rows, ...)`, graph :math:`(rows)`, ptr :math:`(B + 1)`
    """

    columns: Mapping[str, Tensor]
    graph: Mapping[str, Tensor]
    rows: Mapping[str, int]
    ptr: Mapping[str, Tensor]
    num_graphs: int
    limits: Mapping[str, int]
    into: Mapping[str, str]
    padded: bool = False

    def __getitem__(self, name: str) -> Tensor:
        return self.columns[name]

    def incidence(self, name: str) -> Incidence:
        """The row of another space that every row belongs to, by the column of that name."""
        into = self.into[name]
        segments = None
        if f"{name}.first" in self.columns:
            count = self.columns[f"{name}.count"]
            if self.padded:
                count = torch.where(self.graph[into] < self.num_graphs, count, 0)
            segments = Segments(self.columns.get(f"{name}.order"), self.columns[f"{name}.first"], count)
        return Incidence(self.columns[name], self.rows[into], segments)

    def to(self, device: torch.device | str) -> Cut:
        """The same on a device."""
        return moved_fields(self, torch.device(device))

    def tensors(self) -> list[Tensor]:
        """All its tensors, in an order that depends on names alone."""
        return [each[name] for each in (self.columns, self.graph, self.ptr) for name in sorted(each)]

    def weight(self, space: str, dtype: torch.dtype) -> Tensor | None:
        """1 for every row, 0 for padding; None if nothing is padded."""
        return (self.graph[space] < self.num_graphs).to(dtype) if self.padded else None


@dataclass(frozen=True, eq=False)
class Ragged:
    """Columns of G graphs, and where each graph begins in every space.

    `cut` selects the rows of some graphs by a few operations, however many graphs there are. With `room`, the shapes of
    its tensors do not depend on the graphs, so that a captured training step can be replayed for different graphs.

    Args:
        ptr: for every space, where the rows of each graph begin, and last the number of rows.
        columns: the columns by name.
        limits: upper bounds over all graphs, by name, such as the depth of a tree.

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

    @property
    def device(self) -> torch.device:
        return next(iter(self.ptr.values())).device

    def to(self, device: torch.device | str) -> Ragged:
        """The same on a device."""
        return moved_fields(self, torch.device(device))

    def with_columns(
        self,
        columns: Mapping[str, Column],
        ptr: Mapping[str, Tensor] | None = None,
        limits: Mapping[str, int] | None = None,
    ) -> Ragged:
        """A copy with more columns, spaces and limits."""
        return Ragged({**self.ptr, **(ptr or {})}, {**self.columns, **columns}, {**self.limits, **(limits or {})})

    def with_segments(self) -> Ragged:
        """A copy with the `Segments` of every column of row numbers of another space, as three more columns."""
        more: dict[str, Column] = {}
        for name, column in self.columns.items():
            if column.into is None or column.into == column.space:
                continue
            entries, rows = self.ptr[column.space], self.ptr[column.into]
            of_entry = torch.arange(self.num_graphs).repeat_interleave(entries.diff())
            of_row = torch.arange(self.num_graphs).repeat_interleave(rows.diff())
            found = Segments.of(column.values + rows[of_entry], int(rows[-1]))
            if found.order is not None:
                more[f"{name}.order"] = Column(found.order - entries[of_entry], column.space, column.space)
            more[f"{name}.first"] = Column(found.first - entries[of_row], column.into, column.space)
            more[f"{name}.count"] = Column(found.count, column.into)
        return self.with_columns(more)

    def sizes(self) -> dict[str, Tensor]:
        """The number of rows of every graph in every space. Shapes: → :math:`(G)`"""
        return {space: ptr.diff() for space, ptr in self.ptr.items()}

    def whole(self) -> Cut:
        """The columns of all graphs."""
        graphs = torch.arange(self.num_graphs, device=next(iter(self.ptr.values())).device)
        return self.cut(graphs)

    def cut(self, graphs: Tensor, room: Mapping[str, int] | None = None) -> Cut:
        """The columns of some graphs.

        Args:
            graphs: the numbers of the graphs.
            room: for every space, the number of rows of the result, more than the graphs have. The other rows are
                padding: they copy the first row of all and refer to the last row of every space, which is padding too.
                By default nothing is padded.

        Shapes: graphs :math:`(B)`
        """
        first = self._ptr[:, graphs]
        size = self._ptr[:, graphs + 1] - first
        end = size.cumsum(1)
        start = end - size
        count = len(graphs)
        rows = self._rows(tuple(end[:, -1].tolist() if count else [0] * len(end)) if room is None else self._room(room))
        # One search for the rows of all spaces: each space has its own range of numbers.
        found = torch.searchsorted((end + rows.base.unsqueeze(1)).flatten(), rows.number, right=True)
        graph = found - rows.space * count
        there = graph < count
        pick = graph.clamp(max=max(0, count - 1)) + rows.space * count
        place = rows.row + (first - start).flatten()[pick] if count else rows.row
        if room is not None:
            place = torch.where(there, place, 0)
        sizes = list(rows.sizes)
        columns: dict[str, Tensor] = {}
        of_row: dict[str, Tensor] = {}
        for space, at, mine, inside in zip(
            self.ptr, *(torch.split(each, sizes) for each in (place, graph, there)), strict=True
        ):
            of_row[space] = mine
            columns |= {name: _never_empty(self.columns[name].values)[at] for name in self._plain[space]}
            names, into, values = self._numbers[space]
            if not names:
                continue
            shifted = values[:, at]
            if count:
                shifted = shifted + start[into][:, mine.clamp(max=count - 1)]
            if room is not None:
                shifted = torch.where(inside, shifted, rows.last[into].unsqueeze(1))
            columns |= dict(zip(names, shifted, strict=True))
        ptr = dict(zip(self.ptr, torch.cat([end.new_zeros(len(end), 1), end], 1), strict=True))
        rows_of = dict(zip(self.ptr, sizes, strict=True))
        return Cut(columns, of_row, rows_of, ptr, count, self.limits, self._into, room is not None)

    def _room(self, room: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(room[space] for space in self.ptr)

    @cached_property
    def _into(self) -> dict[str, str]:
        return {name: each.into for name, each in self.columns.items() if each.into is not None}

    @cached_property
    def _ptr(self) -> Tensor:
        """Shapes: :math:`(spaces, G + 1)`"""
        return torch.stack([*self.ptr.values()])

    @cached_property
    def _plain(self) -> dict[str, list[str]]:
        """The names of the columns of every space that are not row numbers."""
        plain = {name: each for name, each in self.columns.items() if each.into is None}
        return {space: [name for name, each in plain.items() if each.space == space] for space in self.ptr}

    @cached_property
    def _numbers(self) -> dict[str, tuple[list[str], Tensor, Tensor]]:
        """For every space, its columns of row numbers: their names, the spaces they refer to, and their values."""
        order = {space: number for number, space in enumerate(self.ptr)}
        found = {}
        for space in self.ptr:
            names = [name for name, each in self.columns.items() if each.space == space and each.into is not None]
            into = [order[str(self.columns[name].into)] for name in names]
            values = [_never_empty(self.columns[name].values) for name in names]
            found[space] = names, self._ptr.new_tensor(into), torch.stack(values) if names else self._ptr
        return found

    def _rows(self, sizes: tuple[int, ...]) -> _Rows:
        """The rows of spaces of these sizes; the last result is cached."""
        if self._kept.get("sizes") != sizes:
            self._kept.update(sizes=sizes, rows=_Rows.of(sizes, self._ptr.device))
        found: _Rows = self._kept["rows"]
        return found

    @cached_property
    def _kept(self) -> dict[str, Any]:
        return {}


def _never_empty(values: Tensor) -> Tensor:
    """Values with a row for padding to copy."""
    return values if len(values) else values.new_zeros(1, *values.shape[1:])


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of all spaces, one space after another.

    Args:
        sizes: the number of rows of every space.
        space, row: the space of each row, and its number there.
        base: where the range of numbers of every space begins.
        number: the number of every row in the range of its space.
        last: the last row of every space.
    """

    sizes: tuple[int, ...]
    space: Tensor
    row: Tensor
    base: Tensor
    number: Tensor
    last: Tensor

    @classmethod
    def of(cls, sizes: tuple[int, ...], device: torch.device) -> _Rows:
        each = torch.tensor(sizes, device=device)
        space = torch.arange(len(sizes), device=device).repeat_interleave(each)
        row = torch.arange(sum(sizes), device=device) - (each.cumsum(0) - each)[space]
        base = torch.arange(len(sizes), device=device) * (max(sizes, default=0) + 1)
        return cls(sizes, space, row, base, row + base[space], each - 1)


def grouped(values: Mapping[str, Tensor], graph: Tensor, num_graphs: int) -> tuple[dict[str, Tensor], Tensor]:
    """The rows sorted by graph, and where each graph begins.

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
