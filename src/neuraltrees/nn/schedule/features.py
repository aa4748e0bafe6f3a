"""No messages: every node is mapped by itself, the baseline without structure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.nn.conv.convolution import Convolution, ConvOptions
from neuraltrees.nn.ensemble.backend import SCATTER, Backend
from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.ensemble.sparse import Coefficients, SparseMap
from neuraltrees.nn.messages import Messages
from neuraltrees.nn.schedule.rounds import RoundPlan, Rounds
from neuraltrees.nn.schedule.schedule import Body


class LinearLayer(Convolution):
    """:math:`h'_v = h_v W + b`: a round without messages."""

    def __init__(self, in_channels: int, out_channels: int, options: ConvOptions = ConvOptions()) -> None:
        super().__init__(in_channels, out_channels, options)
        self.lin = RunLinear(in_channels, out_channels, options.runs)

    def bind(self, messages: Messages, backend: Backend = SCATTER, pool: Coefficients | None = None) -> None:
        return None

    def forward(self, h: Tensor | SparseMap, bound: Any, edges: Tensor | None = None) -> Tensor:
        return self.lin.shift(self.lin.multiply(h))


class FeatureLayers(Rounds):
    """T linear layers, applied to each node by itself; the convolution of the body is ignored."""

    def __init__(self, body: Body) -> None:
        super().__init__(replace(body, conv=LinearLayer))

    def plan(self, data: Data) -> RoundPlan:
        return self._of(int(data.num_nodes))

    def trace(self, edge_index: Tensor, kappa: Tensor | None, edge_type: Tensor | None, num_nodes: int) -> RoundPlan:
        return self._of(num_nodes)

    def _of(self, num_nodes: int) -> RoundPlan:
        none = (None,) * len(self.convs)
        return RoundPlan(none, none, None, (num_nodes,) * len(none), none)
