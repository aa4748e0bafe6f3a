"""Any PyG convolution as a round of AGG."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn

from neuraltrees.nn.conv.convolution import Convolution
from neuraltrees.nn.ensemble.sparse import Coefficients, MakeMap, ScatterMap, SparseMap
from neuraltrees.nn.schedule.messages import Links


class Foreign(Convolution):
    """Wraps a PyG convolution class, made as `make(in_channels, out_channels)` and called as `conv(h, edge_index)`.

    What such a class does to its input is not known, so it sees every tree node with its state.
    """

    def __init__(self, make: Callable[[int, int], nn.Module], in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = make(in_channels, out_channels)

    def reset_parameters(self) -> None:
        cast(Convolution, self.conv).reset_parameters()

    def bind(self, links: Links, make: MakeMap = ScatterMap, pool: Coefficients | None = None) -> Tensor:
        return torch.stack([links.source, links.target])

    def forward(self, h: Tensor | SparseMap, bound: Tensor) -> Tensor:
        assert isinstance(h, Tensor)
        return self.conv(h, bound.to(h.device))  # type: ignore[no-any-return]
