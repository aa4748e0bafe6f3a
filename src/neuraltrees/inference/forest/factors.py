"""Factors of a forest: tables on two or more variables each. An edge is a factor of two variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from neuraltrees.errors import InputError
from neuraltrees.graph import Graph, Int64


@dataclass(frozen=True, eq=False)
class Family:
    """Factors with the same number of variables: the variables of each, one per axis of its table, and its table.

    Shapes: variables :math:`(F, r)`, table :math:`(F)`
    """

    variables: Int64
    table: Int64

    @property
    def order(self) -> int:
        return int(self.variables.shape[1])

    @property
    def num_tables(self) -> int:
        return int(self.table.max(initial=-1)) + 1


@dataclass(frozen=True, eq=False)
class Use:
    """Factors of a family that have variables of several states at the same `axes`; their other variables have one.

    Where no variable has several states, `axes` is the first. `variables` are those of the axes.

    Shapes: variables :math:`(F, f)`, table :math:`(F)`
    """

    family: int
    axes: tuple[int, ...]
    variables: Int64
    table: Int64


def find_uses(families: Sequence[Family], states: Int64) -> tuple[Use, ...]:
    """The factors of all families by the axes whose variables have several states."""
    found = []
    for number, family in enumerate(families):
        several = states[family.variables] > 1
        code = several @ (1 << np.arange(family.order))
        for each in np.unique(code).tolist():
            axes = [axis for axis in range(family.order) if each >> axis & 1] or [0]
            inside = slice(None) if several.all() else code == each
            found.append(Use(number, tuple(axes), family.variables[inside][:, axes], family.table[inside]))
    return tuple(found)


def make_families(cliques: Sequence[Any], relation: Sequence[Any] | None, owner: Int64) -> tuple[Family, ...]:
    """Checks the factors that a `Forest` has besides its edges; see there."""
    if relation is not None and len(relation) != len(cliques):
        raise InputError(f"Expected clique_relation for {len(cliques)} families; got {len(relation)} of them.")
    found = []
    for number, given in enumerate(cliques):
        array = np.asarray(given.cpu() if hasattr(given, "cpu") else given)
        array = array.astype(np.int64) if array.size == 0 else array
        if not np.issubdtype(array.dtype, np.integer) or array.ndim != 2 or array.shape[1] < 2:
            raise InputError(
                f"Expected the cliques of a family as integers of shape (cliques, variables), of two variables or "
                f"more; got {array.dtype} of shape {array.shape}."
            )
        variables, count = array.astype(np.int64), len(array)
        check_cliques(variables, owner)
        table = np.arange(count) if relation is None else integers("clique_relation", relation[number], count, 0)
        found.append(Family(variables, table))
    return tuple(found)


def check_cliques(cliques: Int64, owner: Int64, what: str = "variables") -> None:
    """`InputError` if a clique has an unknown variable, one twice, or variables of several graphs.

    Shapes: cliques :math:`(F, r)`, owner :math:`(n)`
    """
    unknown = (cliques < 0) | (cliques >= len(owner))
    if unknown.any():
        row = int(unknown.any(1).argmax())
        raise InputError(
            f"Expected {what} from 0 to {len(owner) - 1} in cliques; got {cliques[row][unknown[row]][0]} in "
            f"{tuple(cliques[row].tolist())}."
        )
    ordered = np.sort(cliques, 1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(1)
    if twice.any():
        raise InputError(f"Expected distinct {what} in a clique; got {tuple(cliques[twice.argmax()].tolist())}.")
    across = (owner[cliques] != owner[cliques[:, :1]]).any(1)
    if across.any():
        clique = tuple(cliques[across.argmax()].tolist())
        raise InputError(f"Expected cliques inside graphs; clique {clique} joins {what} of different owners.")


def joined(graph: Graph, cliques: Sequence[Int64]) -> Graph:
    """The graph with edges between all nodes of every clique. Shapes: cliques :math:`(F, r)` each"""
    columns = [nodes[:, pair] for nodes in cliques for pair in combinations(range(nodes.shape[1]), 2)]
    if not columns:
        return graph
    ends = np.sort(np.concatenate([np.stack(graph._upper_edges(), 1), *columns]), 1)
    return Graph(np.unique(ends, axis=0).T, num_nodes=graph.num_nodes)


def integers(name: str, values: Any, count: int, least: int) -> Int64:
    """An array of `count` integers of at least `least`; `InputError` for anything else."""
    array = np.asarray(values.cpu() if hasattr(values, "cpu") else values)
    array = array.astype(np.int64) if array.size == 0 else array
    if not np.issubdtype(array.dtype, np.integer) or array.shape != (count,):
        raise InputError(f"Expected {name} as {count} integers; got {array.dtype} of shape {array.shape}.")
    if (wrong := np.flatnonzero(array < least)).size:
        raise InputError(f"Expected {name} of at least {least}; got {array[wrong[0]]} in place {wrong[0]}.")
    return array.astype(np.int64)
