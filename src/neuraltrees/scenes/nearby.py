"""Which objects are on, under or near each other."""

from __future__ import annotations

import numpy as np

from neuraltrees._core import native
from neuraltrees.scenes.scene import Float64, Int64
from neuraltrees.scenes.spec import TypedGraphSpec

ON, UNDER, NEAR = range(3)


def object_pairs(position: Float64, size: Float64, group: Int64, spec: TypedGraphSpec) -> tuple[Int64, Int64, Int64]:
    """Pairs of objects of one group by the rules of `TypedGraphSpec`, sorted; unknown positions or sizes have none.

    Of the relations `ON` and `UNDER` the source is the object that is on or under the other; of `NEAR` the first.

    Shapes: position and size :math:`(k, 3)`, group :math:`(k)` → source, target and relation :math:`(p)`
    """
    rows, sizes = np.ascontiguousarray(position), np.ascontiguousarray(size)
    return native.nearby_pairs(rows, sizes, group, spec.on_gap, spec.near_factor, spec.near_gap)
