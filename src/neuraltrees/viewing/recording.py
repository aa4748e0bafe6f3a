"""Scenes as recordings for the Rerun viewer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np

from neuraltrees.errors import InputError
from neuraltrees.extras import require
from neuraltrees.files import PathLike, write_whole
from neuraltrees.scenes import NodeLabel
from neuraltrees.scenes.rooms import room_boxes, rooms_of
from neuraltrees.viewing.content import own_labels
from neuraltrees.viewing.frames import SceneFrame, Shown, View, ViewOptions, layer_order
from neuraltrees.viewing.positions import scene_positions

GAP = 0.5  # between layers, as a share of the width of the scene
# After Okabe and Ito, for all kinds of colour vision.
COLOURS = ((0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0), (240, 228, 66))
GREY = (140, 150, 160)


def scene_recording(scenes: Shown | Iterable[Shown], **options: Unpack[ViewOptions]) -> bytes:
    """A recording (`.rrd`) for Rerun: layers above each other, names with probabilities, frames on a time line.

    It needs the extra `rerun`. Of several states of the labels, the last one is shown. A recording has the edges of the
    typed graph, but not the H-tree, which is on the page of `scene_page` alone.

    Args:
        scenes: as for `scene_page`.
        options: the keyword arguments of `scene_page`.
    """
    rerun = require("rerun", extra="rerun", what="recordings")
    view = View.of(scenes, **options)
    recording = rerun.RecordingStream(view.title or "Scene graph")
    stream = recording.memory_recording()
    recording.log("scene", rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    shown: set[str] = set()
    for number, frame in enumerate(view.frames):
        recording.set_time("frame", sequence=number)
        for path in shown:
            recording.log(path, rerun.Clear(recursive=True))
        shown |= _log(rerun, recording, frame)
    content = stream.drain_as_bytes()
    if not content:
        raise InputError("Expected a recording from Rerun; got nothing. Update it: pip install --upgrade rerun-sdk.")
    return bytes(content)


def write_scene_recording(scenes: Shown | Iterable[Shown], path: PathLike, **options: Unpack[ViewOptions]) -> None:
    """Writes the recording of `scene_recording`, with the same options; the file is written whole or not at all."""
    write_whole(path, scene_recording(scenes, **options))


def _log(rerun: Any, recording: Any, frame: SceneFrame) -> set[str]:
    """Logs a frame; returns the entity paths that it has logged."""
    scene = frame.scene
    room = rooms_of(scene)
    centres, sizes = room_boxes(scene, room)
    positions, _ = scene_positions(scene, centres)
    order = layer_order(scene.types[i] for i in sorted(set(scene.node_type.tolist())))
    wide = (float(np.ptp(positions, axis=0).max()) if scene.num_nodes else 0.0) or 1.0  # one node has no extent
    lift = {kind: GAP * wide * (len(order) - 1 - place) for place, kind in enumerate(order)}
    lifted = positions.copy()
    lifted[:, 2] += [lift[scene.types[kind]] for kind in scene.node_type.tolist()]
    rank = {number: i for i, number in enumerate(scene.of_type("room").tolist())}
    colours = [
        COLOURS[rank[of] % len(COLOURS)] if (of := node if node in rank else int(room[node])) in rank else GREY
        for node in range(scene.num_nodes)
    ]
    names = _names(frame)
    found = set()
    for kind in order:
        nodes = scene.of_type(kind)
        path = f"scene/{rerun.escape_entity_path_part(kind)}"
        found.add(path)
        tint = [colours[i] for i in nodes.tolist()]
        text = [names[i] for i in nodes.tolist()]
        boxed = nodes[~np.isnan(sizes[nodes]).any(1) & ~np.isnan(centres[nodes]).any(1)]
        if kind in ("object", "room") and len(boxed):
            middle = centres[boxed] + (0.0, 0.0, lift[kind])
            boxes = rerun.Boxes3D(
                centers=middle, half_sizes=sizes[boxed] / 2, colors=[colours[i] for i in boxed.tolist()]
            )
            recording.log(f"{path}/boxes", boxes)
        points = rerun.Points3D(lifted[nodes], colors=tint, labels=text, radii=wide / 250, show_labels=kind == "room")
        recording.log(path, points)
    if scene.num_edges:
        strips = np.stack([lifted[scene.edges[:, 0]], lifted[scene.edges[:, 1]]], 1)
        recording.log("scene/edges", rerun.LineStrips3D(strips, colors=[GREY], radii=wide / 2000))
        found.add("scene/edges")
    graph = frame.graph
    if graph is not None and graph.num_edges:
        ends = np.array([scene.number[name] for name in graph.ids])[graph.edges]
        strips = np.stack([lifted[ends[:, 0]], lifted[ends[:, 1]]], 1)
        recording.log("scene/typed_edges", rerun.LineStrips3D(strips, colors=[GREY], radii=wide / 1500))
        found.add("scene/typed_edges")
    return found


def _names(frame: SceneFrame) -> list[str]:
    """The text of every node: its label, or else its name or id, and the probability of the label if it is known."""
    own = own_labels(frame.scene, frame.label_spaces)
    state = frame.states[-1].labels if frame.states else {}
    found = []
    for i, (name, given) in enumerate(zip(frame.scene.ids, frame.scene.names, strict=True)):
        label: NodeLabel | None = state.get(name, own.get(i))
        text = label.name if label is not None else given or str(name)
        sure = None if label is None or label.probabilities is None else label.probabilities.get(label.name)
        found.append(text if sure is None else f"{text} {100 * sure:.0f} %")
    return found
