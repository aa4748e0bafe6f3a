"""How the terms of a clique's table are summed: small terms first, so that few passes run over the whole table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["potential", "message", "part"]

# In a table of more than LARGE entries, small terms are first summed in parts of at most 1 / SHARE of its entries.
LARGE = 4096
SHARE = 32
# A part has the last axes of the table, with at least this many entries, and is added in rows of that length.
TILE = 64


class Source(NamedTuple):
    """A table to add to a larger one, and the variables of its axes."""

    kind: Kind
    number: int
    scope: tuple[int, ...]


@dataclass(frozen=True)
class Term:
    """A term of a larger table: a potential, the message of a child, or a part of the sum.

    `order` permutes its axes to the order of the larger table (None if they are in order), `back` is the inverse.
    `shape` is its shape broadcast to the larger table, with 1 for axes that it does not have, which are `missing`.
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
    """A table and its terms; `kinds` are the kinds of its terms, including those of its parts."""

    size: int
    shape: tuple[int, ...]
    terms: tuple[Term, ...]
    kinds: frozenset[Kind]


def plan_sum(axes: tuple[int, ...], sources: list[Source], cardinalities: Sequence[int]) -> Sum:
    """The sum of the sources on the given axes; sources with few variables are first summed in a part.

    A source whose variables are a subset of another's is added to that one. In a large table, other sources also share
    a part, if it stays small.
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
            part = plan_sum(inner, each.members, cardinalities)
            terms.append(_term(Source("part", -1, inner), axes, cardinalities, part))
    for group in groups:
        if len(group) == 1:
            terms.append(_term(group[0], axes, cardinalities))
        else:
            inside = set(group[0].scope)
            inner = tuple(v for v in axes if v in inside)
            part = plan_sum(inner, group, cardinalities)
            terms.append(_term(Source("part", -1, inner), axes, cardinalities, part))
    return Sum(size, shape, tuple(terms), frozenset(source.kind for source in sources))


def _absorbed(axes: tuple[int, ...], sources: list[Source]) -> list[list[Source]]:
    """Groups of sources: the first has all variables of the others; a source with all axes is alone."""
    groups: list[list[Source]] = []
    heads: list[frozenset[int] | None] = []
    for source in sorted(sources, key=lambda source: -len(source.scope)):
        variables = frozenset(source.scope)
        place = -1
        if len(variables) < len(axes):
            # Heads are sorted by descending size, so the last one is the smallest.
            place = max((i for i, head in enumerate(heads) if head is not None and variables <= head), default=-1)
        if place < 0:
            groups.append([source])
            heads.append(variables if len(variables) < len(axes) else None)
        else:
            groups[place].append(source)
    return groups


class _Bin:
    """Sources that are summed in one part, on few variables."""

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
