"""The best prediction from a node's own features, without the rest of its scene."""

from __future__ import annotations

import torch
from torch import Tensor

from neuraltrees.datasets import SyntheticScenes
from neuraltrees.datasets.stanford import OBJECT_LABELS


def from_own_features(dataset: SyntheticScenes) -> Tensor:
    """Log-probabilities of the labels given only a node's own features, up to a constant; priors are frequencies.

    Shapes: → :math:`(n, 35)`; minus infinity beyond the classes of a node's type

    >>> scenes = SyntheticScenes(200)
    >>> float((from_own_features(scenes).argmax(1) == scenes.y).double().mean()) > 0.45
    True
    """
    scores = torch.full((len(dataset.y), len(OBJECT_LABELS)), -torch.inf, dtype=torch.float64)
    for number, box in enumerate((dataset.model.room_box, dataset.model.object_box)):
        of_kind = dataset.node_type == number
        likelihood = box.log_likelihood(dataset.x[of_kind])
        frequency = (dataset.y[of_kind].bincount(minlength=likelihood.shape[1]) + 1).double().log()
        scores[of_kind, : likelihood.shape[1]] = likelihood + frequency
    return scores
