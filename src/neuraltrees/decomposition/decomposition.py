"""Stage 2: the tree decomposition as a value."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from neuraltrees._core import native
from neuraltrees.checks import check_at_least
from neuraltrees.errors import InputError, InvalidDecompositionError, ParseError
from neuraltrees.files import PathLike, read_whole, write_whole
from neuraltrees.graph import Graph, Int32, Int64, check_num_nodes, node_list

Int8: TypeAlias = npt.NDArray[np.int8]


class BagKind(IntEnum):
    """What a bag of a canonical decomposition stands for; see `decompose`.

    >>> BagKind(3).name
    'CYCLE'
    """

    OTHER = 0
    """A bag of any other decomposition."""
    VERTEX = 1
    """A cut vertex, or an isolated one, alone."""
    BRIDGE = 2
    """The ends of a bridge."""
    CYCLE = 3
    """A cycle of the SPQR tree of a block."""
    PAIR = 4
    """A separation pair of a block."""
    RIGID = 5
    """A 3-connected part of a block."""


class Bags(Sequence[tuple[int, ...]]):
    """The bags as sorted tuples, created on access."""

    def __init__(self, ptr: Int64, nodes: Int32) -> None:
        self._ptr = ptr
        self._nodes = nodes

    def __len__(self) -> int:
        return len(self._ptr) - 1

    @overload
    def __getitem__(self, index: int) -> tuple[int, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[int, ...]]: ...
    def __getitem__(self, index: int | slice) -> tuple[int, ...] | list[tuple[int, ...]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        return tuple(self._nodes[self._ptr[index] : self._ptr[index + 1]].tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # makes it unhashable

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:10]))
        return f"[{shown}{', …' if len(self) > 10 else ''}]"


@dataclass(frozen=True, init=False, eq=False, repr=False)
class TreeDecomposition:
    """Bags of graph nodes joined to a tree, or to a forest with one tree per connected component.

    Every node and every edge of the graph is in a bag, and the bags that hold a node are connected. The width is the
    size of the largest bag minus one.

    Args:
        bags: the bags, as iterables of node ids.
        edges: pairs of bag numbers.
        num_nodes: nodes of the graph; by default one more than the largest id in a bag.
        lower_bound: a proven lower bound on the graph's treewidth, if one is known.

    >>> td = TreeDecomposition([{0, 1, 2}, {1, 2, 3}], edges=[(0, 1)])
    >>> td
    TreeDecomposition(num_nodes=4, num_bags=2, width=2, lower_bound=0)
    >>> td.bags[1], td.edges.tolist()
    ((1, 2, 3), [[0, 1]])
    """

    num_nodes: int
    lower_bound: int
    bag_ptr: Int64
    bag_nodes: Int32
    edges: Int32
    note: str | None
    """Which cheaper method `decompose` used instead of the requested one, and why; None if it did not."""
    kinds: Int8 | None
    """The `BagKind` of every bag of a canonical decomposition; None for other methods."""
    bag_order: Int32 | None
    """As `bag_nodes`, but cycles in cyclic order and other bags sorted; None for methods other than canonical."""

    def __init__(
        self,
        bags: Iterable[Iterable[int]],
        edges: npt.ArrayLike = (),
        num_nodes: int | None = None,
        lower_bound: int | None = None,
    ) -> None:
        if num_nodes is not None:
            check_num_nodes(num_nodes)
        if lower_bound is not None:
            check_at_least("lower_bound", lower_bound, -1)
        try:
            listed = [np.asarray(sorted(bag)) for bag in bags]
            pairs = np.asarray(edges)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"Expected bags as lists of node numbers and edges as pairs of bag numbers; got: {error}."
            ) from None
        for i, bag in enumerate(listed):
            if bag.size and not np.issubdtype(bag.dtype, np.integer):
                raise InputError(f"Expected bags of integers; got {bag.dtype} in bag {i}.")
        highest = max((int(bag[-1]) for bag in listed if bag.size), default=-1)
        if highest >= native.MAX_GRAPH_NODES:
            raise InputError(
                f"Expected node ids below {native.MAX_GRAPH_NODES}, which the core numbers in 32 bits; got {highest}. "
                "Number the nodes 0, 1, 2, … without gaps, or split the graph."
            )
        count = highest + 1 if num_nodes is None else int(num_nodes)
        for i, bag in enumerate(listed):
            if bag.size and (bag[0] < 0 or bag[-1] >= count):
                wrong = bag[0] if bag[0] < 0 else bag[-1]
                raise InvalidDecompositionError(f"Expected nodes between 0 and {count - 1}; got {wrong} in bag {i}.")
            if bag.size and (np.diff(bag) == 0).any():
                raise InvalidDecompositionError(f"Expected distinct nodes in a bag; bag {i} holds one twice.")
        if pairs.size == 0:
            pairs = np.zeros((0, 2), np.int32)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
            raise InputError(f"Expected edges as pairs of bag numbers; got shape {pairs.shape} of {pairs.dtype}.")
        if pairs.size and (pairs.min() < 0 or pairs.max() >= len(listed)):
            wrong = pairs.min() if pairs.min() < 0 else pairs.max()
            raise InvalidDecompositionError(f"Expected edges between bags 0 and {len(listed) - 1}; got {wrong}.")
        width = max((len(bag) for bag in listed), default=0) - 1
        if lower_bound is not None and lower_bound > width:
            raise InputError(f"Expected a lower_bound of at most the width {width}; got {lower_bound}.")
        self._set(
            count,
            (0 if count else -1) if lower_bound is None else lower_bound,
            np.cumsum([0] + [len(bag) for bag in listed], dtype=np.int64),
            np.concatenate([np.zeros(0, np.int32), *(bag.astype(np.int32) for bag in listed)]),
            np.array(pairs, dtype=np.int32, order="C"),
        )

    def _set(
        self,
        num_nodes: int,
        lower_bound: int,
        bag_ptr: Int64,
        bag_nodes: Int32,
        edges: Int32,
        note: str | None = None,
        kinds: Int8 | None = None,
        bag_order: Int32 | None = None,
    ) -> None:
        values = (num_nodes, lower_bound, bag_ptr, bag_nodes, edges, note, kinds, bag_order)
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def _from_arrays(
        cls,
        num_nodes: int,
        bag_ptr: Int64,
        bag_nodes: Int32,
        edges: Int32,
        lower_bound: int | None = None,
        made_for: Graph | None = None,
        note: str | None = None,
        kinds: Int8 | None = None,
        bag_order: Int32 | None = None,
    ) -> TreeDecomposition:
        td = cls.__new__(cls)
        bound = (0 if num_nodes else -1) if lower_bound is None else lower_bound
        td._set(num_nodes, bound, bag_ptr, bag_nodes, edges, note, kinds, bag_order)
        if made_for is not None:
            object.__setattr__(td, "_made_for", weakref.ref(made_for))
        return td

    def was_made_for(self, graph: Graph) -> bool:
        """Whether the library built it from this `Graph` object; both are immutable, so it needs no check."""
        made_for: weakref.ref[Graph] | None = self.__dict__.get("_made_for")
        return made_for is not None and made_for() is graph

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(**state)  # a copied array is writeable again

    @classmethod
    def from_elimination_order(cls, graph: Graph, order: npt.ArrayLike) -> TreeDecomposition:
        """Eliminates the nodes in the given order and keeps the maximal bags.

        >>> from neuraltrees import Graph
        >>> TreeDecomposition.from_elimination_order(Graph([[0, 1, 2, 3], [1, 2, 3, 0]]), [0, 1, 2, 3]).bags
        [(1, 2, 3), (0, 1, 3)]
        """
        graph = Graph.of(graph)
        nodes = node_list(order, graph.num_nodes)
        if len(nodes) != graph.num_nodes:
            raise InputError(f"Expected an order of all {graph.num_nodes} nodes; got {len(nodes)} of them.")
        bag_ptr, bag_nodes, edges = native.decomposition_from_order(graph.indptr, graph.indices, nodes)
        return cls._from_arrays(graph.num_nodes, bag_ptr, bag_nodes, edges)

    @classmethod
    def read_td(cls, path: PathLike) -> TreeDecomposition:
        """Reads a PACE `.td` file, plain, `.gz` or `.xz`."""
        try:
            bag_ptr, bag_nodes, edges, num_nodes = native.parse_td(read_whole(path))
        except ParseError as error:
            raise ParseError(f"{path}: {error}") from None
        return cls._from_arrays(num_nodes, bag_ptr, bag_nodes, edges)

    def write_td(self, path: PathLike, names: Sequence[str] = ()) -> None:
        """Writes a PACE `.td` file, plain, `.gz` or `.xz`; a forest is joined to one tree, as the format requires.

        Args:
            path: the file.
            names: names of the graph nodes, written as comments, each as a JSON string; none by default.
        """
        lines = [f"c node {v + 1} {json.dumps(name)}" for v, name in enumerate(names)]
        lines += [f"s td {len(self.bags)} {self.width + 1} {self.num_nodes}"]
        lines += [f"b {i + 1} {' '.join(str(v + 1) for v in bag)}".rstrip() for i, bag in enumerate(self.bags)]
        lines += [f"{a + 1} {b + 1}" for a, b in [*self.edges.tolist(), *self._joints()]]
        write_whole(path, ("\n".join(lines) + "\n").encode())

    def _joints(self) -> list[tuple[int, int]]:
        """Edges that join each tree of the forest to the next."""
        leader = list(range(len(self.bags)))

        def find(bag: int) -> int:
            while leader[bag] != bag:
                leader[bag] = leader[leader[bag]]
                bag = leader[bag]
            return bag

        for a, b in self.edges.tolist():
            leader[find(a)] = find(b)
        tops = [bag for bag in range(len(leader)) if find(bag) == bag]
        return list(pairwise(tops))

    @property
    def bags(self) -> Bags:
        return Bags(self.bag_ptr, self.bag_nodes)

    @property
    def width(self) -> int:
        """The size of the largest bag minus one; -1 without bags."""
        return int(np.diff(self.bag_ptr).max(initial=0)) - 1

    @property
    def optimal(self) -> bool:
        """Whether the width is proven to be the graph's treewidth."""
        return self.lower_bound == self.width

    def validate(self, graph: Graph) -> None:
        """Raises `InvalidDecompositionError`, which names the first property that does not hold for the graph."""
        graph = Graph.of(graph)
        if self.num_nodes != graph.num_nodes:
            raise InvalidDecompositionError(
                f"Expected a decomposition of this graph of {graph.num_nodes} nodes; got one of {self.num_nodes} nodes."
            )
        why = native.decomposition_violation(graph.indptr, graph.indices, self.bag_ptr, self.bag_nodes, self.edges)
        if why is not None:
            raise InvalidDecompositionError(f"Expected a tree decomposition of this graph; {why}.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeDecomposition):
            return NotImplemented
        return self.num_nodes == other.num_nodes and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("bag_ptr", "bag_nodes", "edges", "kinds", "bag_order")
        )

    def __hash__(self) -> int:
        return hash((self.num_nodes, self.bag_ptr.tobytes(), self.bag_nodes.tobytes(), self.edges.tobytes()))

    def __repr__(self) -> str:
        return (
            f"TreeDecomposition(num_nodes={self.num_nodes}, num_bags={len(self.bags)}, width={self.width}, "
            f"lower_bound={self.lower_bound})"
        )
