"""Sums of states with computed weights, which differ by run and head: used by attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from neuraltrees.nn.ensemble.scatter import sum_rows


@dataclass(frozen=True, eq=False)
class SumEntries:
    """Which state each message comes from and goes to, and whether it carries anything.

    Shapes: row, col and used :math:`(E)`, shape :math:`(M, N)`
    """

    row: Tensor
    col: Tensor
    used: Tensor
    shape: tuple[int, int]


@dataclass(frozen=True, eq=False)
class ScatterSum:
    r"""The function :math:`(h, w) ↦ \sum_{e : row_e = v} w_e h_{col_e}`, message by message.

    Nothing is prepared, and `torch.export` supports all of its operations.

    Shapes: h :math:`(N, *, F)`, w :math:`(E, *)` → :math:`(M, *, F)`
    """

    messages: SumEntries

    def __call__(self, h: Tensor, weight: Tensor) -> Tensor:
        used = self.messages.used.to(weight.dtype).view(-1, *[1] * (weight.dim() - 1))
        parts = h.index_select(0, self.messages.col) * (weight * used).unsqueeze(-1)
        return sum_rows(parts, self.messages.row, self.messages.shape[0])


class FusedSum:
    """The same sums in one pass over the states, and one pass per gradient, without a tensor of one state per message.

    >>> messages = SumEntries(*torch.tensor([[0, 1, 1], [1, 0, 1]]), torch.tensor([True] * 3), (2, 2))
    >>> h, weight = torch.tensor([[[1.0]], [[5.0]]]), torch.tensor([[2.0], [3.0], [4.0]])
    >>> FusedSum(messages, torch.device("cpu"))(h, weight).flatten().tolist()
    [10.0, 23.0]
    """

    def __init__(self, messages: SumEntries, device: torch.device) -> None:
        self.messages, self.device = messages, device
        self._tables: dict[int, _Tables] = {}

    def to(self, device: torch.device) -> FusedSum:
        """The same sums on another device; their tables are made at the first use there."""
        return FusedSum(self.messages, device)

    def __call__(self, h: Tensor, weight: Tensor) -> Tensor:
        groups = weight.shape[1:].numel()
        if groups not in self._tables:
            self._tables[groups] = _Tables.of(self.messages, groups, self.device)
        tables = self._tables[groups]
        if h.dtype != weight.dtype:  # under autocast, exponentials are in higher precision than products
            kind = torch.promote_types(h.dtype, weight.dtype)
            h, weight = h.to(kind), weight.to(kind)
        out: Tensor = _Apply.apply(h, weight, tables)  # type: ignore[no-untyped-call]  # torch has no types here
        return out


WeightedSum: TypeAlias = ScatterSum | FusedSum


@dataclass(frozen=True)
class _Tables:
    """The indices of states and weights, for a number of weights per message: heads times runs.

    Args:
        kept: the messages that carry anything; None for all.
        source, target: rows of the states of each message and weight.
        forward, backward: the sums, and those of the gradient.
    """

    kept: Tensor | None
    source: Tensor
    target: Tensor
    forward: _SumRows
    backward: _SumRows

    @classmethod
    def of(cls, messages: SumEntries, groups: int, device: torch.device) -> _Tables:
        kept = messages.used.nonzero().squeeze(1)
        row, col, group = messages.row[kept], messages.col[kept], torch.arange(groups)
        # States are stored node by node with all groups, so (node, group) numbers the rows of a table of single states.
        source, target = ((end.view(-1, 1) * groups + group).flatten().to(device) for end in (col, row))
        return cls(
            None if len(kept) == len(messages.row) else kept.to(device),
            source,
            target,
            _SumRows.of(row, col, kept, messages.shape[0], group, device),
            _SumRows.of(col, row, kept, messages.shape[1], group, device),
        )


@dataclass(frozen=True)
class _SumRows:
    """For every sum and every group: the indices of its states and of their weights."""

    start: Tensor
    index: Tensor
    entry: Tensor
    rows: int

    @classmethod
    def of(cls, row: Tensor, col: Tensor, number: Tensor, rows: int, group: Tensor, device: torch.device) -> _SumRows:
        groups, order = len(group), row.argsort(stable=True)
        size = row.bincount(minlength=rows)
        first = size.cumsum(0) - size
        sizes = size.repeat_interleave(groups)
        start = sizes.cumsum(0) - sizes
        within = torch.arange(groups * len(row)) - start.repeat_interleave(sizes)
        message = order[first.repeat_interleave(groups * size) + within]
        which = group.repeat(rows).repeat_interleave(sizes)
        return cls(
            start.to(device),
            (col[message] * groups + which).to(device),
            (number[message] * groups + which).to(device),
            rows,
        )

    def sums(self, h: Tensor, weight: Tensor) -> Tensor:
        weights = weight.flatten().index_select(0, self.entry)
        table = h.reshape(-1, h.shape[-1])
        if not len(self.index):
            return h.new_zeros(self.rows, *h.shape[1:])
        sums: Tensor = torch.embedding_bag(table, self.index, self.start, False, 0, False, weights, False)[0]
        return sums.view(self.rows, *h.shape[1:])


class _Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor, tables: _Tables) -> Tensor:
        ctx.save_for_backward(h, weight)
        ctx.tables = tables
        return tables.forward.sums(h, weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (h, weight), tables = ctx.saved_tensors, ctx.tables
        of_h = tables.backward.sums(grad, weight) if ctx.needs_input_grad[0] else None
        of_weight = None
        if ctx.needs_input_grad[1]:
            # The scalar product of the state that a message sent and the gradient of the state that received it.
            flat = (each.reshape(-1, h.shape[-1]) for each in (grad, h))
            of_weight = torch.ops.aten._embedding_bag_per_sample_weights_backward(
                *flat, tables.source, tables.source[:0], tables.target, 0
            )
            of_weight = of_weight.view(-1, *weight.shape[1:])
            if tables.kept is not None:
                of_weight = torch.zeros_like(weight).index_copy(0, tables.kept, of_weight)
        return of_h, of_weight, None
