"""The interface of a convolution: how one round combines a state with its messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from neuraltrees.errors import InputError
from neuraltrees.nn.ensemble.backend import SCATTER, Backend
from neuraltrees.nn.ensemble.linear import RunLinear, States
from neuraltrees.nn.ensemble.sparse import Coefficients, Map, ScatterMap, SparseMap
from neuraltrees.nn.messages import Messages


@dataclass(frozen=True)
class ConvOptions:
    """What a network passes to each of its convolutions in addition to the sizes of states.

    Args:
        runs: number of independent runs; None for a single one without the extra dimension.
        relations: number of edge types with weights of their own; 1 for the same weights on all edges.
        edge_channels: size of the edge features that messages carry; None if there are none.
        heads: number of attention heads, for convolutions with attention.
        dropout: share of the attention weights dropped in training, for convolutions with attention.
        last: whether it is the last round.
    """

    runs: int | None = None
    relations: int = 1
    edge_channels: int | None = None
    heads: int = 1
    dropout: float = 0.0
    last: bool = False


class Convolution(nn.Module):
    """One round of AGG.

    `bind` prepares the messages of a round for `forward`. It depends on neither weights nor states, so it is called
    once for a tree that does not change. Your own convolution is a subclass with these two methods and a constructor
    `(in_channels, out_channels, options)`.

    A class declares:

    - `activation`: the function applied to its result before the next round.
    - `norm`: whether a batch norm precedes that activation.
    - `reads_edges`: whether `forward` uses edge features.
    - `pools`: whether the round is linear, so that the mean over leaves can be merged into it: `bind` then gets `pool`.
    - `multiplies`: whether `forward` reads the states of the first round only through products with weights
      (`RunLinear.multiply`), so that features may be sparse or `Combined`.
    - `capturable`: whether its work can be captured as a CUDA graph, that is, never waits for the GPU.

    `width` is the size of the states after the round.

    Shapes: `forward` h :math:`(N, *, F)`, edges :math:`(U, *, D)` → :math:`(M, *, width)`
    """

    norm: ClassVar[bool] = False
    reads_edges: bool = False
    pools: ClassVar[bool] = False
    multiplies: bool = False
    capturable: ClassVar[bool] = True
    width: int

    def __init__(self, in_channels: int, out_channels: int, options: ConvOptions = ConvOptions()) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.options = in_channels, out_channels, options
        self.width = out_channels

    def bind(self, messages: Messages, backend: Backend = SCATTER, pool: Coefficients | None = None) -> Any:
        """What `forward` needs to know about the messages of a round.

        Args:
            messages: the messages of the round.
            backend: constructs the maps.
            pool: a linear map to apply to the result; passed only to a convolution that `pools`.
        """
        raise NotImplementedError

    def forward(self, h: Tensor | SparseMap, bound: Any, edges: Tensor | None = None) -> Tensor:
        """The states after the round.

        Args:
            h: the states before it; in the first round, features may be sparse, or `Combined` if it `multiplies`.
            bound: what `bind` returned.
            edges: the rows of edge features that the messages carry.
        """
        raise NotImplementedError

    def activation(self, h: Tensor) -> Tensor:
        """The function applied to the result before the next round."""
        return h.relu()

    def reset_parameters(self) -> None:
        """Resets all parameters to new random values."""
        for module in self.modules():
            if isinstance(module, RunLinear):
                module.reset_parameters()

    def edge_linear(self, width: int, glorot: bool = False) -> RunLinear | None:
        """A linear map of edge features, if messages carry any."""
        size = self.options.edge_channels
        return None if size is None else RunLinear(size, width, self.options.runs, bias=False, glorot=glorot)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, {self.options}"


@dataclass(frozen=True)
class Term:
    """A summand :math:`A h W` of a round, computed as (A h) W or A (h W), whichever is cheaper."""

    map: Map
    map_first: bool

    @classmethod
    def of(cls, entries: Coefficients, lin: nn.Module, backend: Backend, pool: Coefficients | None = None) -> Self:
        assert isinstance(lin, RunLinear)
        map = backend.map(entries if pool is None else pool @ entries)
        if isinstance(map, ScatterMap):
            return cls(map, False)
        (rows, columns), wide = map.shape, lin.in_channels * lin.out_channels
        # A multiplication of the product is about four times as fast as one of the map, which is bound by memory.
        first = rows * wide + 4 * map.entries * lin.in_channels
        return cls(map, first < columns * wide + 4 * map.entries * lin.out_channels)

    def __call__(self, h: States, lin: nn.Module) -> Tensor:
        """Shapes: h :math:`(N, *, F)` → :math:`(M, *, O)`"""
        assert isinstance(lin, RunLinear)
        if self.map_first and isinstance(h, Tensor) and h.layout == torch.strided:
            return lin.multiply(self.map(h))
        return self.map(lin.multiply(h))


@dataclass(frozen=True)
class LinearRound:
    """A round that is a sum of terms: of neighbours, of the state itself, and of edge features."""

    states: tuple[Term, ...]
    edges: Term | None

    def __call__(
        self, h: States, lins: Iterable[nn.Module], edges: Tensor | None, edge_lin: nn.Module | None
    ) -> Tensor:
        out = total(term(h, lin) for term, lin in zip(self.states, lins, strict=True))
        if self.edges is not None and edge_lin is not None:
            out = out + self.edges(needed(edges), edge_lin)
        return out


def needed(edges: Tensor | None) -> Tensor:
    """The edge features of a convolution that needs them; `InputError` if there are none."""
    if edges is None:
        raise InputError(
            "Expected edge_attr, since the network was made with edge_channels; got none. Pass edge_attr to forward."
        )
    return edges


def total(parts: Iterable[Tensor]) -> Tensor:
    """The sum of at least one tensor."""
    first, *rest = parts
    for part in rest:
        first = first + part
    return first
