"""Spark-DSG JSON, the format of Hydra, in its versions 1.0.0 to 1.1.3, without the spark-dsg package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from neuraltrees.errors import ParseError
from neuraltrees.scenes.builder import SceneBuilder
from neuraltrees.scenes.scene import ADJACENT, IN, NO_LABEL, Scene
from neuraltrees.scenes.values import UNKNOWN, Triple, triple, turned, vector

FORMAT = "Spark-DSG"
NEWEST = (1, 1, 3)
UNLABELLED = 2**32 - 1
MOST_ID = 2**64
HEADER = "SPARK_DSG_header"

# The layers that every version has, by number and partition; agents have the partition of their prefix.
LAYERS = {1: "segment", 2: "object", 3: "place", 4: "room", 5: "building"}
# Names of layers in files, and the word for one of their nodes.
LAYER_NAMES = {
    "SEGMENTS": "segment",
    "OBJECTS": "object",
    "AGENTS": "agent",
    "PLACES": "place",
    "MESH_PLACES": "mesh_place",
    "ROOMS": "room",
    "BUILDINGS": "building",
}
DEPTH = {"segment": 1, "object": 2, "agent": 2, "place": 3, "mesh_place": 3, "room": 4, "building": 5}
_BOX_TYPES = {"AABB", "RAABB", "OBB", 1, 2, 3}


def is_spark(content: object) -> TypeGuard[dict[str, Any]]:
    return type(content) is dict and "nodes" in content and ("edges" in content or HEADER in content)


def nodes_and_edges(content: Any) -> tuple[list[Any], list[Any]]:
    """The nodes and edges of a parsed file, unchecked; `ParseError` if it is not a Spark-DSG file."""
    if not is_spark(content):
        raise ParseError("Expected Spark-DSG JSON, an object with nodes and edges; got something else.")
    nodes, edges = content["nodes"], content.get("edges", [])
    for name, value in (("nodes", nodes), ("edges", edges)):
        if type(value) is not list:
            raise ParseError(f"Expected {name} of a Spark-DSG file as a list; got {type(value).__name__}.")
    return nodes, edges


def scene_of_spark(content: dict[str, Any]) -> Scene:
    """The scene of a parsed file; what is malformed is counted in its report."""
    nodes, edges = nodes_and_edges(content)
    builder = SceneBuilder()
    version = version_of(content, builder)
    layers = layer_names(content)
    depth: dict[int, int] = {}
    for record in nodes:
        _add_node(record, layers, builder, depth)
    for record in edges:
        _add_edge(record, builder, depth)
    return builder.scene(FORMAT, version, metadata_of(content, builder))


def metadata_of(content: dict[str, Any], builder: SceneBuilder) -> dict[str, Any]:
    """What a parsed file says of the whole scene; edges to a mesh are reported."""
    mesh_edges = content.get("mesh_edges")
    if mesh_edges:
        count = f"{len(mesh_edges)} " if type(mesh_edges) is list else ""
        builder.findings.remark(f"{count}edges to the mesh are not read")
    return {key: value for key, value in content.items() if key not in ("nodes", "edges", "mesh", "mesh_edges")}


def version_of(content: dict[str, Any], builder: SceneBuilder) -> str:
    """The version in the header of a parsed file; what is unusual about it is reported."""
    header = content.get(HEADER)
    if header is None:
        return "1.0.0"
    given = header.get("version") if type(header) is dict else None
    parts = [given.get(part) for part in ("major", "minor", "patch")] if type(given) is dict else []
    if not parts or any(type(part) is not int for part in parts):
        builder.findings.remark(f"Expected a version in its header; read as {'.'.join(map(str, NEWEST))}")
        return "unknown"
    if tuple(parts) > NEWEST:
        builder.findings.remark(f"Newer than {'.'.join(map(str, NEWEST))}: what is new in it is not understood")
    return ".".join(map(str, parts))


def layer_names(content: dict[str, Any]) -> dict[tuple[int, int | None], str]:
    """The node type of every layer and partition that the file names; names of its own are in lower case."""
    found: dict[tuple[int, int | None], str] = {}
    names = content.get("layer_names")
    if type(names) is not dict:
        return found
    for name, key in names.items():
        layer, partition = (key.get("layer"), key.get("partition")) if type(key) is dict else (key, 0)
        if type(layer) is int and type(partition) is int and name not in LAYER_NAMES:
            found[layer, partition] = name.lower()
    return found


def type_of(record: dict[str, Any], kind: Any, names: Mapping[tuple[int, int | None], str]) -> str | None:
    """The type of a node with attributes of this kind; None if its layer is unknown."""
    layer, partition = record.get("layer"), record.get("partition", 0)
    if type(layer) is not int:
        return None
    if kind == "AgentNodeAttributes" or (layer == 2 and ("prefix" in record or partition)):
        return "agent"
    if type(partition) is not int:
        return None
    if (layer, partition) in names:
        return names[layer, partition]
    if layer == 3 and partition:
        return "mesh_place"
    return LAYERS.get(layer, f"layer_{layer}")


def _add_node(
    record: Any, names: Mapping[tuple[int, int | None], str], builder: SceneBuilder, depth: dict[int, int]
) -> None:
    findings = builder.findings
    if type(record) is not dict:
        findings.drop("malformed nodes", f"{type(record).__name__} instead of a node")
        return
    node_id = record.get("id")
    if type(node_id) is not int or not 0 <= node_id < MOST_ID:
        findings.drop("malformed nodes", f"id {node_id!r:.40}")
        return
    if node_id in depth:
        findings.drop("duplicate ids", node_id)
        return
    attributes = record.get("attributes")
    if type(attributes) is not dict:
        findings.note("no attributes", "node", node_id)
        attributes = {}
    kind = type_of(record, attributes.get("type"), names)
    if kind is None:
        findings.note("unknown layer", "node", node_id)
        kind = "unknown"
    depth[node_id] = DEPTH.get(kind, record["layer"] if type(record.get("layer")) is int else 0)
    position = triple(attributes.get("position"))
    if position is None:
        findings.note("invalid position", kind, node_id)
        position = UNKNOWN
    size, centre = UNKNOWN, UNKNOWN
    if "bounding_box" in attributes:
        box = _box(attributes["bounding_box"])
        if box is None:
            findings.note("invalid box", kind, node_id)
        else:
            size, centre = box
    name = attributes.get("name")
    if name is not None and type(name) is not str:
        findings.note("invalid name", kind, node_id)
        name = None
    builder.add_node(
        node_id,
        kind,
        name or None,
        _label(attributes, kind, builder, node_id),
        position,
        size,
        centre,
        _embedding(attributes, kind, builder, node_id),
        attributes,
    )


def _label(attributes: dict[str, Any], kind: str, builder: SceneBuilder, node_id: int) -> int:
    if "semantic_label" not in attributes:
        return NO_LABEL
    label = attributes["semantic_label"]
    if type(label) is int and 0 <= label < UNLABELLED:
        return label
    builder.findings.note("no label", kind, node_id)
    return NO_LABEL


def _embedding(attributes: dict[str, Any], kind: str, builder: SceneBuilder, node_id: int) -> Any:
    given = attributes.get("semantic_feature")
    data = given.get("data") if type(given) is dict else given
    if not data:
        return None
    found = vector(data)
    shaped = type(given) is not dict or _count(given) == (None if found is None else len(found))
    if found is None or not shaped:
        builder.findings.note("invalid embedding", kind, node_id)
        return None
    return found


def _count(matrix: dict[str, Any]) -> int | None:
    rows, columns = matrix.get("rows"), matrix.get("cols")
    return rows * columns if type(rows) is int and type(columns) is int else None


def _box(box: Any) -> tuple[Triple, Triple] | None:
    """Size along the axes and centre of a box; None if it is invalid."""
    if type(box) is not dict:
        return None
    kind = box.get("type")
    if type(kind) not in (str, int) or kind not in _BOX_TYPES:
        return None
    centre = triple(box.get("world_P_center"))
    size = triple(box.get("dimensions"))
    if "dimensions" not in box:
        least, most = triple(box.get("min")), triple(box.get("max"))
        if least is None or most is None:
            return None
        size = (most[0] - least[0], most[1] - least[1], most[2] - least[2])
        if kind in ("AABB", 1):
            centre = ((least[0] + most[0]) / 2, (least[1] + most[1]) / 2, (least[2] + most[2]) / 2)
    if size is None or centre is None or min(size) < 0:
        return None
    outer = size if kind in ("AABB", 1) else turned(size, box.get("world_R_center"))
    return None if outer is None else (outer, centre)


def _add_edge(record: Any, builder: SceneBuilder, depth: Mapping[int, int]) -> None:
    source, target = (record.get("source"), record.get("target")) if type(record) is dict else (None, None)
    if type(source) is not int or type(target) is not int:
        builder.findings.drop("malformed edges", f"{source!r:.28} - {target!r:.28}")
        return
    below, above = depth.get(source, 0), depth.get(target, 0)
    if below > above:
        source, target = target, source
    builder.add_edge(source, target, ADJACENT if below == above else IN)
