"""A function on the unit cube, interpolated on a grid by a ReLU network with a proven error bound."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.theory.compatible import Function, answer_dtype

CHUNK = 2_000_000  # units evaluated at once


@dataclass(frozen=True, eq=False, repr=False)
class HatNetwork:
    r"""The piecewise-linear interpolant on Kuhn's triangulation of a grid, :math:`\sum_g θ(g)\, φ(m x - m g)`.

    The hat function of a grid point is
    :math:`φ(z) = \mathrm{ReLU}(1 - \max_i \mathrm{ReLU}(z_i) - \max_i \mathrm{ReLU}(-z_i))`. The maximum of two
    nonnegative numbers takes two units, :math:`\max(a, b) = \mathrm{ReLU}(a) + \mathrm{ReLU}(b - a)`, so a hat function
    of d variables has :math:`2 + ⌈\log_2 d⌉` hidden layers.

    In a simplex with corners :math:`v_i`, the error at a point of barycentric coordinates λ is at most
    :math:`\sum_i λ_i |θ(x) - θ(v_i)| ≤ \frac{L}{m} \sum_i λ_i (1 - λ_i) ≤ \frac{d}{d + 1} \frac{L}{m}`, where L is the
    Lipschitz constant of θ in the sup norm.

    Args:
        values: θ at the grid points, shape (m + 1, …, m + 1); the output weights are these minus their minimum.
        lipschitz: the Lipschitz constant L.

    Shapes: x :math:`(…, d)` in the unit cube → :math:`(…)`

    >>> network = HatNetwork.of(lambda x: (x[..., 0] - x[..., 1]).abs(), dimension=2, cells=4, lipschitz=2.0)
    >>> network
    HatNetwork(dimension=2, cells=4, hidden_layers=3, num_parameters=341, error=0.3333333333333333)
    >>> network(torch.tensor([[0.1, 0.35], [1.0, 0.0]], dtype=torch.float64))
    tensor([0.2500, 1.0000], dtype=torch.float64)
    """

    values: Tensor
    lipschitz: float

    @classmethod
    def of(cls, function: Function, dimension: int, cells: int, lipschitz: float) -> HatNetwork:
        """Evaluates a function at the points of a grid with `cells` cells per axis.

        Raises `InputError` if the slope between neighbouring grid points exceeds the Lipschitz constant.
        """
        axis = torch.arange(cells + 1, dtype=torch.float64) / cells
        values = function(torch.stack(torch.meshgrid(*[axis] * dimension, indexing="ij"), -1))
        slope = steepest(values) * cells
        if not slope <= lipschitz * (1 + 1e-6) + 1e-9 * cells:
            raise InputError(
                f"Expected a function with a Lipschitz constant of {lipschitz} in the sup norm; got a slope of "
                f"{slope:.6g} between neighbouring grid points. Pass a larger constant, or smooth the function."
            )
        return cls(values, lipschitz)

    @property
    def dimension(self) -> int:
        return self.values.dim()

    @property
    def cells(self) -> int:
        return self.values.shape[0] - 1

    @property
    def low(self) -> float:
        """The minimum of the network on the cube."""
        return float(self.values.min())

    @property
    def high(self) -> float:
        """The maximum of the network on the cube."""
        return float(self.values.max())

    @property
    def error(self) -> float:
        """The proven bound on the sup-error, :math:`L d / ((d + 1) m)`."""
        return hat_error(self.dimension, self.cells, self.lipschitz)

    @property
    def hidden_layers(self) -> int:
        return 2 + (self.dimension - 1).bit_length()

    @property
    def num_parameters(self) -> int:
        return hat_parameters(self.dimension, self.cells)

    def __call__(self, x: Tensor) -> Tensor:
        """Evaluates the network layer by layer, all hat functions at once."""
        flat = x.reshape(-1, self.dimension).double()
        hats = self.values.numel()
        rows = torch.split(flat, max(1, CHUNK // (hats * self.dimension)))
        return torch.cat([flat.new_zeros(0), *map(self._forward, rows)]).reshape(x.shape[:-1]).to(answer_dtype(x))

    def _forward(self, x: Tensor) -> Tensor:
        steps = torch.arange(self.cells + 1, dtype=x.dtype)
        offset = self.cells * x.unsqueeze(-1) - steps
        right, left = offset.relu(), (-offset).relu()  # the first layer; hat functions of the same row share its units
        point = torch.cartesian_prod(*[torch.arange(self.cells + 1)] * self.dimension).reshape(-1, self.dimension)
        axes = range(self.dimension)
        highest = _maximum([right[:, i, point[:, i]] for i in axes])
        lowest = _maximum([left[:, i, point[:, i]] for i in axes])
        hats = (1 - highest - lowest).relu()
        return self.low + hats @ (self.values.flatten() - self.low).to(x.dtype)

    def __repr__(self) -> str:
        return (
            f"HatNetwork(dimension={self.dimension}, cells={self.cells}, hidden_layers={self.hidden_layers}, "
            f"num_parameters={self.num_parameters}, error={self.error})"
        )


def hat_error(dimension: int, cells: int, lipschitz: float) -> float:
    """The proven bound on the sup-error of a `HatNetwork`."""
    return lipschitz * dimension / ((dimension + 1) * cells)


def hat_parameters(dimension: int, cells: int) -> int:
    """Number of weights and biases of a `HatNetwork`; shared units count once, absent connections do not count.

    The first layer has 2 d (m + 1) units, each with a weight and a bias. Each hat function has its maxima, a last unit
    with a bias, and an output weight; the minimum is one more bias.

    >>> hat_parameters(1, 4), hat_parameters(2, 4), hat_parameters(3, 4)
    (41, 341, 3061)
    """
    inputs, weights = [1] * dimension, 0  # how many units are summed to get each operand
    while len(inputs) > 1:
        pairs = list(zip(inputs[::2], inputs[1::2], strict=False))
        carried = inputs[-1:] if len(inputs) % 2 else []
        weights += sum(2 * a + b for a, b in pairs) + sum(carried)
        inputs = [2] * len(pairs) + [1] * len(carried)
    hat = 2 * (weights + inputs[0]) + 2
    return 4 * dimension * (cells + 1) + hat * int((cells + 1) ** dimension) + 1


def steepest(values: Tensor) -> float:
    """The largest difference between a grid point and those one step ahead along one or more axes."""
    steps = [torch.zeros((), dtype=values.dtype)]
    for up in product((0, 1), repeat=values.dim()):
        if any(up):
            ahead = values[tuple(slice(step, None) for step in up)]
            behind = values[tuple(slice(None, size - step) for step, size in zip(up, values.shape, strict=True))]
            steps.append((ahead - behind).abs().max())
    return float(torch.stack(steps).max())  # NaN if one of them is NaN


def _maximum(numbers: list[Tensor]) -> Tensor:
    """The maximum of nonnegative numbers, pairwise by ReLU units."""
    while len(numbers) > 1:
        pairs = zip(numbers[::2], numbers[1::2], strict=False)
        carried = [numbers[-1].relu()] if len(numbers) % 2 else []
        numbers = [a.relu() + (b - a).relu() for a, b in pairs] + carried
    return numbers[0]
