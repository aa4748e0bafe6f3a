"""An H-tree unrolled over T rounds: the distinct states of every round, and the messages between them.

Two tree nodes with the same colour after t rounds of colour refinement have equal states after round t, whatever the
weights are. The new colour of a node is determined by its own colour and the multiset of its neighbours' colours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuraltrees.nn.ensemble.sparse import Coefficients
from neuraltrees.nn.messages import Messages, Numbers
from neuraltrees.nn.schedule.multisets import Array, distinct, entries_of
from neuraltrees.nn.schedule.start import FirstStates


@dataclass(frozen=True)
class Unrolled:
    """The rounds of message passing on an H-tree.

    Args:
        rounds: the messages of every round; the states before the first are those of `FirstStates`.
        copies: for each round, the number of tree nodes that each state after it stands for.
        pool: the mean over the leaves of every graph node, from the states after the last round.
        nodes: for each round, a tree node that has each of the states after it.
    """

    rounds: tuple[Messages, ...]
    copies: tuple[Tensor, ...]
    pool: Coefficients
    nodes: tuple[Array, ...]

    @property
    def states(self) -> tuple[int, ...]:
        """The number of states that are computed in every round."""
        return tuple(len(each) for each in self.copies)


def unroll(
    edge_index: Tensor,
    kappa: Tensor,
    num_nodes: int,
    num_layers: int,
    *,
    relation: Tensor | None = None,
    edge: Tensor | None = None,
    num_edge_rows: int = 0,
    merge: bool = True,
    keep_all: bool = False,
) -> Unrolled:
    """The distinct states that T rounds need, and the messages between them.

    Args:
        edge_index: both directions of the H-tree's edges.
        kappa: graph node of every leaf, -1 for bags.
        num_nodes: number of graph nodes.
        num_layers: number of rounds T.
        relation: edge types, if messages of different types differ.
        edge: the row of edge features that each tree edge carries, if any; equal rows have equal numbers.
        num_edge_rows: number of rows of edge features; the last is zero.
        merge: whether equal states are computed once; else every tree node has its own state after every round.
        keep_all: whether to keep states that no later round reads, such as those of bags after the last round.

    Shapes: edge_index :math:`(2, E)`, kappa :math:`(N)`, relation and edge :math:`(E)`

    A path of two edges: after the first round both leaves of its middle node have the same state.

    >>> from neuraltrees.graph import Graph
    >>> from neuraltrees.htree import build_htree
    >>> tree = build_htree(Graph([[0, 1], [1, 2]]))
    >>> tree.num_nodes, unroll(tree.edge_index, tree.kappa, 3, num_layers=2).states
    (6, (5, 4))
    """
    tree = TreeRows.of(edge_index, len(kappa), relation, edge, num_edge_rows)
    first = FirstStates.of_leaves(kappa.numpy(), num_nodes)
    return Refinement.of(tree, kappa.numpy(), num_nodes, num_layers, merge, first).unroll(keep_all)


@dataclass(frozen=True)
class Refinement:
    """The colours of all tree nodes before the first round and after each; equal colours mean equal states.

    Shapes: kappa and every colour :math:`(N)`
    """

    tree: TreeRows
    kappa: Array
    num_nodes: int
    colours: tuple[Array, ...]
    first: FirstStates

    @classmethod
    def of(
        cls, tree: TreeRows, kappa: Array, num_nodes: int, num_layers: int, merge: bool, first: FirstStates
    ) -> Refinement:
        colours = [first.of_node]
        for _ in range(num_layers):
            colours.append(tree.refined(colours[-1]) if merge else tree.nodes)
        return cls(tree, kappa, num_nodes, tuple(colours), first)

    def unroll(self, keep_all: bool, part: Array | None = None) -> Unrolled:
        """The states that the rounds need, and the messages between them.

        Args:
            keep_all: see `unroll`.
            part: the part of every tree node; states of different parts are not merged, and `Numbers` are those that
                messages and states have without parts.

        Shapes: part :math:`(N)`
        """
        tree, kappa, num_nodes = self.tree, self.kappa, self.num_nodes
        leaves = np.flatnonzero(kappa >= 0)
        states = [_States.of(self.colours[-1], leaves, part)]
        links: list[Messages] = []
        for colour in reversed(self.colours[1:-1]):
            readers = states[0].nodes
            needed = tree.nodes if keep_all else np.concatenate([readers, tree.around(readers)])
            states.insert(0, _States.of(colour, needed, part))
            links.insert(0, tree.messages(states[0], states[1], tree.degree[states[0].nodes]))
        degree = self.first.degree
        first = np.arange(len(degree))
        at_first = _States(first, np.ones(len(degree)), self.colours[0], None if part is None else first)
        links.insert(0, tree.messages(at_first, states[0], degree, zero=self.first.rows is None))
        of_leaf = 1 / np.bincount(kappa[leaves], minlength=num_nodes)[kappa[leaves]]
        pool = Coefficients(
            torch.from_numpy(kappa[leaves]),
            torch.from_numpy(states[-1].of_node[leaves]),
            torch.from_numpy(of_leaf),
            (num_nodes, len(states[-1].nodes)),
        )
        copies = tuple(torch.from_numpy(state.copies) for state in states)
        return Unrolled(tuple(links), copies, pool, tuple(state.nodes for state in states))


@dataclass(frozen=True)
class _States:
    """The distinct states of a round: for each state a tree node that has it and the number of these, and the state of
    every tree node.

    With parts, `number` is the number of each state without parts, where equal states of several parts are one.
    """

    nodes: Array
    copies: NDArray[np.float64]
    of_node: Array
    number: Array | None = None

    @classmethod
    def of(cls, colour: Array, needed: Array, part: Array | None = None) -> _States:
        key = (
            colour
            if part is None
            else np.unique(colour * (int(part.max(initial=0)) + 1) + part, return_inverse=True)[1]
        )
        used, first = np.unique(key[needed], return_index=True)
        place = np.full(int(key.max(initial=-1)) + 1, -1)
        place[used] = np.arange(len(used))
        copies = np.bincount(key, minlength=len(place))[used]
        nodes = needed[first]
        number = None if part is None else np.unique(colour[nodes], return_inverse=True)[1]
        return cls(nodes, copies.astype(np.float64), place[key], number)

    @property
    def numbers(self) -> int:
        """The number of states without parts."""
        return len(self.nodes) if self.number is None else int(self.number.max(initial=-1)) + 1


@dataclass(frozen=True)
class TreeRows:
    """The neighbours of every tree node in compressed rows, with the relation and the edge features of each.

    The kind of a neighbour numbers the pairs of a relation and a row of edge features, from 0.
    """

    start: Array
    neighbour: Array
    kind: Array
    relation_of_kind: Array
    edge_of_kind: Array | None
    num_edge_rows: int

    @classmethod
    def of(
        cls, edge_index: Tensor, num_nodes: int, relation: Tensor | None, edge: Tensor | None, num_edge_rows: int
    ) -> TreeRows:
        source, target = edge_index.numpy()
        relations = np.zeros_like(source) if relation is None else relation.numpy()
        if edge is None:
            kind, of_kind, edges = relations, np.arange(int(relations.max(initial=0)) + 1), None
        else:
            rows = edge.numpy()
            codes, kind = np.unique(relations * num_edge_rows + rows, return_inverse=True)
            of_kind, edges = codes // num_edge_rows, codes % num_edge_rows
        order = np.argsort(target, kind="stable")
        start = np.concatenate([[0], np.bincount(target, minlength=num_nodes).cumsum()])
        return cls(start, source[order], kind[order], of_kind, edges, num_edge_rows)

    @cached_property
    def nodes(self) -> Array:
        return np.arange(len(self.start) - 1)

    @cached_property
    def degree(self) -> Array:
        return np.diff(self.start)

    @property
    def kinds(self) -> int:
        return len(self.relation_of_kind)

    def around(self, nodes: Array) -> Array:
        return self.neighbour[entries_of(self.start, nodes)[0]]

    def refined(self, colour: Array) -> Array:
        """Colours after one more round: equal for nodes of the same colour with equally coloured neighbours."""
        return distinct(self.start, colour[self.neighbour] * self.kinds + self.kind, colour)

    def messages(self, before: _States, after: _States, source_degree: Array, zero: bool = False) -> Messages:
        at, target = entries_of(self.start, after.nodes)
        source, kind = before.of_node[self.neighbour[at]], self.kind[at]
        key = (target * len(before.nodes) + source) * self.kinds + kind
        _, first, count = np.unique(key, return_index=True, return_counts=True)
        source, target, kind = source[first], target[first], kind[first]
        return Messages(
            source=torch.from_numpy(source),
            target=torch.from_numpy(target),
            count=torch.from_numpy(count.astype(np.float64)),
            relation=torch.from_numpy(self.relation_of_kind[kind]),
            own=torch.from_numpy(before.of_node[after.nodes]),
            degree=torch.from_numpy(self.degree[after.nodes].astype(np.float64)),
            source_degree=torch.from_numpy(source_degree.astype(np.float64)),
            zero=zero,
            edge=None if self.edge_of_kind is None else torch.from_numpy(self.edge_of_kind[kind]),
            num_edge_rows=self.num_edge_rows,
            numbers=self._numbers(before, after, source, target, kind),
        )

    def _numbers(self, before: _States, after: _States, source: Array, target: Array, kind: Array) -> Numbers | None:
        if before.number is None or after.number is None:
            return None
        key = (after.number[target] * before.numbers + before.number[source]) * self.kinds + kind
        of_message = np.unique(key, return_inverse=True)[1]
        count = int(of_message.max(initial=-1)) + 1
        return Numbers(torch.from_numpy(of_message), torch.from_numpy(after.number), count)
