"""Decomposition and cliques of a model → the steps of the junction-tree algorithm, worked out once for a structure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from neuraltrees.decomposition import TreeDecomposition

Kind: TypeAlias = Literal["potential", "message", "part"]

# In a table of more than LARGE entries, small terms are first added up in parts of at most 1 / SHARE of its entries.
LARGE = 4096
SHARE = 32
# A part has the last axes of the table whole, so many entries of them, and is added to it in rows of that length.
TILE = 64


class Source(NamedTuple):
    """A table that is to be added to a larger one, and the variables of its axes."""

    kind: Kind
    number: int
    scope: tuple[int, ...]


@dataclass(frozen=True)
class Term:
    """A table among the axes of a larger one: a potential, the message of a child, or a part of the sum.

    `order` sorts its axes as the larger table has them (None: they are sorted), `back` undoes it; `shape` are its axes
    among those of the larger table, with 1 where it has none, and `missing` are those.
    """

    kind: Kind
    number: int
    order: tuple[int, ...] | None
    back: tuple[int, ...] | None
    shape: tuple[int, ...]
    missing: tuple[int, ...]
    part: Sum | None = None


@dataclass(frozen=True)
class Sum:
    """A table and its terms; `kinds` are those of its terms and of the terms of its parts."""

    size: int
    shape: tuple[int, ...]
    terms: tuple[Term, ...]
    kinds: frozenset[Kind]


@dataclass(frozen=True)
class Clique:
    """A bag of the junction tree: its variables, those that its parent does not have first.

    `rows` are the states of these first variables, its residual, and `columns` those of the others, its separator. The
    marginals of some variables are taken from the sums of its rows, of others from the smaller table of its separator.
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
    """The cliques, parents before children, and the numbers of the potentials without any variable."""

    cliques: tuple[Clique, ...]
    constants: tuple[int, ...]


def make_plan(
    cardinalities: Sequence[int], scopes: Sequence[tuple[int, ...]], decomposition: TreeDecomposition
) -> Plan:
    """Roots the decomposition, hands every potential to the first bag that has all its variables, and orders the axes.

    Variables that large messages share come last in a table, so that sums run along memory.
    """
    bags, parent = _rooted(decomposition)
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
        table = _sum(axes, sources[b], cardinalities)
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


def _rooted(decomposition: TreeDecomposition) -> tuple[list[tuple[int, ...]], list[int]]:
    """The bags of every tree from its root down, with the parent of each."""
    given = list(decomposition.bags)
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


def _sum(axes: tuple[int, ...], sources: list[Source], cardinalities: Sequence[int]) -> Sum:
    """The sum of the sources on the given axes; those that fit together are added up in a part first.

    A source whose variables another one has is added to that one. In a large table also sources of which none has all
    variables share a part, if it stays small.
    """
    shape = tuple(cardinalities[v] for v in axes)
    size = math.prod(shape)
    groups = _absorbed(axes, sources)
    terms = []
    if size > LARGE and len(groups) > 1:
        tile: set[int] = set()
        while math.prod(cardinalities[v] for v in tile) < TILE:
            tile.add(axes[len(axes) - 1 - len(tile)])
        bins: list[_Bin] = []
        left = []
        for group in groups:
            own = _Bin(tile.union(group[0].scope), cardinalities)
            if own.size * SHARE > size:
                left.append(group)
                continue
            grown = [(each.growth(group[0].scope), place) for place, each in enumerate(bins)]
            fitting = [(growth, place) for growth, place in grown if bins[place].size * growth * SHARE <= size]
            if not fitting:
                bins.append(own)
            fit = min(fitting)[1] if fitting else -1
            bins[fit].add(group)
        groups = left
        for each in bins:
            inner = tuple(v for v in axes if v in each.variables)
            part = _sum(inner, each.members, cardinalities)
            terms.append(_term(Source("part", -1, inner), axes, cardinalities, part))
    for group in groups:
        if len(group) == 1:
            terms.append(_term(group[0], axes, cardinalities))
        else:
            inside = set(group[0].scope)
            inner = tuple(v for v in axes if v in inside)
            part = _sum(inner, group, cardinalities)
            terms.append(_term(Source("part", -1, inner), axes, cardinalities, part))
    return Sum(size, shape, tuple(terms), frozenset(source.kind for source in sources))


def _absorbed(axes: tuple[int, ...], sources: list[Source]) -> list[list[Source]]:
    """Groups of sources: the first has all variables of the others, and not all axes unless it is alone."""
    groups: list[list[Source]] = []
    heads: list[frozenset[int] | None] = []
    for source in sorted(sources, key=lambda source: -len(source.scope)):
        variables = frozenset(source.scope)
        place = -1
        if len(variables) < len(axes):
            # Heads come from the widest down, so that the last one is the narrowest.
            place = max((i for i, head in enumerate(heads) if head is not None and variables <= head), default=-1)
        if place < 0:
            groups.append([source])
            heads.append(variables if len(variables) < len(axes) else None)
        else:
            groups[place].append(source)
    return groups


class _Bin:
    """Sources that are added up on few variables."""

    def __init__(self, variables: set[int], cardinalities: Sequence[int]) -> None:
        self.variables = variables
        self.members: list[Source] = []
        self._cardinalities = cardinalities
        self.size = math.prod(cardinalities[v] for v in variables)

    def growth(self, scope: tuple[int, ...]) -> int:
        return math.prod(self._cardinalities[v] for v in scope if v not in self.variables)

    def add(self, group: list[Source]) -> None:
        self.size *= self.growth(group[0].scope)
        self.variables |= set(group[0].scope)
        self.members += group


def _term(source: Source, axes: tuple[int, ...], cardinalities: Sequence[int], part: Sum | None = None) -> Term:
    scope = source.scope
    place = {v: i for i, v in enumerate(axes)}
    order = sorted(range(len(scope)), key=lambda i: place[scope[i]])
    moved = order != list(range(len(scope)))
    inside = set(scope)
    return Term(
        source.kind,
        source.number,
        (*order, len(scope)) if moved else None,
        (*sorted(range(len(scope)), key=lambda i: order[i]), len(scope)) if moved else None,
        tuple(cardinalities[v] if v in inside else 1 for v in axes),
        tuple(i for i, v in enumerate(axes) if v not in inside),
        part,
    )
