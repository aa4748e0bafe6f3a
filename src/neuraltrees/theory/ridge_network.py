"""A function on the unit cube, fitted by a ReLU network with one hidden layer and a measured error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from neuraltrees.errors import ApproximationError
from neuraltrees.theory.compatible import Function, answer_dtype

CHECKS = 20_000  # random points at which the error is measured, beside a grid of about as many
MOST_UNITS = 800  # with more, a fit takes seconds


@dataclass(frozen=True, eq=False, repr=False)
class RidgeNetwork:
    r"""A sum of ridge functions, the theorem's shallow network: :math:`\sum_k a_k \mathrm{ReLU}(⟨w_k, x⟩ + b_k) + c`.

    The directions :math:`w_k`, with entries -1, 0 and 1, and equally spaced breakpoints are fixed in advance; the
    :math:`a_k` and c are fitted by least squares. The error is measured, not proven.

    Shapes: x :math:`(…, d)` in the unit cube → :math:`(…)`; weight :math:`(d, K)`, bias and out :math:`(K)`
    """

    weight: Tensor
    bias: Tensor
    out: Tensor
    constant: float
    error: float
    low: float
    high: float

    hidden_layers = 1

    @classmethod
    def fit(cls, function: Function, dimension: int, epsilon: float, max_parameters: int) -> RidgeNetwork:
        """Doubles the number of breakpoints until the measured error is below epsilon.

        >>> RidgeNetwork.fit(lambda x: x.prod(-1), dimension=2, epsilon=0.02, max_parameters=1000).hidden_layers
        1
        """
        most = min(MOST_UNITS, (max_parameters - 1) // (dimension + 2))
        directions, breakpoints, best = (3**dimension - 1) // 2, 2, math.inf
        check: Tensor | None = None
        while True:
            units = directions * breakpoints
            if units > most:
                raise ApproximationError(
                    f"Expected a shallow network of at most {most} units within {epsilon:.3g} of a component of "
                    f"{dimension} variables; the next size is {units}, and the best so far had an error of {best:.3g}. "
                    f'Use method="interpolate", or a larger epsilon.'
                )
            if check is None:
                check = _points(dimension, CHECKS, random=True)
                wanted = function(check)
            weight, bias = _units(dimension, breakpoints)
            points = _points(dimension, max(400, 4 * units), random=False)
            design = torch.cat([(points @ weight + bias).relu(), torch.ones(len(points), 1, dtype=torch.float64)], 1)
            solution = torch.linalg.lstsq(design, function(points).unsqueeze(1), driver="gelsd").solution.flatten()
            network = cls(weight, bias, solution[:-1], float(solution[-1]), 0.0, 0.0, 0.0)
            values = network(check)
            best = min(best, float((values - wanted).abs().max()))
            if best < epsilon:
                # The margin covers values between the measured points, which a later ReLU would otherwise clip.
                low, high = float(values.min()) - epsilon, float(values.max()) + epsilon
                return cls(weight, bias, solution[:-1], float(solution[-1]), best, low, high)
            breakpoints *= 2

    @property
    def num_parameters(self) -> int:
        """Number of weights, biases and output weights of the units, plus one for the constant."""
        return len(self.bias) * (len(self.weight) + 2) + 1

    def __call__(self, x: Tensor) -> Tensor:
        return ((x.double() @ self.weight + self.bias).relu() @ self.out + self.constant).to(answer_dtype(x))

    def __repr__(self) -> str:
        return (
            f"RidgeNetwork(dimension={len(self.weight)}, units={len(self.bias)}, hidden_layers={self.hidden_layers}, "
            f"num_parameters={self.num_parameters}, error={self.error})"
        )


def _units(dimension: int, breakpoints: int) -> tuple[Tensor, Tensor]:
    """Directions with entries -1, 0 and 1, one of each pair ±w, each with equally spaced breakpoints over its range."""
    weights, biases = [], []
    for entries in product((-1, 0, 1), repeat=dimension):
        if next((entry for entry in entries if entry), -1) < 0:
            continue
        low, high = sum(min(entry, 0) for entry in entries), sum(max(entry, 0) for entry in entries)
        for step in range(breakpoints):
            weights.append(entries)
            biases.append(-(low + (high - low) * step / breakpoints))
    return torch.tensor(weights, dtype=torch.float64).t(), torch.tensor(biases, dtype=torch.float64)


def _points(dimension: int, count: int, random: bool) -> Tensor:
    """A grid of about `count` points of the unit cube, corners included, and `count` random points if `random`."""
    axis = torch.linspace(0, 1, max(2, round(count ** (1 / dimension))), dtype=torch.float64)
    grid = torch.cartesian_prod(*[axis] * dimension).reshape(-1, dimension)
    if not random:
        return grid
    generator = torch.Generator().manual_seed(0)
    return torch.cat([grid, torch.rand(count, dimension, dtype=torch.float64, generator=generator)])
