"""Sums of messages, and batch norm with what follows it, on a CPU: one pass of the compiled core each, instead of
operations of torch that each read and write all states."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from neuraltrees._core import native
from neuraltrees.nn.ensemble.fused_norm import Drop
from neuraltrees.nn.ensemble.incidence import Incidence

PER_THREAD = 2**18  # entries per thread: see `neuraltrees.nn.sweep.native_passes`


def suits(h: Tensor, *others: Tensor | None) -> bool:
    """Whether the core can compute with these tensors: on a CPU, all of one precision, and with values."""
    given = [h, *(each for each in others if each is not None)]
    return (
        h.dtype in (torch.float32, torch.float64)
        and not torch.compiler.is_compiling()
        and all(
            each.device.type == "cpu" and each.dtype == h.dtype and type(each) in (Tensor, nn.Parameter)
            for each in given
        )
    )


class ReluSum(torch.autograd.Function):
    """`relu_sum` on a CPU."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, table: Tensor | None, kind: Tensor | None, source: Incidence, target: Incidence
    ) -> Tensor:
        flat, rows = _rows(x), None if table is None else _rows(table)
        out = flat.new_empty(target.rows, flat.shape[1])
        edges = _array(source.index), _array(target.index), _array(kind)
        native.relu_sum(*edges, _array(flat), _array(rows), _array(out), _threads(flat))
        ctx.save_for_backward(flat, rows)
        ctx.edges, ctx.shapes = edges, (x.shape, None if table is None else table.shape)
        return out.view(target.rows, *x.shape[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        flat, rows = ctx.saved_tensors
        of_x = torch.empty_like(flat)
        of_table = torch.empty_like(rows) if ctx.needs_input_grad[1] else None
        source, target, kind = ctx.edges
        results = _array(of_x), _array(of_table)
        native.relu_sum_gradients(
            source, target, kind, _array(_rows(grad)), _array(flat), _array(rows), *results, _threads(flat)
        )
        shape, table = ctx.shapes
        return of_x.view(shape), None if of_table is None else of_table.view(table), None, None, None


class EdgeSum(torch.autograd.Function):
    """`edge_sum` on a CPU."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, source: Incidence, target: Incidence) -> Tensor:
        ctx.ends = source, target
        return _edge_sum(x, source, target)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        source, target = ctx.ends
        return _edge_sum(grad, target, source), None, None


def _edge_sum(x: Tensor, source: Incidence, target: Incidence) -> Tensor:
    flat = _rows(x)
    out = flat.new_empty(target.rows, flat.shape[1])
    native.edge_sum(_array(source.index), _array(target.index), _array(flat), _array(out), _threads(flat))
    return out.view(target.rows, *x.shape[1:])


class NormRelu(torch.autograd.Function):
    """`neuraltrees.nn.ensemble.fused_norm.NormRelu` on a CPU, for at least two rows, each of which stands for some
    nodes (`copies`) or for one."""

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        scale: Tensor,
        shift: Tensor,
        copies: Tensor | None,
        running_mean: Tensor,
        running_var: Tensor,
        momentum: float,
        relu: bool,
        residual: Tensor | None = None,
        drop: Drop | None = None,
    ) -> Tensor:
        flat, size = _rows(h), h.shape[-1]
        out, mean, inverse = torch.empty_like(flat), torch.empty_like(scale), torch.empty_like(scale)
        entries, keys, low, factor = _of_drop(drop, size)
        parameters = _channels(scale), _channels(shift), _channels(running_mean), _channels(running_var)
        added = None if residual is None else _array(_rows(residual))
        results = _array(out), _channels(mean), _channels(inverse)
        native.norm_relu(
            _array(flat),
            size,
            _array(copies),
            *parameters,
            momentum,
            relu,
            entries,
            keys,
            low,
            factor,
            added,
            *results,
            _threads(flat),
        )
        ctx.save_for_backward(flat, scale, shift, mean, inverse, copies)
        # Not saved by autograd, which would refuse that the keys change after the backward pass.
        ctx.options = relu, entries, keys, low, factor
        ctx.shape, ctx.adds = h.shape, residual is not None
        return out.view(h.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        flat, scale, shift, mean, inverse, copies = ctx.saved_tensors
        of_h, of_scale, of_shift = torch.empty_like(flat), torch.empty_like(scale), torch.empty_like(shift)
        numbers = _channels(scale), _channels(shift), _channels(mean), _channels(inverse)
        results = _array(of_h), _channels(of_scale), _channels(of_shift)
        relu, entries, keys, low, factor = ctx.options
        drop = entries, keys, low, factor
        native.norm_relu_gradients(
            _array(_rows(grad)),
            _array(flat),
            ctx.shape[-1],
            _array(copies),
            *numbers,
            relu,
            *drop,
            *results,
            _threads(flat),
        )
        of_residual = grad if ctx.adds else None
        return of_h.view(ctx.shape), of_scale, of_shift, None, None, None, None, None, of_residual, None


class Dropped(torch.autograd.Function):
    """States with some entries dropped and the others scaled, on a CPU; see `DropoutMasks.mask`."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, drop: Drop) -> Tensor:
        ctx.drop = _of_drop(drop, drop.entries.shape[-1])
        return _dropped(h, ctx.drop)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _dropped(grad, ctx.drop), None


def _dropped(h: Tensor, drop: tuple[Any, Any, float, float]) -> Tensor:
    flat = _rows(h)
    out = torch.empty_like(flat)
    native.drop_entries(_array(flat), drop[0].shape[1], *drop, _array(out), _threads(flat))
    return out.view(h.shape)


def _of_drop(drop: Drop | None, size: int) -> tuple[Any, Any, float, float]:
    if drop is None:
        return None, None, 0.0, 0.0
    return _array(drop.entries.view(-1, size)), _array(drop.keys), 0.5 - drop.dropped, 1 / (1 - drop.dropped)


def _rows(h: Tensor) -> Tensor:
    """The states with the channels of all runs side by side."""
    return h.detach().contiguous().view(len(h), h.shape[1:].numel())


def _array(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.detach().contiguous().numpy()


def _channels(tensor: Tensor) -> Any:
    """The numbers of all channels; the core may write to them."""
    return tensor.detach().view(-1).numpy()


def _threads(h: Tensor) -> int:
    return max(1, min(torch.get_num_threads(), h.numel() // PER_THREAD))
