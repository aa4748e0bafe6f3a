"""An H-tree unrolled over T rounds: the distinct states of every round, and the messages between them.

Two tree nodes whose views of t rounds are equal have equal states after round t, whatever the weights are. Colour
refinement finds them: the colour of a node is its own colour before, and those of its neighbours with their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuraltrees.nn.ensemble.sparse import Coefficients
from neuraltrees.nn.schedule.messages import Links

Array = NDArray[np.int64]


@dataclass(frozen=True)
class Unrolled:
    """The rounds of message passing on an H-tree.

    Args:
        rounds: the messages of every round; the states before the first are the graph nodes and one zero for all bags.
        copies: how many tree nodes each state after a round stands for.
        pool: the mean over the leaves of every graph node, of the states after the last round.
    """

    rounds: tuple[Links, ...]
    copies: tuple[Tensor, ...]
    pool: Coefficients

    @property
    def states(self) -> tuple[int, ...]:
        """How many states are computed in every round."""
        return tuple(len(each) for each in self.copies)


def unroll(
    edge_index: Tensor,
    kappa: Tensor,
    num_nodes: int,
    num_layers: int,
    *,
    relation: Tensor | None = None,
    merge: bool = True,
    keep_all: bool = False,
) -> Unrolled:
    """Lists the states that T rounds need, each once.

    Args:
        edge_index: both directions of the H-tree's edges.
        kappa: graph node of every leaf, -1 for bags.
        num_nodes: number of graph nodes.
        num_layers: number of rounds T.
        relation: edge types, if messages of different types differ.
        merge: compute equal states once; else every tree node has its own from the first round on.
        keep_all: also states that no later round reads; else these are dropped, such as all bags in the last round.

    Shapes: edge_index :math:`(2, E)`, kappa :math:`(N)`, relation :math:`(E)`

    A path of two edges: in the first round both leaves of its middle node are equal.

    >>> from neuraltrees.graph import Graph
    >>> from neuraltrees.htree import build_htree
    >>> tree = build_htree(Graph([[0, 1], [1, 2]]))
    >>> tree.num_nodes, unroll(tree.edge_index, tree.kappa, 3, num_layers=2).states
    (6, (5, 4))
    """
    tree, kinds = _Tree.of(edge_index, len(kappa), relation), kappa.numpy()
    # A colour for every graph node and one for all bags: the states before the first round.
    colours = [np.where(kinds < 0, num_nodes, kinds)]
    for _ in range(num_layers):
        colours.append(tree.refined(colours[-1]) if merge else tree.nodes)
    leaves = np.flatnonzero(kinds >= 0)
    states = [_States.of(colours[-1], leaves)]
    links: list[Links] = []
    for colour in reversed(colours[1:-1]):
        readers = states[0].nodes
        needed = tree.nodes if keep_all else np.concatenate([readers, tree.around(readers)])
        states.insert(0, _States.of(colour, needed))
        links.insert(0, tree.links(states[0], states[1], tree.degree[states[0].nodes]))
    at_first = _States(np.arange(num_nodes + 1), np.ones(num_nodes + 1), colours[0])
    # A leaf has its parent as only neighbour; how many a state of zero has does not matter.
    links.insert(0, tree.links(at_first, states[0], np.ones(num_nodes + 1, np.int64), zero=True))
    of_leaf = 1 / np.bincount(kinds[leaves], minlength=num_nodes)[kinds[leaves]]
    pool = Coefficients(
        torch.from_numpy(kinds[leaves]),
        torch.from_numpy(states[-1].of_node[leaves]),
        torch.from_numpy(of_leaf),
        (num_nodes, len(states[-1].nodes)),
    )
    return Unrolled(tuple(links), tuple(torch.from_numpy(state.copies) for state in states), pool)


@dataclass(frozen=True)
class _States:
    """The distinct states of a round: a tree node that has each, how many have it, and the state of every node."""

    nodes: Array
    copies: NDArray[np.float64]
    of_node: Array

    @classmethod
    def of(cls, colour: Array, needed: Array) -> _States:
        used, first = np.unique(colour[needed], return_index=True)
        place = np.full(int(colour.max(initial=-1)) + 1, -1)
        place[used] = np.arange(len(used))
        copies = np.bincount(colour, minlength=len(place))[used]
        return cls(needed[first], copies.astype(np.float64), place[colour])


@dataclass(frozen=True)
class _Tree:
    """The neighbours of every tree node in compressed rows, with the relation of each."""

    start: Array
    neighbour: Array
    relation: Array

    @classmethod
    def of(cls, edge_index: Tensor, num_nodes: int, relation: Tensor | None) -> _Tree:
        source, target = edge_index.numpy()
        kind = np.zeros_like(source) if relation is None else relation.numpy()
        order = np.argsort(target, kind="stable")
        start = np.concatenate([[0], np.bincount(target, minlength=num_nodes).cumsum()])
        return cls(start, source[order], kind[order])

    @cached_property
    def nodes(self) -> Array:
        return np.arange(len(self.start) - 1)

    @cached_property
    def degree(self) -> Array:
        return np.diff(self.start)

    @cached_property
    def relations(self) -> int:
        return int(self.relation.max(initial=0)) + 1

    def entries(self, nodes: Array) -> tuple[Array, Array]:
        """The places of the neighbours of some nodes, one node after another, and whose they are (by position)."""
        degree = self.degree[nodes]
        whose = np.repeat(np.arange(len(nodes)), degree)
        within = np.arange(len(whose)) - np.repeat(np.cumsum(degree) - degree, degree)
        return self.start[nodes][whose] + within, whose

    def around(self, nodes: Array) -> Array:
        return self.neighbour[self.entries(nodes)[0]]

    def refined(self, colour: Array) -> Array:
        """Colours after one more round: equal for nodes of the same colour with equally coloured neighbours."""
        messages = colour[self.neighbour] * self.relations + self.relation
        messages = messages[np.lexsort((messages, np.repeat(self.nodes, self.degree)))]
        rng = np.random.default_rng(0)
        while True:
            # Random numbers, one for each colour, sum to a number for each multiset; the check makes it certain.
            numbers = rng.integers(2**64, size=(int(messages.max(initial=0)) + 1, 2), dtype=np.uint64)
            running = np.concatenate([np.zeros((1, 2), np.uint64), np.cumsum(numbers[messages], axis=0)])
            keys = np.column_stack([colour.astype(np.uint64), running[self.start[1:]] - running[self.start[:-1]]])
            order = np.lexsort(keys.T)
            new = np.ones(len(order), bool)
            new[1:] = (keys[order[1:]] != keys[order[:-1]]).any(1)
            refined = np.empty(len(order), np.int64)
            refined[order] = np.cumsum(new) - 1
            if self._same_rows(messages, order[new][refined]):
                return refined

    def _same_rows(self, messages: Array, other: Array) -> bool:
        """Whether the sorted messages to every node are those to the other one."""
        same_length = bool((self.degree == self.degree[other]).all())
        return same_length and bool((messages == messages[self.entries(other)[0]]).all())

    def links(self, earlier: _States, later: _States, source_degree: Array, zero: bool = False) -> Links:
        at, target = self.entries(later.nodes)
        source, relation = earlier.of_node[self.neighbour[at]], self.relation[at]
        key = (target * len(earlier.nodes) + source) * self.relations + relation
        _, first, count = np.unique(key, return_index=True, return_counts=True)
        return Links(
            source=torch.from_numpy(source[first]),
            target=torch.from_numpy(target[first]),
            count=torch.from_numpy(count.astype(np.float64)),
            relation=torch.from_numpy(relation[first]),
            own=torch.from_numpy(earlier.of_node[later.nodes]),
            degree=torch.from_numpy(self.degree[later.nodes].astype(np.float64)),
            source_degree=torch.from_numpy(source_degree.astype(np.float64)),
            zero=zero,
        )
