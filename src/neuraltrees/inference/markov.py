"""A discrete Markov network: log-potentials on cliques of variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from operator import index
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from neuraltrees.checks import check_at_least
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.inference.structure import Structure

Evidence: TypeAlias = Mapping[int, int]


@dataclass(frozen=True, eq=False, repr=False)
class MarkovNetwork:
    r"""Discrete variables with the distribution :math:`p(x) = \exp(\sum_C \theta_C(x_C)) / Z`; immutable.

    Args:
        cardinalities: the number of states of each variable.
        cliques: for every table, the variables of its axes; distinct, in any order.
        log_potentials: the tables :math:`\theta_C`; -inf is a potential of zero. All tables may have the same leading
            batch axes: many networks of one structure.

    Shapes: table k :math:`(*B, d_{c_0}, d_{c_1}, \dots)`

    >>> model = MarkovNetwork([2, 3], [(0, 1), (1,)], [torch.zeros(2, 3), torch.tensor([0.0, 1.0, 2.0])])
    >>> model
    MarkovNetwork(num_variables=2, num_cliques=2, batch_shape=())
    >>> model.log_score([1, 2]).item()
    2.0
    """

    cardinalities: tuple[int, ...]
    cliques: tuple[tuple[int, ...], ...]
    log_potentials: tuple[Tensor, ...]

    def __init__(
        self,
        cardinalities: Iterable[int],
        cliques: Iterable[Iterable[int]],
        log_potentials: Iterable[Tensor],
    ) -> None:
        counts, scopes = check_structure(cardinalities, cliques)
        tables = tuple(log_potentials)
        wrong = next((table for table in tables if not isinstance(table, Tensor)), None)
        if wrong is not None:
            raise InputError(
                f"Expected log-potentials as tensors; got {type(wrong).__name__}. Use torch.as_tensor(table)."
            )
        check_tables(counts, scopes, tables)
        object.__setattr__(self, "cardinalities", counts)
        object.__setattr__(self, "cliques", scopes)
        object.__setattr__(self, "log_potentials", tables)

    @property
    def num_variables(self) -> int:
        return len(self.cardinalities)

    @property
    def batch_shape(self) -> torch.Size:
        return batch_shape(self.cliques, self.log_potentials)

    @cached_property
    def graph(self) -> Graph:
        """The graph that joins the variables of every clique."""
        return clique_graph(self.num_variables, self.cliques)

    @cached_property
    def structure(self) -> Structure:
        return Structure(self.cardinalities, self.cliques)

    def log_score(self, assignment: Tensor | Sequence[int]) -> Tensor:
        r"""The sum of the log-potentials of an assignment, :math:`\sum_C \theta_C(x_C)`.

        Shapes: assignment :math:`(*A, n)` → :math:`(*A)` broadcast with the batch of the tables
        """
        states = torch.as_tensor(assignment)
        if states.is_floating_point() or states.dtype == torch.bool or states.shape[-1:] != (self.num_variables,):
            raise InputError(
                f"Expected an assignment as integers of shape (*, {self.num_variables}); "
                f"got {states.dtype} of shape {tuple(states.shape)}."
            )
        if self.log_potentials:
            states = states.to(self.log_potentials[0].device, torch.int64)
        outside = (states < 0) | (states >= torch.tensor(self.cardinalities, device=states.device))
        if outside.any():
            at = outside.nonzero()[0].tolist()
            raise InputError(
                f"Expected a state between 0 and {self.cardinalities[at[-1]] - 1} for variable {at[-1]}; "
                f"got {int(states[tuple(at)])}."
            )
        shapes = states.shape[:-1], self.batch_shape
        shape = torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call]  # torch has no types here
        total = torch.zeros(shape, dtype=self._dtype, device=states.device)
        for clique, table in zip(self.cliques, self.log_potentials, strict=True):
            entries = table.reshape(*self.batch_shape, -1)
            place = torch.zeros(states.shape[:-1], dtype=torch.int64, device=states.device)
            for variable in clique:
                place = place * self.cardinalities[variable] + states[..., variable]
            entries = entries.expand(*shape, entries.shape[-1])
            total = total + entries.gather(-1, place.expand(shape).unsqueeze(-1)).squeeze(-1)
        return total

    @property
    def _dtype(self) -> torch.dtype:
        return self.log_potentials[0].dtype if self.log_potentials else torch.float64

    def __repr__(self) -> str:
        return (
            f"MarkovNetwork(num_variables={self.num_variables}, num_cliques={len(self.cliques)}, "
            f"batch_shape={tuple(self.batch_shape)})"
        )


def check_structure(
    cardinalities: Iterable[int], cliques: Iterable[Iterable[int]]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Cardinalities and cliques as tuples of plain integers; `InputError` names the first wrong one."""
    if not isinstance(cardinalities, Iterable) or not isinstance(cliques, Iterable):
        raise InputError(
            f"Expected cardinalities as a list, one per variable, and cliques as a list of lists of variables; "
            f"got {cardinalities!r:.40} and {cliques!r:.40}."
        )
    counts = tuple(
        check_at_least(f"the cardinality of variable {v}", count, 1, 2**31 - 1) for v, count in enumerate(cardinalities)
    )
    listed = [tuple(clique) if isinstance(clique, Iterable) else (None,) for clique in cliques]
    try:
        scopes = tuple(tuple(index(variable) for variable in clique) for clique in listed)
    except TypeError:
        raise InputError(f"Expected cliques of integers, the numbers of variables; got {listed!r:.80}.") from None
    for k, clique in enumerate(scopes):
        for variable in clique:
            if not 0 <= variable < len(counts):
                raise InputError(f"Expected variables between 0 and {len(counts) - 1}; got {variable} in clique {k}.")
        if len(set(clique)) != len(clique):
            raise InputError(f"Expected distinct variables in a clique; clique {k} is {clique}.")
    return counts, scopes


def check_tables(
    cardinalities: Sequence[int], cliques: Sequence[tuple[int, ...]], log_potentials: Sequence[Tensor]
) -> None:
    """Raises an error unless there is one table per clique, all with the same batch shape, dtype and device."""
    if len(log_potentials) != len(cliques):
        raise InputError(f"Expected one table per clique, {len(cliques)} in all; got {len(log_potentials)}.")
    batch = batch_shape(cliques, log_potentials)
    for k, (clique, table) in enumerate(zip(cliques, log_potentials, strict=True)):
        first = log_potentials[0]
        expected = (*batch, *(cardinalities[variable] for variable in clique))
        if tuple(table.shape) != expected:
            raise InputError(f"Expected shape {expected} for table {k} of clique {clique}; got {tuple(table.shape)}.")
        if not table.is_floating_point():
            raise InputError(f"Expected log-potentials as floats; got {table.dtype} in table {k}. Use .double().")
        if table.dtype != first.dtype or table.device != first.device:
            raise InputError(
                f"Expected all tables as {first.dtype} on {first.device}; "
                f"got {table.dtype} on {table.device} in table {k}."
            )


def batch_shape(cliques: Sequence[tuple[int, ...]], log_potentials: Sequence[Tensor]) -> torch.Size:
    """The leading axes of the first table, before those of its clique."""
    if not log_potentials:
        return torch.Size()
    return log_potentials[0].shape[: max(0, log_potentials[0].dim() - len(cliques[0]))]


def clique_graph(num_variables: int, cliques: Iterable[Sequence[int]]) -> Graph:
    """The graph on all variables that joins those of every clique."""
    pairs = {pair for clique in set(cliques) for pair in combinations(clique, 2)}
    edges = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    return Graph(edges.T, num_nodes=num_variables)


def check_evidence(evidence: Evidence | None, cardinalities: Sequence[int]) -> dict[int, int]:
    """Observed variables and their states as a plain dictionary in the order of the variables."""
    if evidence is not None and not isinstance(evidence, Mapping):
        raise InputError(f"Expected evidence as a dictionary, variable: state; got {evidence!r}.")
    try:
        observed = {index(variable): index(state) for variable, state in (evidence or {}).items()}
    except TypeError:
        raise InputError(f"Expected evidence as a dictionary of integers, variable: state; got {evidence!r}.") from None
    for variable, state in observed.items():
        if not 0 <= variable < len(cardinalities):
            raise InputError(f"Expected evidence on variables between 0 and {len(cardinalities) - 1}; got {variable}.")
        if not 0 <= state < cardinalities[variable]:
            raise InputError(
                f"Expected a state between 0 and {cardinalities[variable] - 1} for variable {variable}; got {state}."
            )
    return dict(sorted(observed.items()))
