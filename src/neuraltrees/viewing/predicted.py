"""Scenes with labels predicted by a trained network, before and after some labels are confirmed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from neuraltrees.scenes import LabelState
from neuraltrees.scenes.scene import NodeId
from neuraltrees.viewing.frames import SceneFrame

if TYPE_CHECKING:
    from neuraltrees.serving import SceneLabeller


def predicted_frames(
    frames: Sequence[SceneFrame], labeller: SceneLabeller, known: Mapping[NodeId, str] | None = None
) -> list[SceneFrame]:
    """The frames with the predictions of a network as another state of their labels.

    Args:
        frames: the scenes.
        labeller: the network.
        known: confirmed labels by node id; the predictions given them are a second state. This needs a network with a
            CRF head.
    """
    scenes = [frame.scene for frame in frames]
    found = [[LabelState("predicted", labels)] for labels in labeller.label(scenes)]
    if known:
        inside = [{node: label for node, label in known.items() if node in scene.number} for scene in scenes]
        name = f"{next(iter(known.values())) if len(known) == 1 else len(known)} confirmed"
        for states, labels, mine in zip(found, labeller.label(scenes, inside), inside, strict=True):
            states.append(LabelState(name, labels, frozenset(mine)))
    return [replace(frame, states=(*frame.states, *states)) for frame, states in zip(frames, found, strict=True)]
