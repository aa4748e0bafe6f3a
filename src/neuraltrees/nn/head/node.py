"""One linear layer per node type: READ and the last step of COMB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor, nn

from neuraltrees.errors import InputError
from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.head.head import Head, Places


class NodeHead(Head):
    """Logits from states, by the layer of each node's type.

    Args:
        in_channels: size of the states.
        out_channels: number of classes, or a mapping of node types to it, such as `{"room": 15, "object": 35}`; types
            are numbered in the order of the mapping.
        runs: number of independent runs.

    Shapes: :math:`(n, *, F) → (n, *, C)`, where C is the largest number of classes; a class that a node's type does not
    have gets minus infinity.
    """

    by_row = True

    def __init__(self, in_channels: int, out_channels: int | Mapping[str, int], runs: int | None = None) -> None:
        super().__init__(in_channels, out_channels, runs)
        self.classes = dict(out_channels) if isinstance(out_channels, Mapping) else {"node": out_channels}
        self.num_classes = max(self.classes.values())
        self.layers = nn.ModuleList(RunLinear(in_channels, count, runs) for count in self.classes.values())

    def forward(self, h: Tensor, places: Places) -> Tensor:
        if len(self.layers) == 1:
            only: Tensor = self.layers[0](h)
            return only
        if places.node_type is None:
            names = ", ".join(self.classes)
            raise InputError(
                f"Expected node_type, since {names} have readouts of their own; got none. Pass it to forward, or set "
                f"data.node_type before planning."
            )
        pad, missing = nn.functional.pad, float("-inf")
        layers = cast(list[RunLinear], list(self.layers))
        logits = [pad(layer(h), (0, self.num_classes - layer.out_channels), value=missing) for layer in layers]
        kinds = places.node_type.view(-1, *[1] * (h.dim() - 1))
        out = logits[0]
        for kind, of_kind in enumerate(logits[1:], start=1):
            out = torch.where(kinds == kind, of_kind, out)
        return out
