"""Exact inference on many small graphs of different structure at once."""

from neuraltrees.inference.forest.divided import DividedForest
from neuraltrees.inference.forest.forest import Forest, ForestAnswer

__all__ = [
    "DividedForest",
    "Forest",
    "ForestAnswer",
]
