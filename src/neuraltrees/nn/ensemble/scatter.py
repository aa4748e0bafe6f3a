"""Sums of rows by index, by an operation that every runtime computes correctly."""

from __future__ import annotations

import torch
from torch import Tensor


def sum_rows(values: Tensor, index: Tensor, rows: int) -> Tensor:
    """The sum of the entries of every row. Shapes: values :math:`(M, *)`, index :math:`(M)` → :math:`(rows, *)`

    An exported program uses `scatter_add`, which becomes ONNX's ScatterElements. `index_add` would become ScatterND
    with addition, which onnxruntime computes on several threads that overwrite each other's sums.

    >>> sum_rows(torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([0, 2, 2]), 3).flatten().tolist()
    [1.0, 0.0, 5.0]
    """
    zero = values.new_zeros(rows, *values.shape[1:])
    if torch.compiler.is_exporting():
        return zero.scatter_add(0, index.view(-1, *[1] * (values.dim() - 1)).expand_as(values), values)
    return zero.index_add(0, index, values)
