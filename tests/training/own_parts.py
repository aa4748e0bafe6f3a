"""Parts of one's own that can be named by their place."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.nn import MessagePassing


class MeanConv(MessagePassing):
    """The mean over the neighbours, then a linear map."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(aggr="mean")
        self.lin = nn.Linear(in_channels, out_channels)

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.lin(x + self.propagate(edge_index, x=x))
