"""States that are fixed sums of rows of features, before these sums are computed."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from neuraltrees.nn.ensemble.sparse import Map, SparseMap


@dataclass(frozen=True, eq=False)
class Combined:
    """The states :math:`S x`, where :math:`x` is wide or sparse: a product with weights is :math:`S (x W)`, so that
    features are multiplied by the weights before they are copied.

    Args:
        features: one row per graph node.
        map: the map from graph nodes to states.

    Shapes: features :math:`(n, *, F)`, map :math:`(N, n)`
    """

    features: Tensor | SparseMap
    map: Map
