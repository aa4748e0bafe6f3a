"""A table over discrete states as a continuous function of real features."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Protocol

import torch
from torch import Tensor

from neuraltrees.errors import InputError

NEAR = {torch.float64: 1e-9}  # a feature this close to a state is that state
NEAR_ROUNDED = 1e-5  # the same for features of fewer digits


class MarkovNetworkLike(Protocol):
    """What is read of a Markov network; table k has one dimension for each variable of clique k."""

    @property
    def cardinalities(self) -> Sequence[int]: ...
    @property
    def cliques(self) -> Sequence[Sequence[int]]: ...
    @property
    def log_potentials(self) -> Sequence[Tensor]: ...


class Table:
    r"""Looks states up; between states, the multilinear interpolation of the corners around.

    :math:`θ(x) = \sum_{s ∈ \prod_i \{⌊x_i⌋, ⌊x_i⌋ + 1\}} T_s \prod_i (1 - |x_i - s_i|)`

    A corner of weight zero does not count, so that an entry of minus infinity stays where it is.

    Args:
        values: the table T, one dimension for each variable.
        unit: real features in [0, 1] stand for states from the first to the last; else, and if they are integers,
            features are states.

    Shapes: x :math:`(…, k)` → :math:`(…)`

    >>> table = Table(torch.tensor([[0.0, 4.0], [1.0, 7.0]]))
    >>> table(torch.tensor([[1, 0], [1, 1]])), table(torch.tensor([0.5, 1.0]))
    (tensor([1., 7.]), tensor(5.5000))
    >>> table.lipschitz
    9.0
    """

    def __init__(self, values: Tensor, unit: bool = False) -> None:
        self.values, self.unit = values, unit

    @property
    def lipschitz(self) -> float:
        """In the sup norm: the steepest slopes along all coordinates together; infinity with an infinite entry."""
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
        return f"Table(shape={tuple(self.values.shape)}, unit={self.unit})"
