"""Exact inference on many small graphs of different structure at once."""

from neuraltrees.inference.forest.forest import Forest, ForestAnswer

__all__ = [
    "Forest",
    "ForestAnswer",
]
