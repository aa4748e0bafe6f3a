"""A sweep over a forest that is cut into parts, by processes that exchange sums once on the way up and once down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuraltrees.nn.parallel.group import Group
from neuraltrees.nn.parallel.halo import Array, Halo, read_elsewhere
from neuraltrees.nn.sweep.function import sweep
from neuraltrees.nn.sweep.plan import SweepPlan


@dataclass(frozen=True, eq=False)
class CutForest:
    r"""The part of a forest that a process computes: pieces of trees, and the cut edges between all pieces.

    A piece is a connected part of a tree in one process; its root C may have a cut edge to its parent p(C) in another
    piece. With the sums :math:`s^0` of every piece by itself and the product P of the factors between a node and the
    root of its piece, the sums over whole subtrees at the roots are

    .. math:: s_C = s^0_C + \sum_{C' : p(C') ∈ \mathrm{piece}(C)} f_{C'} s_{C'}, \qquad f_{C'} = a_{C'} P_{p(C')},

    and the sum that enters a piece from above is :math:`u_C = a_C (z_{p(C)} - a_C s_C)`, where z is the sum of a node
    over its piece and all pieces below, :math:`z'`, plus :math:`P u` from above. So
    :math:`u_C = a_C (z'_{p(C)} - a_C s_C) + f_C u_{\mathrm{piece}(p(C))}`. Both recursions run over the few cut edges,
    in every process.

    Cut edges are numbered over all processes. A piece is named by the cut edge above its root, or by the number of cut
    edges if there is none.

    Args:
        group: the processes.
        plan: the pieces of this process.
        roots: the rows of the roots of all pieces of this process.
        mine: the cut edges whose lower end C is in this process, and the rows of these ends.
        upper: the cut edges whose upper end p(C) is in this process, and the rows of these ends.
        above: for every cut edge, the piece of its upper end.
        levels: the cut edges by depth, those next to the root of a tree first.
        piece: the piece of every row.
        parents: sends the rows of upper ends to the processes of the lower ends.
        parent: the place of the parent of every row among its own rows and the received ones; its own for a root.

    Shapes: roots, mine, upper, above and piece are one-dimensional
    """

    group: Group
    plan: SweepPlan
    roots: Tensor
    mine: tuple[Tensor, Tensor]
    upper: tuple[Tensor, Tensor]
    above: Tensor
    levels: tuple[Tensor, ...]
    piece: Tensor
    parents: Halo | None
    parent: Tensor

    @classmethod
    def of(cls, parent: Array, part: Array, group: Group) -> CutForest:
        """The part of a forest that this process computes.

        Args:
            parent: the parent of every node of the whole forest, which precedes it; -1 for roots.
            part: the part of every node.

        Shapes: parent and part :math:`(N)`
        """
        rows = np.flatnonzero(part == group.rank)
        place = np.full(len(parent), -1)
        place[rows] = np.arange(len(rows))
        cut = np.flatnonzero((parent >= 0) & (part != part[parent.clip(min=0)]))
        number = np.full(len(parent), len(cut))  # for the root of a piece, the number of the cut edge above it
        number[cut] = np.arange(len(cut))
        root = _piece_roots(parent, part)
        above = number[root[parent[cut]]]
        inside = np.where(part[parent[rows].clip(min=0)] == group.rank, parent[rows], -1)
        inside[parent[rows] < 0] = -1
        owner, reader, row = read_elsewhere(part[parent[cut]], part[cut], parent[cut], group.size)
        parents = Halo.of(group, owner, reader, row, place, "sweep")
        at = place.copy()
        at[row[reader == group.rank]] = len(rows) + np.arange(int((reader == group.rank).sum()))
        here, there = np.flatnonzero(part[cut] == group.rank), np.flatnonzero(part[parent[cut]] == group.rank)
        local = np.where(inside < 0, -1, place[inside.clip(min=0)])
        return cls(
            group,
            SweepPlan.of_parents(torch.from_numpy(local)),
            torch.from_numpy(np.flatnonzero(inside < 0)),
            (torch.from_numpy(here), torch.from_numpy(place[cut[here]])),
            (torch.from_numpy(there), torch.from_numpy(place[parent[cut[there]]])),
            torch.from_numpy(above),
            _levels(above),
            torch.from_numpy(number[root[rows]]),
            parents,
            torch.from_numpy(np.where(parent[rows] < 0, np.arange(len(rows)), at[parent[rows].clip(min=0)])),
        )

    def parents_of(self, own: Tensor) -> Tensor:
        """The row of every node's parent; the node's own row for a root. Shapes: :math:`(N, *)`"""
        return (own if self.parents is None else self.parents.extend(own)).index_select(0, self.parent)

    def sweep(self, values: Tensor, decay: Tensor, gate: Tensor | None = None) -> Tensor:
        """The sweep over the whole forest, at the rows of this process; see `neuraltrees.nn.sweep.sweep`."""
        cuts = len(self.above)
        if not cuts:
            return sweep(values, decay, self.plan, gate)
        factor = decay.expand(values.shape[1:]) if gate is None else decay * gate
        at_root = torch.zeros_like(values).index_fill(0, self.roots, 1.0)
        alone, product = sweep(values, decay, self.plan, gate), sweep(at_root, decay, self.plan, gate)
        (mine, lower), (theirs, upper) = self.mine, self.upper
        factors = factor.expand(len(lower), *factor.shape) if gate is None else factor.index_select(0, lower)
        s, a, p = self._everywhere(
            cuts, (mine, alone.index_select(0, lower)), (mine, factors), (theirs, product.index_select(0, upper))
        )
        between = a * p
        for level in reversed(self.levels[1:]):
            into = self.above.index_select(0, level)
            s = s.index_add(0, into, between.index_select(0, level) * s.index_select(0, level))
        flow = a * s
        below = sweep(values.index_add(0, upper, flow.index_select(0, theirs)), decay, self.plan, gate)
        (z,) = self._everywhere(cuts, (theirs, below.index_select(0, upper)))
        down = a * (z - flow)
        down = torch.cat([down, down.new_zeros(1, *down.shape[1:])])  # nothing comes from above a tree
        for level in self.levels[1:]:
            come = between.index_select(0, level) * down.index_select(0, self.above.index_select(0, level))
            down = down.index_add(0, level, come)
        return below + product * down.index_select(0, self.piece)

    def _everywhere(self, cuts: int, *given: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
        """Values of cut edges, each known in one process, made known to all processes by one exchange."""
        filled = [values.new_zeros(cuts, *values.shape[1:]).index_copy(0, which, values) for which, values in given]
        return self.group.total(torch.stack(filled), "sweep").unbind(0)


def _piece_roots(parent: Array, part: Array) -> Array:
    """The root of the piece of every node: its highest ancestor that is reached within its part."""
    up = np.where((parent >= 0) & (part == part[parent.clip(min=0)]), parent, np.arange(len(parent)))
    while not np.array_equal(further := up[up], up):
        up = further
    return up


def _levels(above: NDArray[np.int64]) -> tuple[Tensor, ...]:
    """The cut edges by depth: first those whose upper piece has no cut edge above it, then those below these, …"""
    cuts, depth = len(above), np.zeros(len(above) + 1, np.int64)
    depth[cuts] = -1
    for _ in range(cuts):
        deeper = np.append(depth[above] + 1, -1)
        if np.array_equal(deeper, depth):
            break
        depth = deeper
    found = depth[:cuts]
    return tuple(torch.from_numpy(np.flatnonzero(found == level)) for level in range(int(found.max(initial=-1)) + 1))
