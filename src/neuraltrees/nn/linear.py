"""One linear map, or R of them at once."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class RunLinear(nn.Module):
    r"""A linear map for states of one run, or of R runs that each have their own weights.

    :math:`z_n = h_n W + b`, and with runs :math:`z_{nr} = h_{nr} W_r + b_r`.

    Args:
        in_channels: size of the states.
        out_channels: size of the result.
        runs: number of independent runs; None for a single one without the extra dimension.
        bias: whether to add :math:`b`.
        glorot: whether weights start from Glorot's uniform distribution and the bias from zero, as in GCN and GAT; else
            both are uniform within :math:`1/\sqrt{F}`, as in `torch.nn.Linear`.

    Shapes: :math:`(N, F) → (N, O)`; with runs :math:`(N, F)` (shared by the runs) or :math:`(N, R, F) → (N, R, O)`.
    The input may be sparse if it is shared.
    """

    def __init__(
        self, in_channels: int, out_channels: int, runs: int | None = None, bias: bool = True, glorot: bool = False
    ) -> None:
        super().__init__()
        lead = () if runs is None else (runs,)
        self.in_channels, self.out_channels, self.runs, self.glorot = in_channels, out_channels, runs, glorot
        self.weight = nn.Parameter(torch.empty(*lead, in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(*lead, out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weights and the bias anew."""
        default = 1 / math.sqrt(max(1, self.in_channels))
        bound = math.sqrt(6 / (self.in_channels + self.out_channels)) if self.glorot else default
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -default, default) if not self.glorot else nn.init.zeros_(self.bias)

    def forward(self, h: Tensor) -> Tensor:
        return self.shift(self.multiply(h))

    def shift(self, z: Tensor) -> Tensor:
        """Adds the bias, if there is one."""
        return z if self.bias is None else z + self.bias

    def multiply(self, h: Tensor) -> Tensor:
        """The product alone, without the bias."""
        if self.runs is None:
            return h @ self.weight
        if h.dim() == 2:  # one product with the weights of all runs side by side
            side_by_side = self.weight.transpose(0, 1).reshape(self.in_channels, -1)
            return (h @ side_by_side).view(-1, self.runs, self.out_channels)
        return torch.einsum("nrf,rfo->nro", h, self.weight)

    def extra_repr(self) -> str:
        bias = self.bias is not None
        return f"{self.in_channels}, {self.out_channels}, runs={self.runs}, bias={bias}, glorot={self.glorot}"
