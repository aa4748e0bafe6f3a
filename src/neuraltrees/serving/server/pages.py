"""What the OpenAPI page says of bodies and errors."""

from __future__ import annotations

from typing import Any

_NUMBERS = {"type": "array", "items": {"type": "number"}}
_ID = {"oneOf": [{"type": "integer"}, {"type": "string"}]}
_PLAIN: dict[str, Any] = {
    "nodes": [
        {"id": "bath", "type": "room"},
        {"id": "tub", "type": "object", "position": [0, 0, 0.3], "size": [1.7, 0.8, 0.6]},
    ],
    "edges": [["tub", "bath"]],
}
_SCENE: dict[str, Any] = {
    "schema": {
        "type": "object",
        "description": "A scene as Spark-DSG JSON or as plain JSON, or {scene, known: {id of a node: label}}.",
        "properties": {
            "nodes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"id": _ID, "type": {"type": "string"}, "position": _NUMBERS, "size": _NUMBERS},
                },
            },
            "edges": {"type": "array", "items": {}},
        },
    },
    "example": _PLAIN,
}
_GRAPH: dict[str, Any] = {
    "schema": {
        "type": "object",
        "description": "A graph, or several under graphs; labels that are known under known.",
        "properties": {
            "nodes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"x": _NUMBERS, "type": {"type": "string"}, "name": {"type": "string"}},
                    "required": ["x"],
                },
            },
            "edges": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
            "edge_attr": {"type": "array", "items": _NUMBERS},
        },
    },
    "example": {"nodes": [{"x": [0.1, 0.2]}, {"x": [0.3, 0.4]}], "edges": [[0, 1]]},
}

# The content of a request by what the model answers about.
BODIES: dict[str, Any] = {
    "scenes": {
        "application/json": _SCENE,
        "application/octet-stream": {"schema": {"type": "string", "format": "binary", "description": "Spark-DSG."}},
    },
    "graphs": {"application/json": _GRAPH},
}

_DETAIL = {
    "application/json": {
        "schema": {"type": "object", "properties": {"detail": {"type": "string"}}, "required": ["detail"]}
    }
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": f"{words}: what was expected, what came, what to do.", "content": _DETAIL}
    for status, words in {
        401: "No or another token",
        408: "The body came too slowly",
        413: "Too large",
        415: "A packed body",
        422: "A wrong body",
        503: "Too many requests wait",
        504: "Too slow",
    }.items()
}
