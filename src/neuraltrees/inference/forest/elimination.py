"""Graph and order → the separator of every step of an elimination."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from neuraltrees.decomposition import TreeDecomposition
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph, Int64, node_list
from neuraltrees.inference.plan import rooted


@dataclass(frozen=True)
class Elimination:
    """Step i eliminates variable `order[i]`; its separator are its neighbours at that time, eliminated in later steps.

    Variables are numbered by their steps. The separator of step i is `members[ptr[i] : ptr[i + 1]]`, in descending
    order; the last of them, `parent[i]`, is eliminated first and receives the message (-1 if the separator is empty). A
    step of height h only needs messages of steps of lower height.

    Shapes: order, parent and height :math:`(n)`, ptr :math:`(n + 1)`
    """

    order: Int64
    ptr: Int64
    members: Int64
    parent: Int64
    height: Int64

    @property
    def width(self) -> int:
        """The size of the largest separator; -1 without variables."""
        return int(np.diff(self.ptr).max(initial=-1))


def eliminate(graph: Graph, order: npt.ArrayLike) -> Elimination:
    """Eliminates the nodes in the given order, joining the neighbours of each.

    >>> square = eliminate(Graph([[0, 1, 2, 3], [1, 2, 3, 0]]), [0, 1, 2, 3])
    >>> square.members.tolist(), square.ptr.tolist(), square.parent.tolist(), square.height.tolist()
    ([3, 1, 3, 2, 3], [0, 2, 4, 5, 5], [1, 2, 3, -1], [0, 1, 2, 3])
    """
    nodes = node_list(order, graph.num_nodes).astype(np.int64)
    count = graph.num_nodes
    if len(nodes) != count:
        raise InputError(f"Expected an order of all {count} variables; got {len(nodes)} of them.")
    step = np.empty(count, np.int64)
    step[nodes] = np.arange(count)
    source, target = (step[ends] for ends in graph._upper_edges())
    first, last = np.minimum(source, target), np.maximum(source, target)
    by_first = np.argsort(first, kind="stable")
    cuts = np.searchsorted(first[by_first], np.arange(count + 1)).tolist()
    ends = last[by_first].tolist()
    later = [set(ends[cuts[i] : cuts[i + 1]]) for i in range(count)]
    parent, height = [-1] * count, [0] * count
    members: list[int] = []
    ptr = [0]
    for i, joined in enumerate(later):
        if joined:
            above = parent[i] = min(joined)
            later[above] |= joined
            later[above].discard(above)
            height[above] = max(height[above], height[i] + 1)
            members += sorted(joined, reverse=True)
        ptr.append(len(members))
    return Elimination(nodes, *(np.array(values, np.int64) for values in (ptr, members, parent, height)))


def order_of(decomposition: TreeDecomposition) -> Int64:
    """An elimination order whose separators stay inside the bags: from the leaves up, each variable in its top bag.

    >>> order_of(TreeDecomposition([{0, 1}, {1, 2}, {2, 3}], edges=[(0, 1), (1, 2)])).tolist()
    [3, 2, 1, 0]
    """
    bags, _ = rooted(decomposition)
    top = dict.fromkeys(v for bag in bags for v in bag)
    return np.array(list(top), np.int64)[::-1].copy()
