"""Sweeps on a GPU by one kernel forward and one backward, for trees small enough for one program; needs Triton.

Nothing synchronises with the device and all sizes come from shapes, so that the work can be captured in a CUDA graph.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from neuraltrees.nn import triton_kernels
from neuraltrees.nn.sweep.plan import SweepPlan

# A program takes a few tenths of a microsecond per place. For larger trees pointer jumping is faster: about a hundred
# kernels, which take about a millisecond whatever the depth of the trees.
LARGEST = 4096
BLOCK = 128  # channels per program
ROWS = 8  # places that a program computes at once, if they do not depend on each other
PADDING = 32  # programs for the places after the last tree


def suits(plan: SweepPlan) -> bool:
    """Whether the largest tree is small enough for one program, and Triton works here."""
    return plan.largest <= LARGEST and triton_kernels.available()


def passes(values: Tensor, factors: Tensor, plan: SweepPlan, keep: bool = True) -> tuple[Tensor | None, Tensor]:
    out = torch.empty_like(values, memory_format=torch.contiguous_format)
    sums = torch.empty_like(out) if keep else out
    _launch("passes", plan, values.contiguous(), factors.contiguous(), sums, out)
    return sums if keep else None, out


def gradients(
    grad: Tensor, factors: Tensor, sums: Tensor | None, out: Tensor | None, plan: SweepPlan
) -> tuple[Tensor, Tensor | None]:
    if sums is None or out is None:
        return passes(grad, factors, plan, keep=False)[1], None
    per_node = len(factors) != 1
    of_values = torch.empty_like(grad, memory_format=torch.contiguous_format)
    of_factors = grad.new_empty(len(factors) if per_node else plan.num_trees + PADDING, factors.shape[1])
    if not grad.numel():
        of_factors.zero_()
    _launch("gradients", plan, grad.contiguous(), factors.contiguous(), sums, out, of_values, of_factors)
    return of_values, of_factors if per_node else of_factors.sum(0, keepdim=True)


def _launch(name: str, plan: SweepPlan, source: Tensor, factors: Tensor, *buffers: Tensor) -> None:
    if not source.numel():
        return
    from neuraltrees.nn.sweep import kernels

    kernel: Any = getattr(kernels, name)
    channels = source.shape[1]
    block = min(BLOCK, 1 << (channels - 1).bit_length())
    order = plan.parent if plan.order is None else plan.order
    with torch.cuda.device_of(source):  # type: ignore[no-untyped-call]  # torch has no types here
        kernel[plan.num_trees + PADDING, -(-channels // block)](
            source,
            factors,
            plan.parent.contiguous(),
            order.contiguous(),
            plan.tree_ptr.contiguous(),
            *buffers,
            plan.num_nodes,
            plan.num_trees,
            channels,
            PER_NODE=len(factors) != 1,
            ORDERED=plan.order is not None,
            PADDING=PADDING,
            BLOCK=block,
            ROWS=ROWS,
            num_warps=max(1, block * ROWS // 256),
            enable_fp_fusion=True,
        )
