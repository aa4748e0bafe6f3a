"""Sparse products: linear maps between the states of two rounds, with fixed coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from neuraltrees.movable import moved_fields
from neuraltrees.nn.ensemble.scatter import sum_rows


@dataclass(frozen=True)
class Coefficients:
    r"""A sparse matrix by its entries, :math:`A_{row, col} = value`; values of equal places are added.

    Args:
        row, col, value: the entries.
        shape: numbers of rows and columns.
        start: where the entries of every row begin, if they are known to be sorted by row; else None.

    Shapes: row, col and value :math:`(E)`, shape :math:`(M, N)`, start :math:`(M)`
    """

    row: Tensor
    col: Tensor
    value: Tensor
    shape: tuple[int, int]
    start: Tensor | None = None

    def __matmul__(self, other: Coefficients) -> Coefficients:
        """The product of two matrices."""
        product = (self._rows() @ other._rows()).tocoo()
        row, col = (torch.from_numpy(index.astype(np.int64)) for index in product.coords)
        return Coefficients(row, col, torch.from_numpy(product.data), (self.shape[0], other.shape[1]))

    def _rows(self) -> csr_array:
        used = self.value != 0  # an entry of value zero may have a column out of range
        row, col, value = (each[used].numpy() for each in (self.row, self.col, self.value.double()))
        return csr_array((value, (row, col)), shape=self.shape)

    def __add__(self, other: Coefficients) -> Coefficients:
        """The sum of two matrices of the same shape."""
        row, col = torch.cat([self.row, other.row]), torch.cat([self.col, other.col])
        return Coefficients(row, col, torch.cat([self.value, other.value]), self.shape)

    def narrowed(self, columns: int) -> Coefficients:
        """The same matrix with only the first columns; it must not read the others."""
        return Coefficients(self.row, self.col, self.value, (self.shape[0], columns))

    def without_last_column(self) -> Coefficients:
        """The same matrix without its last column, for states whose last row is zero and omitted; entries are kept
        with value zero, so that no shape depends on the values.
        """
        last = self.shape[1] - 1
        outside = self.col == last
        value = torch.where(outside, 0, self.value)
        return Coefficients(self.row, torch.where(outside, 0, self.col), value, (self.shape[0], last), self.start)


@dataclass(frozen=True, eq=False)
class ScatterMap:
    """A map applied entry by entry: nothing is prepared, and `torch.export` supports all of its operations."""

    entries: Coefficients

    @property
    def shape(self) -> tuple[int, int]:
        return self.entries.shape

    def __call__(self, h: Tensor) -> Tensor:
        """Shapes: h :math:`(N, *)` → :math:`(M, *)`"""
        messages = h.index_select(0, self.entries.col)
        messages = messages * self.entries.value.to(h.dtype).view(-1, *[1] * (h.dim() - 1))
        return sum_rows(messages, self.entries.row, self.shape[0])


@dataclass(frozen=True, eq=False)
class ScatterChoice:
    """The map from `columns` states to those of the index."""

    index: Tensor
    columns: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.index.shape[0], self.columns

    def __call__(self, h: Tensor) -> Tensor:
        """Shapes: h :math:`(N, *)` → :math:`(M, *)`"""
        return h.index_select(0, self.index)


@dataclass(frozen=True, eq=False, repr=False)
class SparseMap:
    """A matrix in compressed rows, with its transpose for the gradient; each is applied in one pass over the states.

    If it is made while gradients are disabled, the transpose is made when it is first needed.

    >>> double = Coefficients(torch.tensor([0, 1]), torch.tensor([1, 1]), torch.tensor([2.0, 3.0]), (2, 2))
    >>> SparseMap.of(double)(torch.tensor([[5.0], [7.0]])).flatten().tolist()
    [14.0, 21.0]
    """

    shape: tuple[int, int]
    entries: int
    forward: _Rows
    backward: _Rows | None

    @classmethod
    def of(cls, entries: Coefficients, dtype: torch.dtype = torch.float32, device: Any = None) -> SparseMap:
        """The map with these entries, without those of value zero."""
        row, col, value, start = entries.row, entries.col, entries.value.to(dtype), entries.start
        if not bool(entries.value.all()):
            used = entries.value != 0
            row, col, value, start = row[used], col[used], value[used], None
        if start is None:
            forward = _Rows.of(row, col, value, entries.shape[0], device)
        else:
            forward = _Rows.of_sorted(start, col, value, entries.shape[1], device)
        return cls(
            entries.shape,
            len(row),
            forward,
            _Rows.of(col, row, value, entries.shape[1], device) if torch.is_grad_enabled() else None,
        )

    @classmethod
    def choosing(cls, index: Tensor, columns: int, dtype: torch.dtype = torch.float32, device: Any = None) -> SparseMap:
        """The map from `columns` states to those of the index.

        Shapes: index :math:`(M)`
        """
        if torch.is_grad_enabled():
            rows = torch.arange(len(index))
            backward = _Rows.of(index, rows, torch.ones(len(index), dtype=dtype), columns, device)
        else:
            backward = None
        forward = _Rows(index.to(device), index.to(device), None, single=True)
        return cls((len(index), columns), len(index), forward, backward)

    @classmethod
    def of_features(cls, x: Tensor, dtype: torch.dtype = torch.float32, device: Any = None) -> SparseMap:
        """Sparse features as the linear map :math:`W ↦ x W` of the weights.

        Shapes: x :math:`(n, F)`, sparse
        """
        entries = x.to_sparse_coo().coalesce()  # type: ignore[no-untyped-call]  # torch has no types here
        row, col = entries.indices()
        return cls.of(Coefficients(row, col, entries.values(), (x.shape[0], x.shape[1])), dtype, device)

    def __call__(self, h: Tensor) -> Tensor:
        """Shapes: h :math:`(N, *)` → :math:`(M, *)`"""
        if not (h.requires_grad and torch.is_grad_enabled()):
            return self.forward.sums(h)
        out: Tensor = _Apply.apply(h, self)  # type: ignore[no-untyped-call]  # torch has no types here
        return out

    def transposed(self) -> _Rows:
        """The rows of the transpose."""
        if self.backward is None:
            object.__setattr__(self, "backward", self.forward.transposed(self.shape))
        assert self.backward is not None
        return self.backward

    def to(self, device: torch.device) -> SparseMap:
        """The same map on another device."""
        if self.forward.index.device == torch.device(device):
            return self
        backward = None if self.backward is None else moved_fields(self.backward, device)
        return SparseMap(self.shape, self.entries, moved_fields(self.forward, device), backward)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, entries={self.entries})"


Map: TypeAlias = ScatterMap | ScatterChoice | SparseMap


@dataclass(frozen=True)
class _Rows:
    """A matrix in compressed rows; `value` is None if all values are 1, `single` if also every row has one entry."""

    start: Tensor
    index: Tensor
    value: Tensor | None
    single: bool

    @classmethod
    def of(cls, row: Tensor, col: Tensor, value: Tensor, rows: int, device: Any) -> _Rows:
        # NumPy's operations on small arrays take less time than torch's.
        rows_of, index = row.cpu().numpy(), col.cpu().numpy()
        count = np.bincount(rows_of, minlength=rows)
        if (rows_of[1:] < rows_of[:-1]).any():
            order = stable_order(rows_of, rows)
            index, value = index[order], value[torch.from_numpy(order).to(value.device)]
        start = np.zeros(rows, np.int64)
        np.cumsum(count[:-1], out=start[1:])
        columns = int(index.max()) + 1 if len(index) else 0
        return cls.of_sorted(torch.from_numpy(start), torch.from_numpy(index), value, columns, device)

    @classmethod
    def of_sorted(cls, start: Tensor, col: Tensor, value: Tensor, columns: int, device: Any) -> _Rows:
        """The rows of entries that are sorted by row. Shapes: start :math:`(M)`, col and value :math:`(E)`"""
        # 32-bit indices are faster to read; both arrays must have the same type.
        narrow = max(col.shape[0], columns) <= torch.iinfo(torch.int32).max
        kind = torch.int32 if narrow else torch.int64
        ones = bool((value == 1).all())
        single = ones and start.shape == col.shape and bool((start[1:] == start[:-1] + 1).all())
        return cls(start.to(device, kind), col.to(device, kind), None if ones else value.to(device), single=single)

    def transposed(self, shape: tuple[int, int]) -> _Rows:
        """The rows of the transpose of a matrix of this shape."""
        index = self.index.cpu().long()
        row = torch.arange(shape[0])
        if not self.single:
            row = row.repeat_interleave(self.start.cpu().long().diff(append=torch.tensor([len(index)])))
        value = torch.ones(len(index)) if self.value is None else self.value.cpu()
        return _Rows.of(index, row, value, shape[1], self.index.device)

    def sums(self, h: Tensor) -> Tensor:
        flat = h.flatten(1)
        if self.single or not len(self.start):
            return flat.index_select(0, self.index).view(-1, *h.shape[1:])
        # As torch.nn.functional.embedding_bag without its checks, which matter in many small calls.
        sums: Tensor = torch.embedding_bag(flat, self.index, self.start, False, 0, False, self.value, False)[0]
        return sums.view(-1, *h.shape[1:])


def stable_order(values: np.ndarray, below: int) -> np.ndarray:
    """The order that sorts integers from 0; equal ones keep theirs.

    >>> stable_order(np.array([2, 0, 2, 1]), 3).tolist()
    [1, 3, 0, 2]
    """
    short = values.astype(np.uint16) if below <= 1 << 16 else values  # which NumPy sorts by radix, several times faster
    order: np.ndarray = short.argsort(kind="stable")
    return order


class _Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, map: SparseMap) -> Tensor:
        ctx.map = map
        return map.forward.sums(h)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.map.transposed().sums(grad), None
