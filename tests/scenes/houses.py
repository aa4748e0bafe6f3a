"""Folders of scenes for tests: generated buildings as Spark-DSG files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from neuraltrees import SyntheticBuildings
from neuraltrees.datasets.stanford import OBJECT_LABELS, ROOM_LABELS
from neuraltrees.scenes import Scene, scene_of_building

LAYERS = {"object": (2, "O", "ObjectNodeAttributes"), "room": (4, "R", "RoomNodeAttributes")}
TURN = {"w": 1.0, "x": 0.0, "y": 0.0, "z": 0.0}


def spark(scene: Scene, labelled: bool = True, spaces: bool = True) -> dict[str, Any]:
    """The content of a Spark-DSG file 1.1.3."""
    ids: dict[Any, int] = {}
    nodes = []
    for place, node in enumerate(scene.nodes):
        layer, letter, kind = LAYERS[node.type]
        ids[node.id] = (ord(letter) << 56) + place
        size, centre = (value.tolist() for value in (node.size, node.box_centre))  # type: ignore[union-attr]
        box = {"type": "AABB", "dimensions": size, "world_P_center": centre, "world_R_center": TURN}
        attributes = {
            "type": kind,
            "name": f"{letter}({place})",
            "position": list(node.position),  # type: ignore[arg-type]
            "bounding_box": box,
            "semantic_label": node.label if labelled else 2**32 - 1,
        }
        nodes.append({"id": ids[node.id], "layer": layer, "partition": 0, "attributes": attributes})
    pairs = [(ids[scene.ids[a]], ids[scene.ids[b]]) for a, b in scene.edges.tolist()]
    names = {"_l2p0": list(enumerate(OBJECT_LABELS)), "_l4p0": list(enumerate(ROOM_LABELS))}
    return {
        "SPARK_DSG_header": {"project_name": "main", "version": {"major": 1, "minor": 1, "patch": 3}},
        "nodes": nodes,
        "edges": [{"source": a, "target": b, "info": {"weight": 1.0, "weighted": False}} for a, b in pairs],
        **({"metadata": {"labelspaces": names}} if spaces else {}),
    }


def write_houses(folder: Path, houses: int = 6, maps: int = 2, seed: int = 0) -> list[Path]:
    """So many maps of so many houses: `house0_0.json`, `house0_1.json` and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for number, building in enumerate(SyntheticBuildings(houses * maps, seed=seed)):
        path = folder / f"house{number // maps}_{number % maps}.json"
        path.write_text(json.dumps(spark(scene_of_building(building))))
        found.append(path)
    return found
