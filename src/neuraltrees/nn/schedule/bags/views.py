"""Nodes with equal views, whose states after the layers that read the graph alone are equal for any weights.

The view of depth 0 of a node is its features; that of depth t + 1 is its view of depth t and the multiset of those of
its neighbours, each with the features of the edge. In a batch of peptides, which consist of few kinds of amino acids,
most nodes have the same view as many others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from neuraltrees.nn.ensemble.incidence import Incidence
from neuraltrees.nn.ensemble.rows import Rows
from neuraltrees.nn.ragged import Column, Cut, Ragged
from neuraltrees.nn.schedule.multisets import Array, distinct

LARGEST = 2**62
FEW = 2**16  # integers up to it number themselves


@dataclass(frozen=True, eq=False)
class ViewEdges:
    """What a layer reads that computes the state of every view once: the edges to one node of each view.

    Args:
        source, target: the view before the layer that sends, and the view after it that receives.
        before: for every view after the layer, the view before it of the same nodes.
        edge: the edge of the graph.
        copies: the number of nodes that have each view after the layer.

    Shapes: edge :math:`(E)`, copies :math:`(V)`
    """

    source: Incidence
    target: Incidence
    before: Incidence
    edge: Tensor
    copies: Tensor

    def read(self, which: str, h: Tensor) -> Tensor:
        """The states that edges are read from; see `BagPlan.read`."""
        return h

    def own(self, h: Tensor) -> Tensor:
        """The state before the layer of the nodes of every view after it."""
        return self.before.take(h)

    def carried(self, rows: Rows) -> Tensor:
        """The row of edge features that every edge carries."""
        return rows.index.index_select(0, self.edge)

    def features(self, edges: Tensor) -> Tensor:
        """The features of every edge."""
        return edges.index_select(0, self.edge)


@dataclass(frozen=True, eq=False)
class BagStarts:
    """What the initial states of bags are made of; see `BagParts`."""

    kind: Tensor
    size: Tensor
    member_node: Incidence
    member_bag: Incidence
    inside_edge: Incidence
    inside_bag: Incidence
    code: Tensor | None = None


@dataclass(frozen=True, eq=False)
class BagViews:
    """The bags that start with equal states: of the same kind and size, with nodes of equal views and equal edges.

    Args:
        of_bag: the view of every bag.
        starts: what the states of views are made of: nodes are numbered by their views.
    """

    of_bag: Incidence
    starts: BagStarts

    @classmethod
    def of(cls, cut: Cut, of_node: Incidence) -> BagViews:
        """The views of the bags of a cut, given those of its nodes."""
        found = _Distinct.of(cut["bag_view"])
        member_bag, inside_bag = cut["member_bag"], cut["inside_bag"]
        member, inside = found.entries_of(member_bag), found.entries_of(inside_bag)
        count = len(found.node)
        starts = BagStarts(
            cut["kind"][found.node],
            cut["size"][found.node],
            Incidence(of_node.index[cut["member_node"][member]], of_node.rows),
            Incidence(found.of_node[member_bag[member]], count),
            Incidence(cut["inside_edge"][inside], cut.rows["edges"]),
            Incidence(found.of_node[inside_bag[inside]], count),
        )
        return cls(Incidence(found.of_node, count), starts)


@dataclass(frozen=True, eq=False)
class Views:
    """The views of the nodes of some graphs.

    Args:
        node: a node with each view of depth 0.
        layers: what each of the first layers reads.
        last: the view of every node after these layers.
        bags: the views of bags; None if there are no bags.
    """

    node: Tensor
    layers: tuple[ViewEdges, ...]
    last: Incidence
    bags: BagViews | None

    @classmethod
    def of(cls, cut: Cut, dtype: torch.dtype) -> Views | None:
        """The views of a cut with the columns of `view_columns`; None if it has none."""
        columns = [cut[name] for name in _names(cut.columns)]
        if not columns:
            return None
        source, target = cut["source"], cut["target"]
        states = [_Distinct.of(each) for each in columns]
        layers = []
        for before, after in pairwise(states):
            edge = after.entries_of(target)
            layers.append(
                ViewEdges(
                    Incidence(before.of_node[source[edge]], len(before.node)),
                    Incidence(after.of_node[target[edge]], len(after.node)),
                    Incidence(before.of_node[after.node], len(before.node)),
                    edge,
                    after.copies.to(dtype),
                )
            )
        last = Incidence(states[-1].of_node, len(states[-1].node))
        bags = BagViews.of(cut, last) if "bag_view" in cut.columns else None
        return cls(states[0].node, tuple(layers), last, bags)


@dataclass(frozen=True, eq=False)
class _Distinct:
    """The distinct values of a column: the number of every row's, and for each a row that has it and the number of
    these.
    """

    of_node: Tensor
    node: Tensor
    copies: Tensor

    @classmethod
    def of(cls, values: Tensor) -> _Distinct:
        found, of_node, copies = torch.unique(values, return_inverse=True, return_counts=True)
        rows = torch.arange(len(values), device=values.device)
        # The first node of each: the choice does not change a state, but could change how it is rounded.
        node = rows.new_full((len(found),), len(values)).scatter_reduce_(0, of_node, rows, "amin")
        return cls(of_node, node, copies)

    def entries_of(self, row: Tensor) -> Tensor:
        """The entries of the chosen rows, given the row of every entry."""
        chosen = torch.zeros(len(self.of_node), dtype=torch.bool, device=row.device)
        chosen[self.node] = True
        return chosen[row].nonzero().flatten()


def view_columns(ragged: Ragged, depth: int) -> dict[str, Column]:
    """The number of the view of every node at every depth, and of every bag after the last: equal for two nodes if and
    only if their views are.

    Args:
        ragged: the columns of some graphs, with the features x and, where networks read them, edge_attr and node_type.
        depth: the largest depth.
    """
    source, target = _rows_in(ragged, "source"), _rows_in(ragged, "target")
    features = [ragged.columns[name].values for name in ("x", "node_type") if name in ragged.columns]
    colour = numbered_rows(features)
    kind = np.zeros(len(source), np.int64)
    if "edge_attr" in ragged.columns:
        kind = numbered_rows([ragged.columns["edge_attr"].values])
    order, start = _by_row(target, len(colour))
    kinds, colours = int(kind.max(initial=0)) + 1, [colour]
    for _ in range(depth):
        colours.append(distinct(start, (colours[-1][source] * kinds + kind)[order], colours[-1]))
    columns = {f"view.{number}": Column(torch.from_numpy(each), "nodes") for number, each in enumerate(colours)}
    if "kind" in ragged.columns:
        columns["bag_view"] = Column(torch.from_numpy(_bag_views(ragged, colours[-1], kind)), "bags")
    return columns


def _bag_views(ragged: Ragged, colour: Array, kind: Array) -> Array:
    """The number of the view of every bag, given those of nodes and the numbers of the features of edges."""
    found = numbered_rows([ragged.columns[name].values for name in ("kind", "size")])
    members = _rows_in(ragged, "member_bag"), colour[_rows_in(ragged, "member_node")]
    inside = _rows_in(ragged, "inside_bag"), kind[_rows_in(ragged, "inside_edge")]
    for bag, items in (members, inside):
        order, start = _by_row(bag, len(found))
        found = distinct(start, items[order], found)
    return found


def _rows_in(ragged: Ragged, name: str) -> Array:
    """A column of row numbers, which count the rows of all graphs."""
    column = ragged.columns[name]
    shift = ragged.ptr[str(column.into)][:-1].repeat_interleave(ragged.ptr[column.space].diff())
    return _array(column.values + shift)


def _by_row(row: Array, rows: int) -> tuple[Array, Array]:
    """The entries in the order of their rows, and where each row starts and the last one ends."""
    return np.argsort(row, kind="stable"), np.concatenate([[0], np.bincount(row, minlength=rows).cumsum()])


def numbered_rows(parts: Sequence[Tensor]) -> Array:
    """A number per row, from 0: equal if and only if the rows are equal in all parts.

    Shapes: parts :math:`(n, ...)`

    >>> numbered_rows([torch.tensor([[1.5, 2.0], [0.5, 2.0], [1.5, 2.0]]), torch.tensor([0, 0, 0])]).tolist()
    [1, 0, 1]
    """
    found, size = np.zeros(len(parts[0]), np.int64), 1
    wide = (part.flatten(1) if part.dim() > 1 else part.unsqueeze(1) for part in parts)
    for column in (column for part in wide for column in part.unbind(1)):
        number, most = _numbered(_array(column))
        if size * most > LARGEST:
            found = np.unique(found, return_inverse=True)[1]
            size = int(found.max(initial=0)) + 1
        found, size = found * most + number, size * most
    return np.unique(found, return_inverse=True)[1]


def _numbered(values: Array) -> tuple[Array, int]:
    """A number per value, from 0, equal for equal values, and more than the largest of them."""
    if values.dtype.kind not in "iu" or values.min(initial=0) < 0 or values.max(initial=0) > FEW:
        values = np.unique(values, return_inverse=True)[1]
    return values.astype(np.int64), int(values.max(initial=0)) + 1


def _array(values: Tensor) -> Array:
    found: Array = values.cpu().numpy()
    return found


def _names(columns: Mapping[str, Tensor]) -> list[str]:
    """The names of the columns of views, by depth."""
    names = [name for name in columns if name.startswith("view.")]
    return sorted(names, key=lambda name: int(name.removeprefix("view.")))
