"""3DSSG: `objects.json` with the objects of many scans, `relationships.json` with their relations; no geometry."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeGuard

from neuraltrees.errors import InputError, ParseError
from neuraltrees.scenes.builder import SceneBuilder
from neuraltrees.scenes.json_files import load_json
from neuraltrees.scenes.scene import NO_LABEL, Scene
from neuraltrees.scenes.values import UNKNOWN

FORMAT = "3DSSG"


def is_dssg(content: object) -> TypeGuard[dict[str, Any]]:
    return type(content) is dict and "scans" in content


def scans_of(content: Any) -> dict[str, dict[str, Any]]:
    """The record of every scan by its name; the first of several of one name."""
    scans = content.get("scans") if type(content) is dict else None
    if type(scans) is not list:
        raise ParseError(f"Expected scans of a 3DSSG file as a list; got {type(scans).__name__}.")
    found: dict[str, dict[str, Any]] = {}
    for record in scans:
        if type(record) is dict and type(record.get("scan")) is str:
            found.setdefault(record["scan"], record)
    if not found:
        raise ParseError("Expected at least one scan with a name in a 3DSSG file; got none.")
    return found


def scene_of_dssg(content: dict[str, Any], path: Path, scan: str | None) -> Scene:
    """The scene of one scan; relations come from `relationships.json` beside the file, if there is one."""
    scans = scans_of(content)
    if scan is None and len(scans) > 1:
        some = ", ".join(list(scans)[:3])
        raise InputError(f"Expected the name of one of the {len(scans)} scans; got none. Pass scan=..., e.g. {some}.")
    scan = next(iter(scans)) if scan is None else scan
    if scan not in scans:
        raise InputError(f"Expected the name of one of the {len(scans)} scans of {path}; got {scan!r}.")
    builder = SceneBuilder()
    objects = scans[scan].get("objects")
    if type(objects) is not list:
        raise ParseError(f"Expected the objects of scan {scan} as a list; got {type(objects).__name__}.")
    for record in objects:
        node_id = _id(record.get("id")) if type(record) is dict else None
        if node_id is None:
            builder.findings.drop("malformed nodes", f"{record!r:.50}")
            continue
        label = record.get("label")
        name = label if type(label) is str and label else None
        builder.add_node(node_id, "object", name, NO_LABEL, UNKNOWN, UNKNOWN, UNKNOWN, None, record)
    relations = path.with_name("relationships.json")
    if not relations.is_file():
        builder.findings.remark("No relationships.json beside it: relations are not read")
    else:
        listed = scans_of(load_json(relations)).get(scan, {}).get("relationships", [])
        for record in listed if type(listed) is list else [listed]:
            _add_edge(builder, record)
    return builder.scene(FORMAT, metadata={"scan": scan})


def _id(value: Any) -> int | None:
    """Ids are numbers, in some files as text."""
    if type(value) is str and value.isdecimal() and len(value) < 20:
        return int(value)
    return value if type(value) is int else None


def _add_edge(builder: SceneBuilder, record: Any) -> None:
    good = type(record) is list and len(record) == 4 and type(record[3]) is str and record[3]
    source, target = (_id(record[0]), _id(record[1])) if good else (None, None)
    if source is None or target is None:
        builder.findings.drop("malformed edges", f"{record!r:.50}")
    else:
        builder.add_edge(source, target, record[3])
