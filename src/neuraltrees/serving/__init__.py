"""Serving: predictions of a trained network, and what mattered for them."""

from neuraltrees.serving.effects import BagEffects, bag_effects
from neuraltrees.serving.predictor import Predictor

__all__ = [
    "BagEffects",
    "Predictor",
    "bag_effects",
]
