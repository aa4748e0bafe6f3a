"""Scenes as plain JSON, for programs that have no Spark-DSG: the fields of `SceneNode` and pairs of ids."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from neuraltrees.errors import InputError
from neuraltrees.scenes.scene import NodeId, Scene, SceneEdge, SceneNode

FORMAT = "nodes with an id and a type, edges as [source, target] or [source, target, relation]"
KEYS = ("id", "type", "name", "label", "position", "size", "box_centre", "embedding", "attributes")


def is_plain(content: Any) -> bool:
    """Whether it is a scene in this form: its first node says its type itself; Spark-DSG has layers and attributes."""
    nodes = content.get("nodes") if type(content) is dict else None
    first = nodes[0] if type(nodes) is list and nodes else None
    return type(first) is dict and "type" in first and "layer" not in first


def scene_of_plain(content: Any) -> Scene:
    """The scene of parsed JSON; a mistake in it raises `InputError`.

    >>> scene_of_plain({"nodes": [{"id": "bath", "type": "room"}, {"id": 7, "type": "object"}], "edges": [[7, "bath"]]})
    Scene(2 nodes: 1 room, 1 object; 1 edge)
    """
    if not is_plain(content):
        raise InputError(f"Expected a scene as JSON: {FORMAT}; got something else.")
    edges = content.get("edges", [])
    if type(edges) is not list:
        raise InputError(f"Expected edges as a list; got {type(edges).__name__}.")
    other = next((key for key in content if key not in ("nodes", "edges", "metadata")), None)
    if other is not None:
        raise InputError(f"Expected nodes, edges and metadata; got {other!r:.40}. Leave it out.")
    metadata = content.get("metadata") or {}
    if type(metadata) is not dict:
        raise InputError(f"Expected metadata as an object; got {type(metadata).__name__}.")
    return Scene.of([_node(i, each) for i, each in enumerate(content["nodes"])], [*map(_edge, edges)], metadata)


def _node(number: int, given: Any) -> SceneNode:
    if type(given) is not dict:
        raise InputError(f"Expected node {number} as an object; got {type(given).__name__}.")
    for key in given:
        if key not in KEYS:
            close = get_close_matches(key, KEYS, 1)
            advice = f"Did you mean {close[0]!r}?" if close else "Put it under attributes."
            raise InputError(f"Expected node {number} with {', '.join(KEYS)}; got {key!r:.40}. {advice}")
    for key in ("id", "type"):
        if key not in given:
            raise InputError(f"Expected node {number} with an {key}; got none." if key == "id" else _untyped(number))
    attributes = given.get("attributes") or {}
    if type(attributes) is not dict:
        raise InputError(f"Expected attributes of node {number} as an object; got {type(attributes).__name__}.")
    return SceneNode(**given | {"attributes": attributes})


def _untyped(number: int) -> str:
    return f"Expected node {number} with a type, such as room or object; got none."


def _edge(given: Any) -> Any:
    if type(given) is not list or len(given) not in (2, 3) or not all(map(_is_id, given[:2])):
        raise InputError(f"Expected edges as [source, target] or [source, target, relation]; got {given!r:.60}.")
    if len(given) == 2:
        return tuple(given)
    if type(given[2]) is not str or not given[2]:
        raise InputError(f"Expected the relation of an edge as a word; got {given[2]!r:.60}.")
    return SceneEdge(*given)


def _is_id(value: Any) -> bool:
    return type(value) in NodeId.__args__
