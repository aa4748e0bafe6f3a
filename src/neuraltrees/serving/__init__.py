"""Serving: predictions of a trained network, and what mattered for them."""

from neuraltrees.serving.effects import BagEffects, bag_effects
from neuraltrees.serving.predictor import Predictor
from neuraltrees.serving.scene_labeller import SceneLabeller

__all__ = [
    "BagEffects",
    "Predictor",
    "SceneLabeller",
    "bag_effects",
]
