"""The whole joint distribution of a small discrete model, by listing every assignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Joint:
    """Log scores of all assignments as one array with an axis a variable, -inf where they contradict the evidence."""

    def __init__(
        self,
        cardinalities: Sequence[int],
        cliques: Sequence[Sequence[int]],
        log_potentials: Sequence[Array],
        evidence: Mapping[int, int] | None = None,
    ) -> None:
        self.cardinalities = tuple(cardinalities)
        self.scores = np.zeros(self.cardinalities)
        for assignment in np.ndindex(*self.cardinalities):
            for clique, table in zip(cliques, log_potentials, strict=True):
                self.scores[assignment] += table[tuple(assignment[v] for v in clique)]
        for variable, state in (evidence or {}).items():
            for other in set(range(self.cardinalities[variable])) - {state}:
                self.scores[(slice(None),) * variable + (other,)] = -np.inf

    @property
    def best(self) -> float:
        return float(self.scores.max())

    @property
    def log_partition(self) -> float:
        if self.best == -np.inf:
            return -np.inf
        return float(np.log(np.exp(self.scores - self.best).sum()) + self.best)

    @property
    def probabilities(self) -> Array:
        return np.exp(self.scores - self.log_partition)

    def marginal(self, *variables: int) -> Array:
        """The joint distribution of some variables, in the given order."""
        others = tuple(v for v in range(len(self.cardinalities)) if v not in variables)
        summed = np.asarray(self.probabilities.sum(axis=others))
        places = [sorted(variables).index(v) for v in variables]
        return np.transpose(summed, places)
