"""Decomposition and cliques of a model → the steps of the junction-tree algorithm, worked out once for a structure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from neuraltrees.decomposition import TreeDecomposition

# Terms of a table beyond this size are first summed on parts of its variables, each so much smaller than the table.
LARGE = 4096
PART = 32


@dataclass(frozen=True)
class Term:
    """A table that is added to a larger one: a potential, the message of a child, or a part that has terms of its own.

    `order` sorts its axes as the larger table has them (None: they are sorted), `shape` are its axes among those of the
    larger table, with 1 where it has none, and `missing` are those.
    """

    kind: str
    source: int
    order: tuple[int, ...] | None
    shape: tuple[int, ...]
    missing: tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """A table on some variables of a clique: its shape and what is summed in it."""

    shape: tuple[int, ...]
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Clique:
    """A bag of the junction tree: its variables, those that it alone has against its parent first.

    `rows` are the states of these first variables, its residual, and `columns` those of the others, its separator.
    """

    variables: tuple[int, ...]
    residual: tuple[int, ...]
    parent: int
    shape: tuple[int, ...]
    rows: int
    columns: int
    parts: tuple[Part, ...]
    terms: tuple[Term, ...]
    children: tuple[tuple[int, Term], ...]

    @property
    def separator_shape(self) -> tuple[int, ...]:
        return self.shape[len(self.residual) :]

    @property
    def entries(self) -> int:
        return self.rows * self.columns


@dataclass(frozen=True)
class Plan:
    """The cliques, parents before children, and the potentials without any variable."""

    cliques: tuple[Clique, ...]
    constants: tuple[int, ...]
    hosts: tuple[tuple[int, ...], ...]  # for every potential: its clique, its term there, and its term in a part


def make_plan(
    cardinalities: Sequence[int], scopes: Sequence[tuple[int, ...]], decomposition: TreeDecomposition
) -> Plan:
    """Roots the decomposition, hands every potential to the first bag that has all its variables, and orders the axes.

    Variables that many neighbours share come last in a table, so that the sums run over long rows.
    """
    bags, parent = _rooted(decomposition)
    top: dict[int, int] = {}
    for b, bag in enumerate(bags):
        for v in bag:
            top.setdefault(v, b)
    hosted: list[list[int]] = [[] for _ in bags]
    constants = []
    for k, scope in enumerate(scopes):
        if scope:
            hosted[max(top[v] for v in scope)].append(k)
        else:
            constants.append(k)
    separators = [tuple(v for v in bag if top[v] != b) for b, bag in enumerate(bags)]
    below: list[list[int]] = [[] for _ in bags]
    for b, above in enumerate(parent):
        if above >= 0:
            below[above].append(b)
    variables = []
    for b, bag in enumerate(bags):
        shared = dict.fromkeys(bag, 0)
        for child in below[b]:
            for v in separators[child]:
                shared[v] += 1
        variables.append(tuple(sorted(bag, key=lambda v: (top[v] != b, shared[v], v))))
    hosts: list[tuple[int, ...]] = [()] * len(scopes)
    cliques = []
    for b, axes in enumerate(variables):
        split = sum(top[v] == b for v in axes)
        shape = tuple(cardinalities[v] for v in axes)
        children = tuple(
            (child, _term("message", child, _separator(variables[child], separators[child]), axes, cardinalities))
            for child in below[b]
        )
        parts, terms = _summed(hosted[b], scopes, axes, cardinalities)
        for place, term in enumerate(terms):
            if term.kind == "part":
                for inner, each in enumerate(parts[term.source].terms):
                    hosts[each.source] = (b, place, inner)
            else:
                hosts[term.source] = (b, place)
        rows, columns = math.prod(shape[:split]), math.prod(shape[split:])
        cliques.append(Clique(axes, axes[:split], parent[b], shape, rows, columns, parts, terms, children))
    return Plan(tuple(cliques), tuple(constants), tuple(hosts))


def _separator(axes: tuple[int, ...], separator: tuple[int, ...]) -> tuple[int, ...]:
    return axes[len(axes) - len(separator) :]


def _rooted(decomposition: TreeDecomposition) -> tuple[list[tuple[int, ...]], list[int]]:
    """The bags of every tree from its root down, with the parent of each."""
    given = list(decomposition.bags)
    near: list[list[int]] = [[] for _ in given]
    for a, b in decomposition.edges.tolist():
        near[a].append(b)
        near[b].append(a)
    place = [-1] * len(given)
    bags: list[tuple[int, ...]] = []
    parent: list[int] = []
    for root in range(len(given)):
        if place[root] >= 0:
            continue
        waiting = [(root, -1)]
        place[root] = len(given)
        while waiting:
            b, above = waiting.pop()
            place[b] = len(bags)
            bags.append(given[b])
            parent.append(above)
            waiting += [(c, place[b]) for c in near[b] if place[c] < 0]
    return bags, parent


def _summed(
    hosted: list[int], scopes: Sequence[tuple[int, ...]], axes: tuple[int, ...], cardinalities: Sequence[int]
) -> tuple[tuple[Part, ...], tuple[Term, ...]]:
    """The potentials of a clique as terms of its table; in a large table those that fit together share a part."""
    size = math.prod(cardinalities[v] for v in axes)
    if size <= LARGE or len(hosted) <= 2:
        return (), tuple(_term("potential", k, scopes[k], axes, cardinalities) for k in hosted)
    bins: list[tuple[set[int], list[int]]] = []
    for k in sorted(hosted, key=lambda k: -len(scopes[k])):
        scope = set(scopes[k])
        grown = [
            (math.prod(cardinalities[v] for v in variables | scope), place) for place, (variables, _) in enumerate(bins)
        ]
        fitting = [
            (states / math.prod(cardinalities[v] for v in bins[place][0]), place)
            for states, place in grown
            if states * PART <= size
        ]
        if fitting:
            variables, members = bins[min(fitting)[1]]
            variables |= scope
            members.append(k)
        else:
            bins.append((scope, [k]))
    parts: list[Part] = []
    terms: list[Term] = []
    for variables, members in bins:
        if len(members) == 1:
            terms.append(_term("potential", members[0], scopes[members[0]], axes, cardinalities))
            continue
        inner = tuple(v for v in axes if v in variables)
        terms.append(_term("part", len(parts), inner, axes, cardinalities))
        inside = tuple(_term("potential", k, scopes[k], inner, cardinalities) for k in members)
        parts.append(Part(tuple(cardinalities[v] for v in inner), inside))
    return tuple(parts), tuple(terms)


def _term(kind: str, source: int, scope: Sequence[int], axes: Sequence[int], cardinalities: Sequence[int]) -> Term:
    place = {v: i for i, v in enumerate(axes)}
    order = tuple(sorted(range(len(scope)), key=lambda i: place[scope[i]]))
    inside = set(scope)
    return Term(
        kind,
        source,
        None if order == tuple(range(len(scope))) else order,
        tuple(cardinalities[v] if v in inside else 1 for v in axes),
        tuple(i for i, v in enumerate(axes) if v not in inside),
    )
