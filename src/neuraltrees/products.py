"""Stacks of matrix products; on a CPU in float32 by the compiled core, where that is faster than PyTorch."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from neuraltrees._core import native

ROWS, COLUMNS, WORK = 4, 8, 2**14  # the fewest rows, columns and multiplications per product for the core
PER_THREAD = 2**23  # multiplications


def multiply(a: Tensor, b: Tensor, out: Tensor) -> None:
    """Writes the products of all pairs of matrices to `out`; not differentiable.

    Shapes: a :math:`(P, N, F)`, b :math:`(P, F, O)`, out :math:`(P, N, O)`
    """
    if suits_core(a, b) and type(out) is Tensor and out.stride(2) == 1:
        work = a.numel() * b.shape[2]
        threads = max(1, min(torch.get_num_threads(), work // PER_THREAD))
        native.multiply(a.detach().numpy(), b.detach().numpy(), out.numpy(), threads)
    else:
        torch.bmm(a, b, out=out)


def suits_core(a: Tensor, b: Tensor) -> bool:
    """Whether the core computes the products of these stacks, and faster than PyTorch."""
    if torch.compiler.is_compiling():
        return False
    onednn: Any = torch.backends.mkldnn
    return (
        all(
            each.device.type == "cpu" and each.dtype == torch.float32 and type(each) in (Tensor, nn.Parameter)
            for each in (a, b)
        )
        and _faster()
        and a.shape[1] >= ROWS
        and b.shape[2] >= COLUMNS
        and a.shape[1] * a.shape[2] * b.shape[2] >= WORK
        and onednn.matmul.fp32_precision != "bf16"
    )


class StackProduct(torch.autograd.Function):
    """The products of two stacks of matrices, for any number of derivatives. Shapes: as in `multiply`"""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        out = a.new_empty(len(a), a.shape[1], b.shape[2])
        multiply(a, b, out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        a, b = ctx.saved_tensors
        of_a = StackProduct.apply(grad, b.mT) if ctx.needs_input_grad[0] else None  # type: ignore[no-untyped-call]  # torch has no types here
        of_b = StackProduct.apply(a.mT, grad) if ctx.needs_input_grad[1] else None  # type: ignore[no-untyped-call]  # torch has no types here
        return of_a, of_b


@cache
def _faster() -> bool:
    return native.multiplies_faster()
