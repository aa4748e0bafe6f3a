"""Node types with different features: one encoder per type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor, nn

from neuraltrees.errors import InputError
from neuraltrees.nn.encoder.categories import Categories, CategoryEncoder
from neuraltrees.nn.encoder.encoder import Encoder
from neuraltrees.nn.ensemble.linear import RunLinear


class LinearEncoder(Encoder):
    """:math:`h_v = x_v W + b`.

    Args:
        in_channels: number of features.
        width: size of the states.
        runs: number of independent runs.
    """

    def __init__(self, in_channels: int, width: int, runs: int | None = None) -> None:
        super().__init__()
        self.width = width
        self.lin = RunLinear(in_channels, width, runs)

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()

    def forward(self, x: Tensor, node_type: Tensor | None = None) -> Tensor:
        states: Tensor = self.lin(x.to(self.lin.weight.dtype))
        return states


class TypedEncoder(Encoder):
    """One encoder per node type.

    Narrower features are padded: a node of a type with F features has them in its first F columns, and the values in
    the other columns are ignored.

    Args:
        features: number of features, or `Categories`, per node type; types are numbered in the order of the mapping.
        width: size of the states.
        runs: number of independent runs.

    Shapes: x :math:`(n, \\max F)` or :math:`(n, R, \\max F)`, node_type :math:`(n)` → :math:`(n, *, width)`
    """

    def __init__(self, features: Mapping[str, int | Categories], width: int, runs: int | None = None) -> None:
        super().__init__()
        self.width, self.types = width, tuple(features)
        self.columns = [each.width if isinstance(each, Categories) else each for each in features.values()]
        self.encoders = nn.ModuleList(
            CategoryEncoder(each, width, runs) if isinstance(each, Categories) else LinearEncoder(each, width, runs)
            for each in features.values()
        )

    def reset_parameters(self) -> None:
        for encoder in cast(list[Encoder], self.encoders):
            encoder.reset_parameters()

    def forward(self, x: Tensor, node_type: Tensor | None = None) -> Tensor:
        if node_type is None:
            raise InputError(
                f"Expected node_type, since {', '.join(self.types)} have encoders of their own; got none. Pass it to "
                f"forward, or set data.node_type before planning."
            )
        if x.dim() not in (2, 3) or x.layout != torch.strided or x.shape[-1] < max(self.columns):
            raise InputError(
                f"Expected dense features of shape (n, {max(self.columns)}) or (n, runs, {max(self.columns)}), the "
                f"number of features of the widest node type; got shape {tuple(x.shape)}."
            )
        out: Tensor | None = None
        for kind, (encoder, columns) in enumerate(zip(self.encoders, self.columns, strict=True)):
            # Rows of other types may hold any numbers, which must not become indices of an embedding.
            mine = torch.where((node_type == kind).view(-1, *[1] * (x.dim() - 1)), x[..., :columns], 0)
            states = encoder(mine)
            kinds = node_type.view(-1, *[1] * (states.dim() - 1))
            out = states if out is None else torch.where(kinds == kind, states, out)
        assert out is not None
        return out
