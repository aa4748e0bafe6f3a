"""The interface of an encoder: how raw features of nodes or edges become the first states."""

from __future__ import annotations

from torch import Tensor, nn

from neuraltrees.nn.ensemble.rows import Rows


class Encoder(nn.Module):
    """First states from raw features.

    - `width`: size of the states that it returns.
    """

    width: int

    def forward(self, x: Tensor, node_type: Tensor | None = None) -> Tensor:
        """Shapes: x :math:`(n, F)` or :math:`(n, R, F)`, node_type :math:`(n)` → :math:`(n, *, width)`"""
        raise NotImplementedError

    def rows(self, x: Tensor) -> Rows | None:
        """The first states as rows of a table of all that there can be; None if that table would not be small."""
        return None

    def reset_parameters(self) -> None:
        """Resets all parameters to new random values."""
        raise NotImplementedError
