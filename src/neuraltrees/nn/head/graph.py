"""One answer per graph, from the pooled states of its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.head.head import Head, Places

Pool: TypeAlias = Literal["sum", "mean", "max"]


class GraphHead(Head):
    r""":math:`y_G = W_2\, \mathrm{relu}(W_1 \mathrm{pool}\{h_v : v ∈ G\} + b_1) + b_2`.

    Args:
        in_channels: size of the states.
        out_channels: number of answers per graph.
        runs: number of independent runs.
        pool: sum, mean or max over the nodes of a graph; a graph without nodes has zero.

    Shapes: :math:`(n, *, F) → (G, *, C)`
    """

    level = "graph"

    def __init__(
        self,
        in_channels: int,
        out_channels: int | Mapping[str, int],
        runs: int | None = None,
        pool: Pool = "sum",
    ) -> None:
        super().__init__(in_channels, out_channels, runs)
        if pool not in get_args(Pool):
            raise InputError(f"Expected pool out of {', '.join(get_args(Pool))}; got {pool!r}.")
        answers = sum(out_channels.values()) if isinstance(out_channels, Mapping) else out_channels
        self.pool = pool
        self.lin1 = RunLinear(in_channels, in_channels, runs)
        self.lin2 = RunLinear(in_channels, answers, runs)

    @classmethod
    def pooling(cls, pool: Pool) -> partial[GraphHead]:
        """The head with this way of pooling, for `NeuralTree(head=GraphHead.pooling("mean"))`."""
        return partial(cls, pool=pool)

    def forward(self, h: Tensor, places: Places) -> Tensor:
        return self.lin2(self.lin1(pooled(h, places, self.pool)).relu())  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"pool={self.pool!r}"


def pooled(h: Tensor, places: Places, pool: Pool) -> Tensor:
    """The sum, mean or maximum of the states of each graph.

    Shapes: h :math:`(n, *, F)` → :math:`(G, *, F)`

    >>> places = Places(graph=torch.tensor([0, 0, 1]), num_graphs=2)
    >>> pooled(torch.tensor([[1.0], [3.0], [5.0]]), places, "mean").flatten().tolist()
    [2.0, 5.0]
    """
    graph = h.new_zeros(h.shape[0], dtype=torch.int64) if places.graph is None else places.graph
    zero = h.new_zeros(places.num_graphs, *h.shape[1:])
    if pool == "max":
        index = graph.view(-1, *[1] * (h.dim() - 1)).expand_as(h)
        return zero.scatter_reduce(0, index, h, "amax", include_self=False)
    total = zero.index_add(0, graph, h)
    if pool == "sum":
        return total
    count = h.new_zeros(places.num_graphs).index_add(0, graph, h.new_ones(h.shape[0]))
    return total / count.clamp(min=1).view(-1, *[1] * (h.dim() - 1))
