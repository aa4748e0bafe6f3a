"""Serving: predictions of a trained network."""

from neuraltrees.serving.predictor import Predictor

__all__ = [
    "Predictor",
]
