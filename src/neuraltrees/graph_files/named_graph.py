"""A graph whose nodes have names, as files give them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from neuraltrees.errors import InputError
from neuraltrees.graph import Graph


class Numbers(Sequence[str]):
    """The names first, first + 1, … of nodes that have no others; none is kept in memory.

    >>> list(Numbers(3, first=1)), Numbers(10**9)[-1]
    (['1', '2', '3'], '999999999')
    """

    def __init__(self, count: int, first: int = 0) -> None:
        self.numbers = range(first, first + count)

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        return tuple(map(str, self.numbers[place])) if isinstance(place, slice) else str(self.numbers[place])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Numbers):
            return self.numbers == other.numbers
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))


@dataclass(frozen=True, eq=False, repr=False)
class NamedGraph:
    """A graph and the names of its nodes.

    Args:
        graph: the graph.
        names: of its nodes, in their order.
        columns: for every attribute of the nodes that the file gives, its text per node; "" where there is none.
        ignored: what the file has besides edges that is not used, such as weights.

    >>> NamedGraph.of_edges([("ada", "bob"), ("bob", "cy")])
    NamedGraph(num_nodes=3, num_edges=2, names='ada', 'bob', 'cy')
    """

    graph: Graph
    names: Sequence[str]
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.names) != self.graph.num_nodes:
            raise InputError(f"Expected a name for each of {self.graph.num_nodes} nodes; got {len(self.names)}.")

    @classmethod
    def of_edges(
        cls, edges: Iterable[tuple[str, str]], nodes: Iterable[str] = (), ignored: tuple[str, ...] = ()
    ) -> NamedGraph:
        """The graph of edges between names, and of nodes that may have none.

        Nodes are numbered in ascending order where all names are whole numbers, else as they appear.
        """
        number: dict[str, int] = {}
        for node in nodes:
            number.setdefault(node, len(number))
        pairs = [(number.setdefault(u, len(number)), number.setdefault(v, len(number))) for u, v in edges]
        ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        names = tuple(number)
        if all(re.fullmatch(r"[+-]?\d{1,18}", name, re.ASCII) for name in names):
            order = sorted(range(len(names)), key=lambda v: int(names[v]))
            rank = np.empty(len(names), dtype=np.int64)
            rank[order] = np.arange(len(names))
            ends, names = rank[ends], tuple(names[v] for v in order)
        return cls(Graph(ends.T, num_nodes=len(names)), names, ignored=ignored)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.names[:3])) + (", …" if len(self.names) > 3 else "")
        return f"NamedGraph(num_nodes={self.graph.num_nodes}, num_edges={self.graph.num_edges}, names={shown})"
