"""A discrete Bayesian network, and its conversion to a Markov network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import TypeAlias

import numpy as np
from torch import Tensor

from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.graph import Graph, moralize
from neuraltrees.inference.markov import MarkovNetwork, check_structure

NamedEvidence: TypeAlias = (
    Mapping[str, str] | Mapping[str, int] | Mapping[int, int] | Mapping[int, str] | Mapping[str | int, str | int]
)

ROUNDING = 1e-2  # tolerance of the sum of a row: files have few digits


@dataclass(frozen=True, eq=False, repr=False)
class BayesianNetwork:
    r"""Discrete variables with the distribution :math:`p(x) = \prod_v p(x_v \mid x_{pa(v)})`; immutable.

    Args:
        names: the names of the variables.
        states: for every variable, the names of its states.
        parents: for every variable, its parents.
        tables: for every variable, its conditional probabilities; the last axis is the variable itself.

    Shapes: table v :math:`(d_{p_0}, d_{p_1}, \dots, d_v)`

    >>> import torch
    >>> rain = torch.tensor([0.8, 0.2])
    >>> wet = torch.tensor([[0.9, 0.1], [0.0, 1.0]])
    >>> network = BayesianNetwork(["rain", "wet"], [["no", "yes"]] * 2, [(), (0,)], [rain, wet])
    >>> network, network.to_markov().cliques
    (BayesianNetwork(num_variables=2, num_arcs=1), ((0,), (0, 1)))
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    tables: tuple[Tensor, ...]

    def __init__(
        self,
        names: Iterable[str],
        states: Iterable[Iterable[str]],
        parents: Iterable[Iterable[int]],
        tables: Iterable[Tensor],
    ) -> None:
        for field, value in (
            ("names", tuple(names)),
            ("states", tuple(tuple(each) for each in states)),
            ("parents", tuple(tuple(int(p) for p in each) for each in parents)),
            ("tables", tuple(tables)),
        ):
            object.__setattr__(self, field, value)
        count = len(self.names)
        if not count == len(self.states) == len(self.parents) == len(self.tables):
            raise InputError(
                f"Expected states, parents and a table for each of {count} variables; "
                f"got {len(self.states)}, {len(self.parents)} and {len(self.tables)}."
            )
        check_structure(self.cardinalities, self.families)
        for v, table in enumerate(self.tables):
            shape = tuple(self.cardinalities[u] for u in self.families[v])
            if tuple(table.shape) != shape:
                raise InputError(f"Expected shape {shape} for the table of {self.names[v]}; got {tuple(table.shape)}.")
            if not bool((table >= 0).all()):
                raise InputError(
                    f"Expected probabilities of at least 0 in the table of {self.names[v]}; got less or nan."
                )
            wrong = (table.sum(-1) - 1).abs()
            if wrong.numel() and not float(wrong.max()) <= ROUNDING:
                raise InputError(
                    f"Expected rows that sum to 1 in the table of {self.names[v]}; got a sum that is "
                    f"{float(wrong.max()):.3g} off. The last axis is the variable itself: divide by table.sum(-1)."
                )
        check_acyclic(self.parents, self.names)

    @property
    def num_variables(self) -> int:
        return len(self.names)

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        return tuple(len(each) for each in self.states)

    @cached_property
    def families(self) -> tuple[tuple[int, ...], ...]:
        """The parents of every variable, and the variable itself after them."""
        return tuple((*parents, v) for v, parents in enumerate(self.parents))

    @cached_property
    def graph(self) -> Graph:
        """The moral graph."""
        arcs = [(parent, v) for v, parents in enumerate(self.parents) for parent in parents]
        return moralize(np.array(arcs, dtype=np.int64).reshape(-1, 2).T, num_nodes=self.num_variables)

    def to_markov(self) -> MarkovNetwork:
        """The same distribution as log-potentials on the families; without evidence Z is 1, if rows sum to 1.

        The result is cached.
        """
        return self._markov

    @cached_property
    def _markov(self) -> MarkovNetwork:
        return MarkovNetwork(self.cardinalities, self.families, (table.log() for table in self.tables))

    def numbered(self, evidence: NamedEvidence | None) -> dict[int, int]:
        """Evidence with variables and states by number; they may be given by name or by number.

        >>> import torch
        >>> rain = BayesianNetwork(["rain"], [["no", "yes"]], [()], [torch.tensor([0.8, 0.2])])
        >>> rain.numbered({"rain": "yes"})
        {0: 1}
        """
        if evidence is not None and not isinstance(evidence, Mapping):
            raise InputError(f"Expected evidence as a dictionary, variable: state; got {evidence!r}.")
        found: dict[int, int] = {}
        for name, state in (evidence or {}).items():
            v = self._find(name, self.names, "a variable")
            if v in found:
                raise InputError(f"Expected each variable once in the evidence; got {self.names[v]!r} twice.")
            found[v] = self._find(state, self.states[v], f"a state of {self.names[v]}")
        return found

    @staticmethod
    def _find(given: object, names: tuple[str, ...], what: str) -> int:
        if isinstance(given, str):
            if given in names:
                return names.index(given)
            listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
            raise InputError(f"Expected {what} out of {listed}; got {given!r}.{did_you_mean(given, names)}")
        try:
            number = index(given)  # type: ignore[arg-type]  # TypeError is caught
        except TypeError:
            raise InputError(f"Expected {what} by its name or number; got {given!r}.") from None
        if not 0 <= number < len(names):
            raise InputError(f"Expected {what} between 0 and {len(names) - 1}; got {number}.")
        return number

    def named(self, marginals: Sequence[Tensor]) -> dict[str, dict[str, float]]:
        """The probability of every state of every variable, by name: `network.named(infer(network).marginals)`.

        Shapes: marginal v :math:`(d_v)`
        """
        rows = zip(self.names, self.states, marginals, strict=True)
        return {name: dict(zip(states, each.tolist(), strict=True)) for name, states, each in rows}

    def named_assignment(self, assignment: Sequence[int] | Tensor) -> dict[str, str]:
        """An assignment by name: the state of every variable.

        Shapes: assignment :math:`(n)`
        """
        numbers = assignment.tolist() if isinstance(assignment, Tensor) else list(assignment)
        return {name: of[k] for name, of, k in zip(self.names, self.states, numbers, strict=True)}

    def __repr__(self) -> str:
        return f"BayesianNetwork(num_variables={self.num_variables}, num_arcs={sum(map(len, self.parents))})"


def check_acyclic(parents: Sequence[Sequence[int]], names: Sequence[str]) -> None:
    """Raises an error that names a variable on a directed cycle, if there is one."""
    children: list[list[int]] = [[] for _ in parents]
    waiting = [len(each) for each in parents]
    for v, each in enumerate(parents):
        for parent in each:
            children[parent].append(v)
    ready = [v for v, count in enumerate(waiting) if count == 0]
    for v in ready:
        for child in children[v]:
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    if len(ready) < len(parents):
        stuck = next(v for v, count in enumerate(waiting) if count > 0)
        raise InputError(f"Expected arcs without a directed cycle; {names[stuck]} is on one or below one.")
