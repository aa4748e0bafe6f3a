"""Rounds on an H-tree that is cut into parts, one per process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuraltrees.htree import HTree
from neuraltrees.nn.ensemble.sparse import Coefficients
from neuraltrees.nn.parallel import Array, forest_parts
from neuraltrees.nn.schedule.refinement import Refinement, Unrolled

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CutTree:
    """The rounds on an H-tree, with the part of every state.

    A state belongs to the part of its tree nodes; equal states of several parts are computed in each of them, so that
    only the states at cut edges are sent.

    Args:
        unrolled: the states and messages of all parts.
        part: the part of every tree node.
        owner: for every graph node, the part that answers for it: that of its first leaf.
        parts: number of parts.
        cuts: the number of tree edges that lead out of each part.
        start: see `FirstStates.rows`.

    Shapes: part :math:`(N)`, owner :math:`(n)`, cuts :math:`(parts)`
    """

    unrolled: Unrolled
    part: Array
    owner: Array
    parts: int
    cuts: Array
    start: Coefficients | None = None

    @classmethod
    def of(cls, tree: HTree, refined: Refinement, keep_all: bool, parts: int, cost: float, pools: bool) -> CutTree:
        """Cuts a tree into parts whose rounds take equal work.

        Args:
            tree: the H-tree.
            refined: its colours.
            keep_all: see `unroll`.
            parts: number of parts.
            cost: the cost of a state, in messages.
            pools: whether the mean over leaves is merged into the last round.
        """
        first = first_leaves(refined.kappa, refined.num_nodes)
        weight = np.zeros(tree.num_nodes)
        if parts > 1:
            for nodes, each in _work(refined.unroll(keep_all), first, cost, pools):
                weight[nodes] += each  # the nodes of a round are distinct
        part = forest_parts(tree.edge_index.cpu(), weight, parts)
        source, target = (part[ends] for ends in tree.edge_index.cpu().numpy())
        cuts = np.bincount(source[source != target], minlength=parts)
        return cls(refined.unroll(keep_all, part), part, part[first], parts, cuts, refined.first.rows)

    def states(self, number: int) -> Array:
        """The part of every state after a round."""
        return self.part[self.unrolled.nodes[number]]

    def work(self, cost: float, pools: bool) -> Numbers:
        """The work of every part; states of several parts count in each of them. Shapes: → :math:`(parts)`"""
        pool, total = self.unrolled.pool, np.zeros(self.parts)
        if pools:  # a row per graph node in every part that has leaves of it
            rows = np.unique(pool.row.numpy() * self.parts + self.states(-1)[pool.col.numpy()])
            total += np.bincount(rows % self.parts, minlength=self.parts) * cost
        for nodes, each in _work(self.unrolled, np.zeros(0, np.int64), cost, pools):
            total += np.bincount(self.part[nodes], each, self.parts)
        return total


def first_leaves(kappa: Array, num_nodes: int) -> Array:
    """The first leaf of every graph node. Shapes: kappa :math:`(N)` → :math:`(n)`"""
    leaves = np.flatnonzero(kappa >= 0)
    first = np.empty(num_nodes, np.int64)
    first[kappa[leaves][::-1]] = leaves[::-1]
    return first


def _work(unrolled: Unrolled, first: Array, cost: float, pools: bool) -> list[tuple[Array, Numbers]]:
    """For every round, a tree node of each of its states, and the work of computing these states.

    If the mean over leaves is merged into the last round, it has one state per graph node, counted at `first`.
    """
    found = []
    for number, (nodes, messages) in enumerate(zip(unrolled.nodes, unrolled.rounds, strict=True)):
        joined = pools and number == len(unrolled.rounds) - 1
        received = np.bincount(messages.target.numpy(), minlength=len(nodes)).astype(np.float64) + 1
        found.append((nodes, received + (0 if joined else cost)))
        if joined:
            found.append((first, np.full(len(first), cost)))
    return found
