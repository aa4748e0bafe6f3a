"""Integer categories: an embedding per value, summed over the columns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from neuraltrees.checks import check_at_least
from neuraltrees.errors import InputError
from neuraltrees.nn.encoder.encoder import Encoder
from neuraltrees.nn.ensemble.linear import RunLinear, product
from neuraltrees.nn.ensemble.rows import Rows

FEW = 1024  # on a GPU, tables of at most this many rows are read by a matrix product
COMBINATIONS = 64  # the largest table that `rows` makes


@dataclass(frozen=True)
class Categories:
    """Features that are integers: column k has the values 0 to sizes[k] - 1.

    Args:
        sizes: the number of values of every column.
        vocabulary: the name of the numbering of the values, if it has one, such as `ogb-atoms`. It is stored with a
            trained network, so that predictions for other inputs, such as SMILES, use the same numbers.
        numbers: number of columns of plain numbers that follow, such as positional encodings.

    >>> Categories((28,)).width, Categories((28,), numbers=20).width
    (1, 21)
    """

    sizes: tuple[int, ...]
    vocabulary: str | None = None
    numbers: int = 0

    def __init__(self, sizes: Iterable[int], vocabulary: str | None = None, numbers: int = 0) -> None:
        if not isinstance(sizes, Iterable) or isinstance(sizes, str):
            raise InputError(f"Expected a list of the number of values of every column; got {sizes!r}.")
        object.__setattr__(self, "sizes", tuple(check_at_least("sizes", size, 1) for size in sizes))
        if not self.sizes:
            raise InputError("Expected categories of at least one column; got none.")
        if vocabulary is not None and not isinstance(vocabulary, str):
            raise InputError(f"Expected the name of a vocabulary; got {vocabulary!r}.")
        object.__setattr__(self, "vocabulary", vocabulary)
        object.__setattr__(self, "numbers", check_at_least("numbers", numbers, 0))

    def __repr__(self) -> str:
        named = "" if self.vocabulary is None else f", vocabulary={self.vocabulary!r}"
        numbers = f", numbers={self.numbers}" if self.numbers else ""
        return f"{type(self).__name__}(sizes={self.sizes}{named}{numbers})"

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.sizes) + self.numbers


class CategoryEncoder(Encoder):
    r""":math:`h_v = \sum_k E_k[x_{vk}] + z_v W`, with an embedding table per column of integers and a linear map of
    the columns z of plain numbers, if there are any.

    Args:
        categories: the number of values of every column.
        width: size of the embeddings.
        runs: number of independent runs.

    Shapes: x :math:`(n, K)`, or :math:`(n, R, K)` if runs have different features → :math:`(n, *, width)`
    """

    first: Tensor
    sizes: Tensor
    stride: Tensor
    combinations: Tensor

    def __init__(self, categories: Categories, width: int, runs: int | None = None) -> None:
        super().__init__()
        sizes = torch.tensor(categories.sizes)
        lead = () if runs is None else (runs,)
        self.width, self.categories, self.runs = width, categories, runs
        self.weight = nn.Parameter(torch.empty(*lead, sum(categories.sizes), width))
        self.register_buffer("first", sizes.cumsum(0) - sizes, persistent=False)
        self.register_buffer("sizes", sizes, persistent=False)
        stride = torch.tensor([math.prod(categories.sizes[place + 1 :]) for place in range(len(sizes))])
        self.register_buffer("stride", stride, persistent=False)
        few = not categories.numbers and math.prod(categories.sizes) <= COMBINATIONS
        all_values = [torch.arange(size) for size in categories.sizes] if few else [torch.arange(0)]
        self.register_buffer("combinations", torch.cartesian_prod(*all_values).view(-1, len(all_values)), False)
        self.lin = RunLinear(categories.numbers, width, runs, bias=False) if categories.numbers else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.width)
        nn.init.uniform_(self.weight, -bound, bound)
        if self.lin is not None:
            self.lin.reset_parameters()

    def forward(self, x: Tensor, node_type: Tensor | None = None) -> Tensor:
        own_runs = x.dim() == 3 and x.shape[1] == self.runs
        if (x.dim() != 2 and not own_runs) or x.shape[-1] != self.categories.width or x.layout != torch.strided:
            more = "" if self.runs is None else f", or (n, {self.runs}, {self.categories.width})"
            raise InputError(
                f"Expected dense features of shape (n, {self.categories.width}){more}, one column per category; got "
                f"shape {tuple(x.shape)}."
            )
        found = self._embedded(x[..., : len(self.categories.sizes)], own_runs)
        if self.lin is not None:
            found = found + self.lin(x[..., len(self.categories.sizes) :].to(self.weight.dtype))
        return found

    def rows(self, x: Tensor) -> Rows | None:
        """As rows of a table of all combinations of values; None if there are many, or plain numbers."""
        if not len(self.combinations) or x.dim() != 2 or x.shape[1] != self.categories.width:
            return None
        self._check_range(x)
        return Rows(self(self.combinations), (x.long() * self.stride).sum(1))

    def _embedded(self, x: Tensor, own_runs: bool) -> Tensor:
        self._check_range(x)
        index = x.long() + self.first
        if x.is_cuda and not own_runs and self.weight.shape[-2] <= FEW:
            # The gradient of a product does not synchronise with the GPU and is deterministic.
            chosen = self.weight.new_zeros(len(x), self.weight.shape[-2]).scatter_(1, index, 1.0)
            return product(chosen, self.weight)
        if self.runs is None:
            return F.embedding_bag(index, self.weight, mode="sum")
        if own_runs:
            index = index + torch.arange(self.runs, device=x.device).view(-1, 1) * self.weight.shape[1]
            found = F.embedding_bag(index.flatten(0, 1), self.weight.flatten(0, 1), mode="sum")
        else:
            found = F.embedding_bag(index, self.weight.transpose(0, 1).flatten(1), mode="sum")
        return found.view(-1, self.runs, self.width)

    def _check_range(self, x: Tensor) -> None:
        """Raises `InputError` for a value that a column does not have: it would be read as one of another column.

        Nothing is checked on a GPU, which would have to wait: a `Task` has checked what is trained there.
        """
        if x.is_cuda or torch.compiler.is_compiling() or x.numel() == 0:
            return
        wrong = ~((x >= 0) & (x < self.sizes))  # so that NaN is wrong
        if x.is_floating_point():
            wrong |= x != x.floor()
        if bool(wrong.any()):
            place = tuple(wrong.nonzero()[0].tolist())
            raise InputError(
                f"Expected integers between 0 and {int(self.sizes[place[-1]]) - 1} in column {place[-1]}; got "
                f"{x[place].item():g} in row {place[0]}."
            )
