"""A linear layer with separate weights per run."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from neuraltrees.nn.ensemble.combined import Combined
from neuraltrees.nn.ensemble.precision import autocasts
from neuraltrees.nn.ensemble.sparse import SparseMap
from neuraltrees.products import multiply, suits_core

States: TypeAlias = Tensor | SparseMap | Combined

SHARES = (16, 8, 4, 2)  # numbers of shares that rows may be divided into, for gradients of weights on a GPU
ROWS = 128  # the least number of rows of a share


class RunLinear(nn.Module):
    r"""A linear layer for one run, or for R runs with separate weights.

    :math:`z_n = h_n W + b`, and with runs :math:`z_{nr} = h_{nr} W_r + b_r`.

    Args:
        in_channels: number of input channels.
        out_channels: number of output channels.
        runs: number of independent runs; None for a single one without the extra dimension.
        bias: whether to add :math:`b`.
        glorot: whether weights are initialised by Glorot's uniform distribution and the bias by zero, as in GCN and
            GAT; else both uniformly in :math:`±1/\sqrt{F}`, as in `torch.nn.Linear`.

    Shapes: :math:`(N, F) → (N, O)`; with runs :math:`(N, F)` (shared by the runs) or :math:`(N, R, F) → (N, R, O)`.
    The input may be sparse if it is shared.
    """

    def __init__(
        self, in_channels: int, out_channels: int, runs: int | None = None, bias: bool = True, glorot: bool = False
    ) -> None:
        super().__init__()
        lead = () if runs is None else (runs,)
        self.in_channels, self.out_channels, self.runs, self.glorot = in_channels, out_channels, runs, glorot
        self.weight = nn.Parameter(torch.empty(*lead, in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(*lead, out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialises the weights and the bias."""
        default = 1 / math.sqrt(max(1, self.in_channels))
        bound = math.sqrt(6 / (self.in_channels + self.out_channels)) if self.glorot else default
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -default, default) if not self.glorot else nn.init.zeros_(self.bias)

    def forward(self, h: Tensor) -> Tensor:
        return self.shift(self.multiply(h))

    def shift(self, z: Tensor) -> Tensor:
        """Adds the bias, if there is one."""
        return z if self.bias is None else z + self.bias

    def multiply(self, h: States) -> Tensor:
        """The product with the weights, without the bias."""
        return product(h, self.weight)

    def extra_repr(self) -> str:
        bias = self.bias is not None
        return f"{self.in_channels}, {self.out_channels}, runs={self.runs}, bias={bias}, glorot={self.glorot}"


def product(h: States, weight: Tensor) -> Tensor:
    """The states times the weights, for each run if the weights have a run dimension.

    Shapes: h :math:`(N, F)`, weight :math:`(F, O)` → :math:`(N, O)`; h :math:`(N, F)`, which may be sparse, or
    :math:`(N, R, F)`, weight :math:`(R, F, O)` → :math:`(N, R, O)`
    """
    if isinstance(h, Combined):
        return h.map(product(h.features, weight))
    if isinstance(h, SparseMap):
        return h(weight if weight.dim() == 2 else weight.transpose(0, 1))
    if weight.dim() == 2:
        return h @ weight
    runs, size, out = weight.shape
    if h.dim() == 2:  # one product with the weights of all runs, concatenated
        return (h @ weight.transpose(0, 1).reshape(size, -1)).view(-1, runs, out)
    if runs == 1 and not suits_core(h.transpose(0, 1), weight):
        return (h.squeeze(1) @ weight[0]).unsqueeze(1)
    # The compiler chooses the layout itself, and autocast the precision.
    if torch.compiler.is_compiling() or autocasts(h):
        return torch.einsum("nrf,rfo->nro", h, weight)
    result: Tensor = _RunProduct.apply(h, weight)  # type: ignore[no-untyped-call]  # torch has no types here
    return result


class _RunProduct(torch.autograd.Function):
    """One product per run, on states with the nodes as first dimension, without copying them."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(h, weight)
        out = h.new_empty(*h.shape[:2], weight.shape[2])
        _multiply(h.transpose(0, 1), weight, out.transpose(0, 1))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        h, weight = ctx.saved_tensors
        by_run = grad.transpose(0, 1)
        of_h = None
        if ctx.needs_input_grad[0]:
            of_h = torch.empty_like(h)
            _multiply(by_run, weight.transpose(1, 2), of_h.transpose(0, 1))
        return of_h, weight_gradient(h, grad, _shares(h))


def _multiply(a: Tensor, b: Tensor, out: Tensor) -> None:
    """The products of all pairs, one after another on a CPU where the core does not compute them, since torch copies
    what it multiplies at once in bfloat16.

    Shapes: a :math:`(R, N, F)`, b :math:`(R, F, O)`, out :math:`(R, N, O)`
    """
    if a.device.type != "cpu" or suits_core(a, b):
        multiply(a, b, out)
        return
    for one, other, into in zip(a, b, out, strict=True):
        torch.mm(one, other, out=into)


def weight_gradient(h: Tensor, grad: Tensor, shares: int = 1) -> Tensor:
    """The gradient of the weights of every run: a sum over all rows.

    Args:
        h, grad: the states and the gradient of their products.
        shares: number of shares that the rows are divided into and summed separately, which a GPU does in parallel; a
            divisor of the number of rows.

    Shapes: h :math:`(N, R, F)`, grad :math:`(N, R, O)` → :math:`(R, F, O)`
    """
    runs = h.shape[1]
    if shares == 1 and h.device.type == "cpu":
        found = h.new_empty(runs, h.shape[2], grad.shape[2])
        _multiply(h.permute(1, 2, 0), grad.transpose(0, 1), found)
        return found
    # Row i belongs to share i modulo the number of shares, so that shares and runs form one dimension without a copy.
    mine, theirs = (each.contiguous().view(-1, shares * runs, each.shape[2]) for each in (h, grad))
    parts = torch.bmm(mine.permute(1, 2, 0), theirs.transpose(0, 1))
    return parts if shares == 1 else parts.view(shares, runs, *parts.shape[1:]).sum(0)


def _shares(h: Tensor) -> int:
    """The number of shares for `weight_gradient`: few small products over many rows leave most of a GPU idle."""
    if not h.is_cuda:
        return 1
    return next((share for share in SHARES if len(h) % share == 0 and len(h) >= ROWS * share), 1)
