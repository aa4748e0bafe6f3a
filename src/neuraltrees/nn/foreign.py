"""Any PyG convolution as a round of AGG."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from torch import Tensor, nn

from neuraltrees.nn.convolution import Convolution, Edges


class Foreign(Convolution):
    """Wraps a PyG convolution class, made as `make(in_channels, out_channels)` and called as `conv(h, edge_index)`.

    What such a class does to its input is not known, so its linear step cannot be made before states are gathered.
    """

    def __init__(self, make: Callable[[int, int], nn.Module], in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = make(in_channels, out_channels)

    def reset_parameters(self) -> None:
        cast(Convolution, self.conv).reset_parameters()

    def transform(self, h: Tensor) -> Tensor:
        return h

    def propagate(self, z: Tensor, edges: Edges) -> Tensor:
        return self.conv(z, edges.index)  # type: ignore[no-any-return]
