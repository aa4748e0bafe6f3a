"""T synchronous rounds of a convolution, on the messages that a subclass plans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from neuraltrees.errors import InputError
from neuraltrees.nn.conv.convolution import Convolution, ConvOptions
from neuraltrees.nn.conv.external import ExternalConv
from neuraltrees.nn.ensemble.backend import SparseBackend
from neuraltrees.nn.ensemble.combined import Combined
from neuraltrees.nn.ensemble.dropout import Dropout
from neuraltrees.nn.ensemble.linear import States
from neuraltrees.nn.ensemble.norm import RunBatchNorm, RunLayerNorm
from neuraltrees.nn.ensemble.sparse import Map, SparseMap
from neuraltrees.nn.parallel import RoundPart
from neuraltrees.nn.schedule.leaves import lift_to_leaves
from neuraltrees.nn.schedule.schedule import Body, Schedule

RELATIONS = 3  # root-root, child → parent, parent → child


@dataclass(frozen=True, eq=False, repr=False)
class RoundPlan:
    """The rounds of a network on one graph or H-tree.

    Args:
        rounds: for each round, what `Convolution.bind` returned.
        copies: for each round, the number of nodes that each state after it stands for; None if it is 1 for all.
        pool: the map from states after the last round to graph nodes; None if the last round includes it, or if these
            states are graph nodes.
        states: the number of states that are computed in every round.
        own: for residual rounds, the map from states before the round to those of the same nodes after it; None if they
            have the same numbers.
        lift: kappa, if features must first be copied to the leaves, for external convolutions.
        start: the map from graph nodes to the states before the first round; None if bags start at zero.
        edges: the map from the edges of the graph to the rows of edge features that messages carry; None for identity.
        part: the exchange with other processes, if these rounds are a part of a graph or tree; None for a whole.
    """

    rounds: tuple[Any, ...]
    copies: tuple[Tensor | None, ...]
    pool: Map | None
    states: tuple[int, ...]
    own: tuple[Map | None, ...]
    lift: Tensor | None = None
    start: Map | None = None
    edges: Map | None = None
    part: RoundPart | None = None

    def __repr__(self) -> str:
        return f"RoundPlan(states={self.states})"


class Rounds(Schedule):
    """:math:`h^{t+1} = \\mathrm{AGG}_t(h^t)`. Between two rounds: batch norm if the convolution asks for it or layer
    norm if the network does, the activation of the convolution, and dropout. A residual round adds the state before it
    to the one after it. Layer norm also follows the last round.
    """

    def __init__(self, body: Body) -> None:
        super().__init__(body)
        self.convs = nn.ModuleList()
        size, sizes = body.in_channels, list[tuple[int, int]]()
        for number in range(body.num_layers):
            last = number == body.num_layers - 1
            options = ConvOptions(
                body.runs, RELATIONS if body.relations else 1, body.edge_channels, body.heads, body.dropout, last
            )
            conv: Any = body.conv(size, body.out_channels if last else body.hidden_channels, options)
            self.convs.append(conv)
            sizes.append((size, conv.width))
            size = conv.width
        self.width = size
        if body.edge_channels is not None and not all(conv.reads_edges for conv in self._convs()):
            raise InputError(
                f"Expected a convolution that reads edge features; got {_name(self.convs[0])}, which does not. Use one "
                f"whose forward takes edge_attr, or leave edge_channels out (in NetworkSpec: edge_features=False)."
            )
        self.residual = [body.residual and i > 0 and before == after for i, (before, after) in enumerate(sizes)]
        norms = [after for _, after in sizes[:-1]] if self._convs()[0].norm and not body.layer_norm else []
        self.norms = nn.ModuleList(RunBatchNorm(width, body.runs) for width in norms)
        if body.layer_norm:
            self.norms = nn.ModuleList(RunLayerNorm(after, body.runs) for _, after in sizes)
        self.drops = nn.ModuleList(Dropout(body.dropout) for _ in range(body.num_layers - 1))

    def forward(self, x: Tensor | SparseMap, plan: RoundPlan, edges: Tensor | None = None) -> Tensor:
        if edges is not None and plan.edges is not None:
            edges = plan.edges(edges)
        h: Tensor = self._round(0, self._started(x, plan), plan, edges)
        part = plan.part
        for i in range(1, len(plan.rounds)):
            before = self.activation(self._normed(i - 1, h, plan) if self.norms else h)
            dropped = self.drops[i - 1](before, None if part is None else part.numbers[i - 1])
            h = self._round(i, dropped if part is None else part.read(i, dropped), plan, edges)
            if self.residual[i]:
                own = plan.own[i]
                h = h + (before if own is None else own(before))
        h = h if plan.pool is None else plan.pool(h)
        h = h if part is None else part.gathered(h)
        return self.norms[-1](h) if self.body.layer_norm else h

    def _started(self, x: Tensor | SparseMap, plan: RoundPlan) -> States:
        """The states before the first round, without a zero state."""
        if plan.lift is None and plan.start is None:
            return x
        conv, dense = self._convs()[0], isinstance(x, Tensor) and x.layout == torch.strided
        if not dense and not conv.multiplies:
            what = "a PyG convolution" if self.external else f"{_name(conv)}, which reads the states of bags"
            raise InputError(f"Expected dense features for {what}; got sparse ones. Use x.to_dense().")
        if plan.start is None:
            return lift_to_leaves(cast(Tensor, x), cast(Tensor, plan.lift))
        after = conv.width * (self.body.runs or 1)
        if isinstance(x, Tensor) and dense and (not conv.multiplies or math.prod(x.shape[1:]) <= after):
            return plan.start(x)
        return Combined(x, plan.start)

    def _normed(self, number: int, h: Tensor, plan: RoundPlan) -> Tensor:
        found: Tensor = self.norms[number](h, plan.copies[number], None if plan.part is None else plan.part.group)
        return found

    def _round(self, number: int, h: Any, plan: RoundPlan, edges: Tensor | None) -> Tensor:
        sent, carried = self._sent(number, h, plan), self._carried(number, edges, plan)
        found: Tensor = self.convs[number](sent, plan.rounds[number], carried)
        return found

    def _sent(self, number: int, h: Any, plan: RoundPlan) -> Any:
        """The states before a round, as rows that its messages number as sources."""
        return h

    def _carried(self, number: int, edges: Tensor | None, plan: RoundPlan) -> Tensor | None:
        """The edge features, as rows that the messages of a round number."""
        return edges

    def activation(self, h: Tensor) -> Tensor:
        """The activation after a round."""
        return self._convs()[0].activation(h)

    def _convs(self) -> Sequence[Convolution]:
        return cast(Sequence[Convolution], self.convs)

    @property
    def plan_kind(self) -> str:
        return f"{super().plan_kind} of {_name(self.convs[0])}{' with relations' if self.body.relations else ''}"

    @property
    def external(self) -> bool:
        """Whether the convolution is a PyG class, which needs a state per node; see `ExternalConv`."""
        return isinstance(self.convs[0], ExternalConv)

    @property
    def dtype(self) -> torch.dtype:
        return self._like().dtype

    @property
    def backend(self) -> SparseBackend:
        """The backend for the dtype and the device of the weights."""
        like = self._like()
        return SparseBackend(like.dtype, like.device)

    def _like(self) -> Tensor:
        """A weight, for its dtype and device; a convolution without weights uses torch's defaults."""
        return next(self.parameters(), torch.zeros(()))


def _name(conv: nn.Module) -> str:
    inner = getattr(conv, "conv", None) or next(iter(getattr(conv, "_template", [])), conv)
    return type(inner).__name__
