"""How a scene becomes a typed graph."""

from __future__ import annotations

import math
from dataclasses import dataclass

from neuraltrees.errors import InputError

OBJECT, ROOM = "object", "room"
PLACES = ("place", "mesh_place")


@dataclass(frozen=True)
class TypedGraphSpec:
    """Which nodes a typed graph has, and which objects of a room it joins.

    Two objects of one room, or two that have none, are joined by the first of these that holds: one is *on* the other,
    its centre over the other's box and the gap between the boxes at most `on_gap`; one is *under* the other, at any
    distance below; they are *near*, the distance along every axis at most `near_factor` times their mean size there,
    and the gap at most `near_gap`.

    Args:
        types: the node types of the graph; all others are left out. Places say which room an object is in unless they
            are nodes of the graph themselves.
        object_edges: whether objects are joined by these rules, beside the edges that the scene has.
        near_factor: see above.
        near_gap: in metres.
        on_gap: in metres.

    >>> TypedGraphSpec(near_factor=2.0).near_gap
    2.0
    """

    types: tuple[str, ...] = (OBJECT, ROOM)
    object_edges: bool = True
    near_factor: float = 1.5
    near_gap: float = 2.0
    on_gap: float = 0.2

    def __post_init__(self) -> None:
        types = self.types
        if not isinstance(types, tuple) or not types or any(not isinstance(each, str) or not each for each in types):
            raise InputError(f"Expected types as a tuple of words; got {types!r}.")
        if len(set(types)) < len(types):
            raise InputError(f"Expected distinct types; got {types!r}.")
        if len(types) > MOST_TYPES:
            raise InputError(f"Expected at most {MOST_TYPES} types; got {len(types)}.")
        for name in ("near_factor", "near_gap", "on_gap"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise InputError(f"Expected {name} as a number of at least 0; got {value!r}.")


MOST_TYPES = 24  # a bag's set of types is a bit mask
