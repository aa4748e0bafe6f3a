"""Serving: predictions of a trained network, and which bags they depend on."""

from neuraltrees.serving.effects import BagEffects, bag_effects
from neuraltrees.serving.predictor import Predictor
from neuraltrees.serving.scene_labeller import SceneLabeller

__all__ = [
    "BagEffects",
    "Predictor",
    "SceneLabeller",
    "bag_effects",
]
