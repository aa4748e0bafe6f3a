"""Exact inference on many small graphs of different structure at once."""

from neuraltrees.inference.forest.forest import Forest as Forest
from neuraltrees.inference.forest.forest import ForestAnswer as ForestAnswer
