"""The JSON files of ConceptGraphs: `obj_json...json` with the objects, `edge_json...json` with their relations."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeGuard

from neuraltrees.errors import InputError
from neuraltrees.scenes.builder import SceneBuilder
from neuraltrees.scenes.json_files import load_json
from neuraltrees.scenes.scene import ADJACENT, NO_LABEL, Scene
from neuraltrees.scenes.values import UNKNOWN, triple

FORMAT = "ConceptGraphs"


def objects_file(folder: Path) -> Path | None:
    """The file of objects in a folder, None if there is none."""
    found = sorted(folder.glob("obj_json*.json"))
    if len(found) > 1:
        names = ", ".join(path.name for path in found[:5])
        raise InputError(f"Expected one obj_json file in {folder}; got {len(found)}: {names}. Name one of them.")
    return found[0] if found else None


def is_concept_graph(content: object) -> TypeGuard[dict[str, Any]]:
    return type(content) is dict and any(
        type(value) is dict and ("bbox_center" in value or "object_tag" in value) for value in content.values()
    )


def scene_of_concept_graph(content: dict[str, Any], path: Path) -> Scene:
    """The scene of parsed objects; relations come from the `edge_json` file beside it, if there is one."""
    builder = SceneBuilder()
    findings = builder.findings
    for key, record in content.items():
        node_id: Any = record.get("id") if type(record) is dict else None
        if type(record) is not dict or type(node_id) not in (int, str):
            findings.drop("malformed nodes", key)
            continue
        centre, size = triple(record.get("bbox_center")), triple(record.get("bbox_extent"))
        if centre is None:
            findings.note("invalid position", "object", node_id)
        if centre is None or size is None or min(size) < 0:
            findings.note("invalid box", "object", node_id)
            size = None
        tag = record.get("object_tag")
        name = tag if type(tag) is str and tag else None
        position = centre or UNKNOWN
        box = (size, position) if size is not None else (UNKNOWN, UNKNOWN)
        builder.add_node(node_id, "object", name, NO_LABEL, position, *box, None, record)
    edges = path.with_name(path.name.replace("obj_json", "edge_json"))
    if edges == path or not edges.is_file():
        findings.remark("No edge_json file beside it: relations are not read")
    else:
        _add_edges(builder, load_json(edges))
    return builder.scene(FORMAT)


def _add_edges(builder: SceneBuilder, content: Any) -> None:
    records = content.values() if type(content) is dict else content if type(content) is list else [content]
    for record in records:
        ends: list[Any] = [record.get(f"object_{i}_id") for i in (1, 2)] if type(record) is dict else []
        if len(ends) != 2 or any(type(end) not in (int, str) for end in ends):
            builder.findings.drop("malformed edges", f"{record!r:.50}")
            continue
        relation = record.get("relationship")
        builder.add_edge(ends[0], ends[1], relation if type(relation) is str and relation else ADJACENT)
