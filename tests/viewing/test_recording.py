"""Recordings for Rerun, read back with Rerun's own reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from neuraltrees.scenes import NodeLabel, Scene, SceneNode, read_scene
from neuraltrees.viewing import SceneFrame, scene_recording, write_scene_recording
from tests.test_extras import MESSAGE, run

ROOM = SceneNode("bath", "room", position=(0, 0, 1), size=(3, 3, 2))
HOUSE = Scene.of(
    [
        ROOM,
        SceneNode("tub", "object", position=(0.5, 0, 0.3), size=(1.7, 0.8, 0.6)),
        SceneNode("mat", "object", position=(0.2, 0.9, 0.1)),
    ],
    [("tub", "bath"), ("mat", "bath")],
)


@pytest.fixture
def rerun_chunk() -> Any:
    return pytest.importorskip("rerun.chunk", reason="rerun-sdk is missing: pip install rerun-sdk")


def rows(rerun_chunk: Any, path: Path, column: str) -> dict[str, list[tuple[int, Any]]]:
    """The frame and the value of every row that has a column, by path."""
    found: dict[str, list[tuple[int, Any]]] = {}
    for chunk in rerun_chunk.RrdReader(path).stream().to_chunks():
        batch = chunk.to_record_batch()
        if column in batch.schema.names and "frame" in batch.schema.names:
            pairs = zip(batch.column("frame").to_pylist(), batch.column(column).to_pylist(), strict=True)
            found.setdefault(chunk.entity_path, []).extend(pairs)
    return found


def test_a_recording_has_layers_boxes_and_names_with_probabilities(rerun_chunk: Any, tmp_path: Path) -> None:
    path = tmp_path / "scene.rrd"
    write_scene_recording(HOUSE, path, labels={"bath": NodeLabel("bath", probabilities={"bath": 0.9})})
    assert rows(rerun_chunk, path, "Points3D:labels") == {
        "/scene/room": [(0, ["bath 90 %"])],
        "/scene/object": [(0, ["tub", "mat"])],
    }
    boxes = rows(rerun_chunk, path, "Boxes3D:half_sizes")
    assert boxes["/scene/room/boxes"] == [(0, [[1.5, 1.5, 1.0]])]
    assert boxes["/scene/object/boxes"][0][1] == [pytest.approx([0.85, 0.4, 0.3])]
    strips = rows(rerun_chunk, path, "LineStrips3D:strips")
    assert len(strips["/scene/edges"][0][1]) == 2
    # The room is above its objects.
    points = rows(rerun_chunk, path, "Points3D:positions")
    assert points["/scene/room"][0][1][0][2] > max(z for _, _, z in points["/scene/object"][0][1])


def test_a_single_point_can_be_seen(rerun_chunk: Any, tmp_path: Path) -> None:
    path = tmp_path / "point.rrd"
    write_scene_recording(Scene.of([SceneNode("lamp", "object", position=(1, 2, 3))]), path)
    ((_, radii),) = rows(rerun_chunk, path, "Points3D:radii")["/scene/object"]
    assert radii[0] > 0


def test_frames_follow_each_other_in_time_and_what_is_gone_is_cleared(rerun_chunk: Any, tmp_path: Path) -> None:
    path = tmp_path / "growing.rrd"
    path.write_bytes(scene_recording([SceneFrame(HOUSE), SceneFrame(Scene.of([ROOM]))]))
    labels = rows(rerun_chunk, path, "Points3D:labels")
    assert labels["/scene/object"] == [(0, ["tub", "mat"])]
    assert sorted(labels["/scene/room"]) == [(0, ["bath"]), (1, ["bath"])]
    assert {"/scene/object", "/scene/edges"} <= rows(rerun_chunk, path, "Clear:is_recursive").keys()


def test_shared_scene(rerun_chunk: Any, data_root: Path, tmp_path: Path) -> None:
    scene = read_scene(data_root / "dsg" / "spark_dsg" / "apartment_dsg.json")
    write_scene_recording(scene, tmp_path / "scene.rrd")
    found = rows(rerun_chunk, tmp_path / "scene.rrd", "Points3D:positions")
    assert {path: len(values[0][1]) for path, values in found.items()} == {
        f"/scene/{kind}": count for kind, count in scene.counts.items()
    }


def test_without_rerun_it_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "from neuraltrees.scenes import Scene, SceneNode; from neuraltrees.viewing import write_scene_recording; "
        f"write_scene_recording(Scene.of([SceneNode('a', 'room')]), {str(tmp_path / 'a.rrd')!r})"
    )
    assert MESSAGE.format("rerun", "recordings", "rerun") in run(["rerun"], script)
    assert not (tmp_path / "a.rrd").exists()
