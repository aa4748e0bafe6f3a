"""Sweeps on a CPU: both passes and their gradients in the compiled core, on several threads for large trees."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from neuraltrees._core import native
from neuraltrees.nn.sweep.plan import SweepPlan

# Entries per thread: starting a thread takes as long as a sweep over some ten thousand entries.
PER_THREAD = 2**18


def passes(values: Tensor, factors: Tensor, plan: SweepPlan, keep: bool = True) -> tuple[Tensor | None, Tensor]:
    out = torch.empty_like(values, memory_format=torch.contiguous_format)
    sums = torch.empty_like(out) if keep else out
    native.sweep(
        *_forest(plan),
        _array(values),
        _array(factors),
        len(factors) != 1,
        _array(sums),
        _array(out),
        _threads(values),
    )
    return sums if keep else None, out


def gradients(
    grad: Tensor, factors: Tensor, sums: Tensor | None, out: Tensor | None, plan: SweepPlan
) -> tuple[Tensor, Tensor | None]:
    if sums is None or out is None:
        return passes(grad, factors, plan, keep=False)[1], None
    of_values, of_factors = (torch.empty_like(each, memory_format=torch.contiguous_format) for each in (grad, factors))
    native.sweep_gradients(
        *_forest(plan),
        _array(grad),
        _array(factors),
        len(factors) != 1,
        _array(sums),
        _array(out),
        _array(of_values),
        _array(of_factors),
        _threads(grad),
    )
    return of_values, of_factors


def _forest(plan: SweepPlan) -> tuple[Any, Any, Any]:
    return _array(plan.parent), None if plan.order is None else _array(plan.order), _array(plan.tree_ptr)


def _array(tensor: Tensor) -> Any:
    return tensor.detach().contiguous().numpy()


def _threads(values: Tensor) -> int:
    return max(1, min(torch.get_num_threads(), values.numel() // PER_THREAD))
