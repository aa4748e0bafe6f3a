"""Folders that HOV-SG writes: a JSON file for every floor, room and object. Its y axis points upwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from neuraltrees.errors import ParseError
from neuraltrees.scenes.builder import SceneBuilder
from neuraltrees.scenes.json_files import load_json
from neuraltrees.scenes.scene import IN, NO_LABEL, Scene
from neuraltrees.scenes.values import UNKNOWN, Triple, number, points, vector

FORMAT = "HOV-SG"


def is_hov_sg(folder: Path) -> bool:
    return (folder / "objects").is_dir() or (folder / "rooms").is_dir()


def scene_of_hov_sg(folder: Path) -> Scene:
    """The scene of a folder with `rooms/` and `objects/`, and `floors/` if there is one."""
    builder = SceneBuilder()
    edges: list[tuple[str, str]] = []
    for kind, above in (("floor", None), ("room", "floor"), ("object", "room")):
        for path in sorted((folder / f"{kind}s").glob("*.json"), key=lambda path: path.stem):
            content = load_json(path)
            given = content.get(f"{kind}_id") if type(content) is dict else None
            if type(content) is not dict or type(given) not in (int, str):
                builder.findings.drop("malformed nodes", path.name)
                continue
            _add_node(builder, kind, f"{kind}_{given}", content)
            if above is not None and type(content.get(f"{above}_id")) in (int, str):
                edges.append((f"{kind}_{given}", f"{above}_{content[f'{above}_id']}"))
    if not builder.has_any():
        raise ParseError(f"Expected JSON files of rooms or objects in the HOV-SG folder {folder}; got none.")
    floors = (folder / "floors").is_dir()
    for source, target in edges:
        if floors or not target.startswith("floor_"):
            builder.add_edge(source, target, IN)
    return builder.scene(FORMAT)


def _add_node(builder: SceneBuilder, kind: str, node_id: str, content: dict[str, Any]) -> None:
    found = _points(content)
    position: Triple
    if found is None:
        if kind != "floor":
            builder.findings.note("invalid position", kind, node_id)
        position, size, centre = UNKNOWN, UNKNOWN, UNKNOWN
    else:
        least, most = found.min(0), found.max(0)
        centre = _triple((least + most) / 2)
        position, size = (centre if kind == "room" else _triple(found.mean(0))), _triple(most - least)
    given = content.get("embedding", content.get("embeddings"))
    embedding = _embedding(given)
    if embedding is None and given:
        builder.findings.note("invalid embedding", kind, node_id)
    name = content.get("name")
    attributes = {key: value for key, value in content.items() if key not in ("vertices", "embedding", "embeddings")}
    named = name if type(name) is str and name else None
    builder.add_node(node_id, kind, named, NO_LABEL, position, size, centre, embedding, attributes)


def _points(content: dict[str, Any]) -> npt.NDArray[np.float64] | None:
    """Points of the node with z upwards; a room's outline is a polygon on the floor, between its floor and ceiling."""
    found = points(content.get("vertices"), 3)
    if found is not None:
        return np.stack([found[:, 0], -found[:, 2], found[:, 1]], 1)
    outline = points(content.get("vertices"), 2)
    height = number(content.get("room_height"))
    if outline is None or height is None or height < 0:
        return None
    bottom = number(content.get("room_zero_level", 0.0))
    if bottom is None:
        return None
    corners = np.stack([outline[:, 0], -outline[:, 1]], 1)
    return np.concatenate([np.insert(corners, 2, level, axis=1) for level in (bottom, bottom + height)])


def _embedding(given: Any) -> npt.NDArray[np.float32] | None:
    """A vector; of several views of a room, their mean."""
    if type(given) is list and given and type(given[0]) is list:
        rows = [vector(row) for row in given]
        good = [row for row in rows if row is not None]
        if len(good) < len(rows) or len({len(row) for row in good}) != 1:
            return None
        return vector(np.mean(np.stack(good), axis=0, dtype=np.float64).tolist())
    return vector(given)


def _triple(values: npt.NDArray[np.float64]) -> Triple:
    x, y, z = values.tolist()
    return x, y, z
