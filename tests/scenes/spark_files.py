"""Small Spark-DSG files for tests, in each form that the format has had."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

UNLABELLED = 2**32 - 1
O, P, R, B, A = (ord(letter) << 56 for letter in "OpRBa")  # noqa: E741


def box(low: list[float], high: list[float], version: tuple[int, int, int]) -> Json:
    centre = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    turn = {"w": 1.0, "x": 0.0, "y": 0.0, "z": 0.0}
    if version < (1, 0, 3):
        return {"type": "AABB", "min": low, "max": high, "world_P_center": centre, "world_R_center": turn}
    size = [b - a for a, b in zip(low, high, strict=True)]
    return {"type": "AABB", "dimensions": size, "world_P_center": centre, "world_R_center": turn}


def invalid_box(version: tuple[int, int, int]) -> Json:
    return box([0.0] * 3, [0.0] * 3, version) | {"type": "INVALID"}


def node(number: int, layer: int, attributes: Json, version: tuple[int, int, int], agent: bool = False) -> Json:
    record: Json = {"attributes": attributes, "id": number, "layer": layer}
    if version >= (1, 1, 0):
        record["partition"] = 97 if agent else 0
    elif agent:
        record |= {"prefix": 97, "timestamp": 5}
    return record


def flat(version: tuple[int, int, int] = (1, 0, 0)) -> Json:
    """A flat: two rooms with two places each, a table with a cup on it, a bed, a lamp without a room, and an agent."""

    def semantic(kind: str, name: str, position: list[float], label: int, given: Json, **more: Any) -> Json:
        colour: Any = [1, 2, 3] if version < (1, 0, 3) else {"r": 1, "g": 2, "b": 3, "a": 255}
        return {
            "bounding_box": given,
            "color": colour,
            "name": name,
            "position": position,
            "semantic_label": label,
            "type": kind,
            **more,
        }

    def thing(number: int, name: str, position: list[float], half: list[float], label: int) -> Json:
        low, high = ([p + s * h for p, h in zip(position, half, strict=True)] for s in (-1, 1))
        given = box(low, high, version)
        return node(O + number, 2, semantic("ObjectNodeAttributes", name, position, label, given), version)

    def area(prefix: int, number: int, layer: int, kind: str, position: list[float], label: int, **more: Any) -> Json:
        given = invalid_box(version)
        name = f"{chr(prefix >> 56)}({number})"
        return node(prefix + number, layer, semantic(kind, name, position, label, given, **more), version)

    place = "PlaceNodeAttributes"
    nodes = [
        thing(0, "table", [1.0, 1.0, 0.4], [0.8, 0.5, 0.4], 5),
        thing(1, "cup", [1.2, 1.1, 0.85], [0.05, 0.05, 0.05], 40),
        thing(2, "bed", [6.0, 1.0, 0.3], [1.0, 0.8, 0.3], 11),
        thing(3, "lamp", [9.0, 9.0, 2.0], [0.1, 0.1, 0.2], UNLABELLED),
        area(P, 0, 3, place, [1.0, 1.5, 1.0], 0, distance=1.0),
        area(P, 1, 3, place, [2.5, 1.5, 1.0], 0, distance=0.5),
        area(P, 2, 3, place, [5.0, 1.0, 1.0], 0, distance=1.0),
        area(P, 3, 3, place, [7.0, 1.0, 1.0], 0, distance=0.5),
        area(R, 0, 4, "RoomNodeAttributes", [1.5, 1.5, 1.0], 10),
        area(R, 1, 4, "RoomNodeAttributes", [6.0, 1.0, 1.0], UNLABELLED),
        area(B, 0, 5, "SemanticNodeAttributes", [4.0, 1.0, 1.0], 22),
        node(A, 2, {"position": [0.0, 0.0, 1.0], "type": "AgentNodeAttributes"}, version, agent=True),
    ]
    pairs = [(P, O), (P + 1, O + 1), (P + 3, O + 2), (P, P + 1), (P + 1, P + 2), (P + 2, P + 3)]
    pairs += [(R, P), (R, P + 1), (R + 1, P + 2), (R, R + 1), (B, R), (B, R + 1)]  # place 3 has no room of its own
    info = {"type": "EdgeAttributes", "weight": 1.0, "weighted": False}
    content: Json = {
        "directed": False,
        "edges": [{"info": info, "source": source, "target": target} for source, target in pairs],
        "multigraph": False,
        "nodes": nodes,
    }
    layers = {"OBJECTS": 2, "PLACES": 3, "ROOMS": 4, "BUILDINGS": 5}
    if version > (1, 0, 0):
        major, minor, patch = version
        content["SPARK_DSG_header"] = {
            "project_name": "main",
            "version": {"major": major, "minor": minor, "patch": patch},
        }
    if version >= (1, 1, 2):
        content["layer_keys"] = [{"layer": layer, "partition": 0} for layer in layers.values()]
    else:
        content["layer_ids"] = list(layers.values())
    if version >= (1, 1, 1):
        content["layer_names"] = {name: {"layer": layer, "partition": 0} for name, layer in layers.items()}
    elif version >= (1, 1, 0):
        content["layer_names"] = layers
    return content
