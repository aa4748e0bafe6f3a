"""One answer per graph, from the pooled states of its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn

from neuraltrees.checks import check_at_least, check_dropout
from neuraltrees.errors import InputError
from neuraltrees.nn.ensemble.dropout import Dropout
from neuraltrees.nn.ensemble.incidence import Incidence
from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.ensemble.scatter import sum_rows
from neuraltrees.nn.head.head import Head, Places

Pool: TypeAlias = Literal["sum", "mean", "max", "attention"]


class GraphHead(Head):
    r""":math:`y_G = W_2\, \mathrm{relu}(W_1 \mathrm{pool}\{h_v : v ∈ G\} + b_1) + b_2`.

    Args:
        in_channels: size of the states.
        out_channels: number of answers per graph.
        runs: number of independent runs.
        pool: sum, mean or max over the nodes of a graph, or a mean with learned weights ("attention"); zero for a
            graph without nodes.
        bags: whether the bags of the H-tree are pooled as well; both results are concatenated.
        hidden: number of hidden layers.
        dropout: share of the hidden states that are dropped in training, after every hidden layer.

    Shapes: :math:`(n, *, F)`, bags :math:`(B, *, F)` → :math:`(G, *, C)`
    """

    level = "graph"

    def __init__(
        self,
        in_channels: int,
        out_channels: int | Mapping[str, int],
        runs: int | None = None,
        pool: Pool = "sum",
        bags: bool = False,
        hidden: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(in_channels, out_channels, runs)
        if pool not in get_args(Pool):
            raise InputError(f"Expected pool out of {', '.join(get_args(Pool))}; got {pool!r}.")
        answers = sum(out_channels.values()) if isinstance(out_channels, Mapping) else out_channels
        self.pool, self.reads_bags = pool, bags
        self.takes_views = pool in ("sum", "mean") and not bags
        sources = 2 if bags else 1
        attends = pool == "attention"
        self.scores = nn.ModuleList(RunLinear(in_channels, 1, runs) for _ in range(sources if attends else 0))
        self.lin1 = RunLinear(sources * in_channels, in_channels, runs)
        more = range(check_at_least("hidden", hidden, 1) - 1)
        self.more = nn.ModuleList(RunLinear(in_channels, in_channels, runs) for _ in more)
        self.lin2 = RunLinear(in_channels, answers, runs)
        # One per layer, since masks are drawn per module.
        self.drops = nn.ModuleList(Dropout(check_dropout(dropout)) for _ in range(hidden))

    @classmethod
    def pooling(cls, pool: Pool, bags: bool = False, hidden: int = 1, dropout: float = 0.0) -> partial[GraphHead]:
        """A constructor of the head with these options, for `NeuralTree(head=GraphHead.pooling("mean"))`."""
        return partial(cls, pool=pool, bags=bags, hidden=hidden, dropout=dropout)

    def forward(self, h: Tensor, places: Places, bags: Tensor | None = None) -> Tensor:
        seen = [self._pooled(h, places, 0)]
        if self.reads_bags:
            if bags is None or places.bag_graph is None:
                raise InputError("Expected states of bags, since the head pools bags; got none. Set bags=False.")
            seen.append(self._pooled(bags, replace(places, graph=places.bag_graph), 1))
        z = torch.cat(seen, -1)
        for lin, drop in zip([self.lin1, *self.more], self.drops, strict=True):
            z = drop(lin(z).relu())
        answers: Tensor = self.lin2(z)
        return answers

    def _pooled(self, h: Tensor, places: Places, source: int) -> Tensor:
        if not self.scores:
            return pooled(h, places, self.pool)
        score = self.scores[source](h)
        highest = pooled(score.detach(), places, "max")
        graph = _graph_of(h, places).clamp(max=places.num_graphs - 1)
        weight = (score - highest[graph]).clamp(max=0).exp()  # scores of padding may exceed the maximum
        return pooled(h * weight, places, "sum") / pooled(weight, places, "sum").clamp(min=1e-12)

    def extra_repr(self) -> str:
        return f"pool={self.pool!r}, bags={self.reads_bags}"


def pooled(h: Tensor, places: Places, pool: Pool) -> Tensor:
    """The sum, mean or maximum of the states of each graph.

    Shapes: h :math:`(n, *, F)` → :math:`(G, *, F)`

    >>> places = Places(graph=torch.tensor([0, 0, 1]), num_graphs=2)
    >>> pooled(torch.tensor([[1.0], [3.0], [5.0]]), places, "mean").flatten().tolist()
    [2.0, 5.0]
    """
    graph, rows = _graph_of(h, places), places.num_graphs + places.padded
    if pool == "max":
        zero = h.new_zeros(rows, *h.shape[1:])
        if places.graph is None and torch.compiler.is_exporting():
            return h.amax(0, keepdim=True)  # one graph
        index = graph.view(-1, *[1] * (h.dim() - 1)).expand_as(h)
        return zero.scatter_reduce(0, index, h, "amax", include_self=False)[: places.num_graphs]
    total = Incidence(graph, rows).sum(h)[: places.num_graphs] if places.views is None else places.views(h)
    if pool == "sum":
        return total
    count = sum_rows(h.new_ones(len(graph)), graph, rows)[: places.num_graphs]
    return total / count.clamp(min=1).view(-1, *[1] * (h.dim() - 1))


def _graph_of(h: Tensor, places: Places) -> Tensor:
    return h.new_zeros(h.shape[0], dtype=torch.int64) if places.graph is None else places.graph
