"""Decomposition and cliques of a model → the steps of the junction-tree algorithm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from neuraltrees.decomposition import TreeDecomposition
from neuraltrees.inference.sums import Source, Sum, plan_sum


@dataclass(frozen=True)
class Clique:
    """A bag of the junction tree: the variables that its parent does not have (the residual), then the separator.

    `rows` is the number of states of the residual and `columns` that of the separator. The marginals of some variables
    are computed from the sums of its rows, those of others from the smaller table of its separator.
    """

    variables: tuple[int, ...]
    residual: tuple[int, ...]
    parent: int
    rows: int
    columns: int
    table: Sum
    from_rows: tuple[int, ...]
    from_columns: tuple[int, ...]

    @property
    def separator(self) -> tuple[int, ...]:
        return self.variables[len(self.residual) :]

    @property
    def residual_shape(self) -> tuple[int, ...]:
        return self.table.shape[: len(self.residual)]

    @property
    def separator_shape(self) -> tuple[int, ...]:
        return self.table.shape[len(self.residual) :]

    @property
    def entries(self) -> int:
        return self.rows * self.columns


@dataclass(frozen=True)
class Plan:
    """The cliques, parents before children, and the numbers of the potentials without variables."""

    cliques: tuple[Clique, ...]
    constants: tuple[int, ...]


def make_plan(
    cardinalities: Sequence[int], scopes: Sequence[tuple[int, ...]], decomposition: TreeDecomposition
) -> Plan:
    """Roots the decomposition, assigns every potential to the first bag with all its variables, and orders the axes.

    Variables that large messages share are the last axes of a table, so that sums run along contiguous memory.
    """
    bags, parent = rooted(decomposition)
    top: dict[int, int] = {}
    for b, bag in enumerate(bags):
        for v in bag:
            top.setdefault(v, b)
    sources: list[list[Source]] = [[] for _ in bags]
    constants = []
    for k, scope in enumerate(scopes):
        if scope:
            sources[max(top[v] for v in scope)].append(Source("potential", k, scope))
        else:
            constants.append(k)
    smallest = _smallest_separators(cardinalities, bags, top)
    cliques: list[Clique] = []
    for b in range(len(bags) - 1, -1, -1):
        shared = dict.fromkeys(bags[b], 0)
        for source in sources[b]:
            if source.kind == "message":
                size = math.prod(cardinalities[v] for v in source.scope)
                for v in source.scope:
                    shared[v] += size
        axes = tuple(sorted(bags[b], key=lambda v: (top[v] != b, shared[v], v)))
        split = sum(top[v] == b for v in axes)
        rows, columns = (math.prod(cardinalities[v] for v in part) for part in (axes[:split], axes[split:]))
        table = plan_sum(axes, sources[b], cardinalities)
        from_rows = tuple(i for i in range(split) if axes[i] not in smallest)
        from_columns = tuple(i for i, v in enumerate(axes[split:]) if smallest[v] == b)
        cliques.append(Clique(axes, axes[:split], parent[b], rows, columns, table, from_rows, from_columns))
        if parent[b] >= 0:
            sources[parent[b]].append(Source("message", b, axes[split:]))
    return Plan(tuple(reversed(cliques)), tuple(constants))


def _smallest_separators(
    cardinalities: Sequence[int], bags: list[tuple[int, ...]], top: dict[int, int]
) -> dict[int, int]:
    """For every variable of a separator, the bag whose separator with it has the fewest states."""
    least: dict[int, tuple[int, int]] = {}
    for b, bag in enumerate(bags):
        separator = [v for v in bag if top[v] != b]
        states = math.prod(cardinalities[v] for v in separator)
        for v in separator:
            least[v] = min(least.get(v, (states, b)), (states, b))
    return {v: b for v, (_, b) in least.items()}


def rooted(decomposition: TreeDecomposition) -> tuple[list[tuple[int, ...]], list[int]]:
    """The bags of every tree, parents before children, with the parent of each."""
    ptr, nodes = decomposition.bag_ptr.tolist(), decomposition.bag_nodes.tolist()
    given = [tuple(nodes[first:stop]) for first, stop in pairwise(ptr)]
    near: list[list[int]] = [[] for _ in given]
    for a, b in decomposition.edges.tolist():
        near[a].append(b)
        near[b].append(a)
    bags: list[tuple[int, ...]] = []
    parent: list[int] = []
    seen = [False] * len(given)
    for root in range(len(given)):
        waiting = [] if seen[root] else [(root, -1)]
        while waiting:
            b, above = waiting.pop()
            seen[b] = True
            waiting += [(c, len(bags)) for c in near[b] if not seen[c]]
            bags.append(given[b])
            parent.append(above)
    return bags, parent
