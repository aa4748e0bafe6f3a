"""The sweep as a differentiable function, computed by the compiled core on a CPU and by fused kernels on a GPU."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from neuraltrees.errors import InputError
from neuraltrees.nn.sweep import fused, jumping, native_passes
from neuraltrees.nn.sweep.plan import SweepPlan


def sweep(values: Tensor, decay: Tensor, plan: SweepPlan, gate: Tensor | None = None) -> Tensor:
    r"""Sums over the whole tree of every node, weighted by tree distance: exact, in linear time.

    .. math:: z_B = \sum_{B'} λ^{\mathrm{dist}(B, B')} v_{B'}

    and with gates :math:`λ^{\mathrm{dist}}` becomes the product of :math:`a_C = λ g_C` over the edges of the path,
    where the edge from C to its parent has the gate :math:`g_C`. One pass up and one down:

    .. math:: s_B = v_B + \sum_{C ∈ \mathrm{children}(B)} a_C s_C, \qquad z_C = s_C + a_C (z_B - a_C s_C)

    The kernel is symmetric, so the gradient of the values is a sweep as well. An edge's factor has the gradient

    .. math:: \bar a_C = s_C (\bar z_B - a_C \bar s_C) + \bar s_C (z_B - a_C s_C)

    with the sums :math:`\bar s, \bar z` of the sweep over the gradient: the sums below the edge times those beyond it,
    in both directions. Second derivatives are not supported.

    Sums are computed in float64 for float64 values, else in float32, and returned in the dtype of the values.

    Args:
        values: the values :math:`v`.
        decay: the decays :math:`λ`, between 0 and 1.
        plan: the forest; its tensors must be on the device of the values.
        gate: the gates :math:`g` between 0 and 1, one per node for the edge to its parent; gates of roots are ignored.

    Shapes: values and gate :math:`(N, *, F)`, such as :math:`(N, F)` or :math:`(N, R, F)` for R runs; decay :math:`(F)`
    or :math:`(*, F)` → :math:`(N, *, F)`

    >>> chain = SweepPlan.of_edges([[0, 1], [1, 2]], num_nodes=3)
    >>> sweep(torch.tensor([[1.0], [0.0], [0.0]]), torch.tensor([0.5]), chain).flatten().tolist()
    [1.0, 0.5, 0.25]
    """
    _check(values, decay, plan, gate)
    dtype = torch.float64 if values.dtype == torch.float64 else torch.float32
    lead, size = values.shape[0], values.shape[1:].numel()
    factors = decay.to(dtype).expand(values.shape[1:])
    factors = factors.reshape(1, size) if gate is None else (factors * gate.to(dtype)).reshape(lead, size)
    rows = values.to(dtype).reshape(lead, size)
    if torch.compiler.is_compiling():  # plain torch operations, which can be traced
        found = jumping.passes(rows, factors, plan)[1]
    else:
        found = _Sweep.apply(rows, factors, plan)  # type: ignore[no-untyped-call]  # torch has no types here
    return found.reshape(values.shape).to(values.dtype)


class Kernels(Protocol):
    """An implementation of both passes and their gradients; `factors` has one row per node, or one row for all edges.

    Shapes: values, grad, sums and out :math:`(N, K)`; factors :math:`(N, K)` or :math:`(1, K)`
    """

    def passes(self, values: Tensor, factors: Tensor, plan: SweepPlan, keep: bool) -> tuple[Tensor | None, Tensor]:
        """The sums of the first pass, or None unless `keep`, and those of the second."""

    def gradients(
        self, grad: Tensor, factors: Tensor, sums: Tensor | None, out: Tensor | None, plan: SweepPlan
    ) -> tuple[Tensor, Tensor | None]:
        """The gradients of the values, and of the factors if sums and out are given."""


def _kernels(values: Tensor, plan: SweepPlan) -> Kernels:
    if values.device.type == "cpu":
        return native_passes
    if values.is_cuda and fused.suits(plan):
        return fused
    return jumping


class _Sweep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, factors: Tensor, plan: SweepPlan) -> Tensor:
        ctx.plan = plan
        keep = ctx.needs_input_grad[1]
        sums, out = _kernels(values, plan).passes(values, factors, plan, keep)
        ctx.save_for_backward(factors, *((sums, out) if keep else ()))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, None]:
        factors, sums, out = (*ctx.saved_tensors, None, None)[:3]
        kernels = _kernels(grad, ctx.plan)
        return *kernels.gradients(grad.contiguous(), factors, sums, out, ctx.plan), None


def _check(values: Tensor, decay: Tensor, plan: SweepPlan, gate: Tensor | None) -> None:
    if values.dim() < 2 or len(values) != plan.num_nodes:
        raise InputError(
            f"Expected values of shape (N, F) or (N, R, F) for the {plan.num_nodes} nodes of the plan; got "
            f"{tuple(values.shape)}."
        )
    channels = values.shape[1:]
    if not values.is_floating_point():
        raise InputError(f"Expected values in floating point; got {values.dtype}. Use values.float().")
    if decay.dim() > len(channels) or decay.shape != channels[len(channels) - decay.dim() :]:
        raise InputError(
            f"Expected one decay per channel, of shape {tuple(channels[-1:])} or {tuple(channels)} for values of "
            f"shape {tuple(values.shape)}; got {tuple(decay.shape)}."
        )
    if gate is not None and gate.shape != values.shape:
        raise InputError(f"Expected gates of the shape of the values, {tuple(values.shape)}; got {tuple(gate.shape)}.")
    for name, device in (("plan", plan.parent.device), ("decay", decay.device)):
        if device != values.device:
            raise InputError(
                f"Expected values, decay and plan on one device; got values on {values.device} and the {name} on "
                f"{device}. Use {name}.to({str(values.device)!r})."
            )
