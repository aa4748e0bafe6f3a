"""Encoders: how raw features become the first states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from neuraltrees.errors import InputError
from neuraltrees.nn.encoder.categories import Categories, CategoryEncoder
from neuraltrees.nn.encoder.encoder import Encoder
from neuraltrees.nn.encoder.typed import LinearEncoder, TypedEncoder

Features: TypeAlias = int | Categories | Mapping[str, int | Categories]


def make_encoder(features: Features, width: int, runs: int | None = None) -> Encoder | None:
    """The encoder of these features; None for plain numbers, which the first round reads directly.

    Args:
        features: number of features, `Categories`, or a mapping of node types to either.
        width: size of the first states.
        runs: number of independent runs.

    >>> make_encoder({"room": 6, "object": Categories((35,))}, 16).width
    16
    """
    if isinstance(features, Mapping):
        if not features:
            raise InputError("Expected features of at least one node type; got none.")
        return TypedEncoder(features, width, runs)
    if isinstance(features, Categories):
        return CategoryEncoder(features, width, runs)
    return None


__all__ = [
    "Categories",
    "CategoryEncoder",
    "Encoder",
    "LinearEncoder",
    "TypedEncoder",
]
