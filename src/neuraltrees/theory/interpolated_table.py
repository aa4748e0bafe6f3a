"""A table over discrete states as a continuous function of real features."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Protocol

import torch
from torch import Tensor

from neuraltrees.errors import InputError

NEAR = {torch.float64: 1e-9}  # a feature this close to a state counts as that state
NEAR_ROUNDED = 1e-5  # the same for dtypes of lower precision


class MarkovNetworkLike(Protocol):
    """The attributes of a Markov network that are needed; table k has one dimension per variable of clique k."""

    @property
    def cardinalities(self) -> Sequence[int]: ...
    @property
    def cliques(self) -> Sequence[Sequence[int]]: ...
    @property
    def log_potentials(self) -> Sequence[Tensor]: ...


class InterpolatedTable:
    r"""A table as a function: a lookup at states, multilinear interpolation between them.

    :math:`θ(x) = \sum_{s ∈ \prod_i \{⌊x_i⌋, ⌊x_i⌋ + 1\}} T_s \prod_i (1 - |x_i - s_i|)`

    Corners of weight zero are skipped, so that an entry of minus infinity does not spread to its neighbours.

    Args:
        values: the table T, one dimension per variable.
        unit: whether real features lie in [0, 1], from the first state to the last. Integer features are always states.

    Shapes: x :math:`(…, k)` → :math:`(…)`

    >>> table = InterpolatedTable(torch.tensor([[0.0, 4.0], [1.0, 7.0]]))
    >>> table(torch.tensor([[1, 0], [1, 1]])), table(torch.tensor([0.5, 1.0]))
    (tensor([1., 7.]), tensor(5.5000))
    >>> table.lipschitz
    9.0
    """

    def __init__(self, values: Tensor, unit: bool = False) -> None:
        self.values, self.unit = values, unit

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant in the sup norm, the sum over axes of the steepest slope; infinite if an entry is."""
        if not bool(self.values.isfinite().all()):
            return float("inf")
        slopes = 0.0
        for axis, states in enumerate(self.values.shape):
            if states > 1:
                slopes += float(self.values.diff(dim=axis).abs().max()) * (states - 1 if self.unit else 1)
        return slopes

    def __call__(self, x: Tensor) -> Tensor:
        sizes = torch.tensor(self.values.shape, dtype=torch.int64, device=x.device)
        if x.shape[-1] != len(sizes):
            raise InputError(f"Expected features of shape (…, {len(sizes)}) for this table; got {tuple(x.shape)}.")
        real = x.is_floating_point()
        states = x.to(self.values.dtype) if real else x
        if real and self.unit:
            states = states * (sizes - 1)
        whole = states.round()
        states = (
            torch.where((states - whole).abs() < NEAR.get(x.dtype, NEAR_ROUNDED), whole, states) if real else states
        )
        if states.numel() and not bool(((states >= 0) & (states <= sizes - 1)).all()):
            where = torch.nonzero(~((states >= 0) & (states <= sizes - 1)))[0].tolist()
            most = 1 if real and self.unit else int(sizes[where[-1]]) - 1
            raise InputError(f"Expected features between 0 and {most}; got {x[tuple(where)].item()}.")
        if not real:
            return self.values[states.long().unbind(-1)].expand(x.shape[:-1])
        low = states.floor().long()
        share = states - low
        total = states.new_zeros(states.shape[:-1])
        for corner in product((0, 1), repeat=len(sizes)):
            up = torch.tensor(corner, device=x.device, dtype=torch.int64)
            weight = torch.where(up == 1, share, 1 - share).prod(-1)
            value = self.values[torch.minimum(low + up, sizes - 1).unbind(-1)]
            total = total + torch.where(weight > 0, weight * value, 0)
        return total.to(x.dtype)

    def __repr__(self) -> str:
        return f"InterpolatedTable(shape={tuple(self.values.shape)}, unit={self.unit})"
