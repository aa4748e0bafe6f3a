"""A layer in which every node of a tree sums over all others, with a learned decay per channel."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from neuraltrees.checks import check_at_least
from neuraltrees.errors import InputError
from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.sweep.function import sweep
from neuraltrees.nn.sweep.parts import CutForest
from neuraltrees.nn.sweep.plan import SweepPlan

OPEN_GATE = 4.0  # gates start at sigmoid(4) = 0.98


class SweepLayer(nn.Module):
    r"""One sweep per channel with a learned decay: :math:`z_B = c \sum_{B'} λ^{\mathrm{dist}(B, B')} h_{B'}`.

    The parameter is the logarithm of a distance d per channel, :math:`λ = e^{-1/d}`, so that a step of the optimiser
    changes short and long distances by the same factor. :math:`c = \sqrt{\tanh(1/d)}` keeps the scale: independent
    values of variance 1 on a long path have sums of variance
    :math:`1 + 2 \sum_{k ≥ 1} λ^{2k} = (1 + λ^2) / (1 - λ^2) = 1 / \tanh(1/d)`. For long distances c is
    :math:`\sqrt{1 - λ}` to first order.

    With gates, the edge between B and C has the factor
    :math:`λ\, \mathrm{sigmoid}(W(h_B + h_C) + b)` instead of λ. It is symmetric in both ends, so the result does not
    depend on the root. Gates start open.

    Channels are mixed by the gates only: put a linear layer before or after.

    Args:
        channels: number of channels F.
        runs: number of independent runs R with their own parameters; None for a single one without a run dimension.
        scales: the shortest and the longest initial distance; the channels are spaced evenly between their logarithms.
        gated: whether edges have gates that depend on the states.

    Shapes: :math:`(N, F)`; with runs :math:`(N, R, F)`, or :math:`(N, F)` shared by the runs → :math:`(N, R, F)`

    >>> layer = SweepLayer(3, scales=(1.0, 4.0))
    >>> layer.distances.round(decimals=2).tolist()
    [1.0, 2.0, 4.0]
    >>> layer
    SweepLayer(3, runs=None, scales=(1.0, 4.0), gated=False)
    """

    def __init__(
        self,
        channels: int,
        runs: int | None = None,
        scales: tuple[float, float] = (1.0, 32.0),
        gated: bool = False,
    ) -> None:
        super().__init__()
        if len(scales) != 2 or not 0 < scales[0] <= scales[1] < math.inf:
            raise InputError(
                f"Expected scales as the shortest and the longest distance, both above 0; got {scales!r}. "
                "Use the number of edges, such as (1, 32)."
            )
        self.channels, self.runs, self.gated = check_at_least("channels", channels, 1), runs, gated
        self.scales = (float(scales[0]), float(scales[1]))
        lead = () if runs is None else (check_at_least("runs", runs, 1),)
        self.log_distance = nn.Parameter(torch.empty(*lead, channels))
        self.gate = RunLinear(channels, channels, runs) if gated else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Resets the distances and opens the gates."""
        low, high = (math.log(scale) for scale in self.scales)
        with torch.no_grad():
            self.log_distance.copy_(torch.linspace(low, high, self.channels).expand_as(self.log_distance))
        if self.gate is not None:
            self.gate.reset_parameters()
            assert self.gate.bias is not None
            nn.init.constant_(self.gate.bias, OPEN_GATE / 2)  # both ends add it

    @property
    def distances(self) -> Tensor:
        """The distance over which the weight falls by a factor of e.

        Shapes: :math:`(F)` or :math:`(R, F)`
        """
        return self.log_distance.detach().exp()

    def forward(self, h: Tensor, plan: SweepPlan | CutForest) -> Tensor:
        if self.runs is not None and h.dim() == 2:
            h = h.unsqueeze(1).expand(-1, self.runs, -1)
        rate = (-self.log_distance).exp()
        decay, gates = (-rate).exp(), self._gates(h, plan)
        found = plan.sweep(h, decay, gates) if isinstance(plan, CutForest) else sweep(h, decay, plan, gates)
        return found * rate.tanh().sqrt().to(h.dtype)

    def _gates(self, h: Tensor, plan: SweepPlan | CutForest) -> Tensor | None:
        if self.gate is None:
            return None
        own: Tensor = self.gate(h)
        if isinstance(plan, CutForest):
            return torch.sigmoid(own + plan.parents_of(own))
        return torch.sigmoid(own + own.index_select(0, plan.above.clamp(min=0)))

    def extra_repr(self) -> str:
        return f"{self.channels}, runs={self.runs}, scales={self.scales}, gated={self.gated}"

    def __repr__(self) -> str:
        return f"SweepLayer({self.extra_repr()})"
