"""Sums over edges of states, and of a ReLU: the messages of GINE, without a tensor of all messages."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from neuraltrees.nn import triton_kernels
from neuraltrees.nn.ensemble import native_layers
from neuraltrees.nn.ensemble.incidence import BLOCK, Incidence

CHUNK, ENTRIES, TABLE_BLOCK = 256, 32, 64  # of the kernel for the gradient of the table


def relu_sum(
    x: Tensor, source: Incidence, target: Incidence, table: Tensor | None = None, kind: Tensor | None = None
) -> Tensor:
    r""":math:`y_t = \sum_{e: s_e → t} \mathrm{relu}(x_{s_e} + T_{k_e})`, a sum over the edges e to t.

    Args:
        x: the states.
        source, target: the ends :math:`s_e` and :math:`t_e` of every edge.
        table: the rows T; None for none.
        kind: the row :math:`k_e` of every edge; None if the table has one row for all edges.

    Shapes: x :math:`(N, *, F)`, table :math:`(K, *, F)`, kind :math:`(M)` → :math:`(N', *, F)`

    >>> ends = Incidence(torch.tensor([0, 1]), 2), Incidence(torch.tensor([1, 1]), 2)
    >>> relu_sum(torch.tensor([[1.0], [-3.0]]), *ends, torch.tensor([[2.0]])).flatten().tolist()
    [0.0, 3.0]
    """
    fits = x.is_cuda and x.dtype == torch.float32 and source.segments is not None and target.segments is not None
    if fits and len(target.index) and not torch.compiler.is_compiling() and triton_kernels.available():
        given = (x, table, kind, source, target)
        out: Tensor = ReluSum.apply(*given)  # type: ignore[no-untyped-call]  # torch has no types here
        return out
    if native_layers.suits(x, table):
        sums: Tensor = native_layers.ReluSum.apply(x, table, kind, source, target)  # type: ignore[no-untyped-call]
        return sums
    return by_torch(x, source, target, table, kind)


def edge_sum(x: Tensor, source: Incidence, target: Incidence) -> Tensor:
    r""":math:`y_t = \sum_{e: s_e → t} x_{s_e}`, a sum over the edges e to t.

    Shapes: x :math:`(N, *, F)` → :math:`(N', *, F)`

    >>> ends = Incidence(torch.tensor([0, 1]), 2), Incidence(torch.tensor([1, 1]), 2)
    >>> edge_sum(torch.tensor([[1.0], [-3.0]]), *ends).flatten().tolist()
    [0.0, -2.0]
    """
    if not native_layers.suits(x):
        return target.sum(source.take(x))
    sums: Tensor = native_layers.EdgeSum.apply(x, source, target)  # type: ignore[no-untyped-call]
    return sums


def by_torch(
    x: Tensor, source: Incidence, target: Incidence, table: Tensor | None = None, kind: Tensor | None = None
) -> Tensor:
    """`relu_sum` by operations of torch, which can be traced."""
    if kind is None or table is None:
        return target.sum(source.take((x if table is None else x + table[0]).relu()))
    return target.sum((source.take(x) + table.index_select(0, kind)).relu())


class ReluSum(torch.autograd.Function):
    """`relu_sum` by one kernel forward and two backward, always in the same order; needs Triton."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, table: Tensor | None, kind: Tensor | None, source: Incidence, target: Incidence
    ) -> Tensor:
        assert target.segments is not None
        from neuraltrees.nn.ensemble import relu_sum_kernels as kernels

        channels = x.shape[1:].numel()
        flat = x.contiguous().view(len(x), channels)
        rows = None if table is None else table.contiguous().view(len(table), channels)
        out = flat.new_empty(target.rows, channels)
        segments, block = target.segments, min(BLOCK, 1 << (channels - 1).bit_length())
        ctx.sizes = {"TABLE": rows is not None, "KINDS": kind is not None}
        if out.numel():
            kernels.forward[target.rows, -(-channels // block)](
                flat, flat if rows is None else rows, source.index if kind is None else kind, source.index,
                segments.first if segments.order is None else segments.order, segments.first, segments.count,
                out, channels, ORDERED=segments.order is not None, BLOCK=block, num_warps=1, **ctx.sizes,
            )  # fmt: skip
        ctx.save_for_backward(flat, rows, kind)
        ctx.ends, ctx.shape, ctx.table = (source, target), x.shape, None if table is None else table.shape
        return out.view(target.rows, *x.shape[1:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from neuraltrees.nn.ensemble import relu_sum_kernels as kernels

        flat, rows, kind = ctx.saved_tensors
        source, target = ctx.ends
        channels = flat.shape[1]
        grad = grad.contiguous().view(-1, channels)
        segments, block = source.segments, min(BLOCK, 1 << (channels - 1).bit_length())
        of_x = torch.empty_like(flat)
        table, kinds = flat if rows is None else rows, source.index if kind is None else kind
        if of_x.numel():
            kernels.backward[len(flat), -(-channels // block)](
                grad, flat, table, kinds, target.index,
                segments.first if segments.order is None else segments.order, segments.first, segments.count,
                of_x, channels, ORDERED=segments.order is not None, BLOCK=block, num_warps=1, **ctx.sizes,
            )  # fmt: skip
        of_table = None
        if rows is not None and kind is None:
            of_table = of_x.sum(0).view(ctx.table)  # x and the row are added in every edge
        elif rows is not None:
            chunks, count = -(-len(kind) // CHUNK), max(16, 1 << (len(rows) - 1).bit_length())
            parts = flat.new_empty(chunks, count, channels)
            kernels.of_table[chunks, -(-channels // TABLE_BLOCK)](
                grad, flat, rows, kind, source.index, target.index, target.segments.count, parts,
                len(kind), channels, COUNT=count, CHUNK=CHUNK, ENTRIES=ENTRIES, BLOCK=TABLE_BLOCK,
            )  # fmt: skip
            of_table = parts.sum(0)[: len(rows)].view(ctx.table)
        return of_x.view(ctx.shape), of_table, None, None, None
