"""The description of the HTTP interface: bodies and errors for OpenAPI, and the page /docs made from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
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
        "description": "A scene as Spark-DSG JSON or as plain JSON; or {scene, known: {id of a node: label}}, to give "
        "labels that are known.",
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
        "description": "A graph, or several under graphs; beside them, labels that are known under known.",
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

# The body of a request, by what the model predicts for.
BODIES: dict[str, Any] = {
    "scenes": {
        "application/json": _SCENE,
        "application/octet-stream": {
            "schema": {"type": "string", "format": "binary", "description": "A scene in the binary form of Spark-DSG."}
        },
    },
    "graphs": {"application/json": _GRAPH},
}

_DETAIL = {
    "application/json": {
        "schema": {"type": "object", "properties": {"detail": {"type": "string"}}, "required": ["detail"]}
    }
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": f"{words}; detail says what was expected, what came and what to do.", "content": _DETAIL}
    for status, words in {
        401: "No token, or a wrong one",
        408: "The body came too slowly",
        413: "Too many bytes or nodes",
        415: "A compressed body",
        422: "A body or a query that is not valid",
        503: "Too many requests wait: send it again",
        504: "No answer in time",
    }.items()
}

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }}
td {{ padding: .1rem 1rem .1rem 0; vertical-align: top }} pre {{ background: #eef; color: #111; padding: .5rem }}
</style></head><body><h1>{title}</h1><p>{description} <a href="openapi.json">openapi.json</a> describes this interface
for programs.</p>
{operations}
</body></html>
"""


def interface_page(schema: Mapping[str, Any]) -> str:
    """The page /docs: an OpenAPI description as one HTML page without scripts, which needs no other file.

    >>> info = {"title": "server", "version": "1.0", "description": "It answers."}
    >>> "<h2>GET /health</h2>" in interface_page({"info": info, "paths": {"/health": {"get": {}}}})
    True
    """
    operations = [
        _operation(f"{method.upper()} {path}", about)
        for path, methods in schema["paths"].items()
        for method, about in methods.items()
    ]
    info = schema["info"]
    return _PAGE.format(
        title=escape(f"{info['title']} {info['version']}"),
        description=escape(info["description"]),
        operations="\n".join(operations),
    )


def _operation(name: str, about: Mapping[str, Any]) -> str:
    parts = [f"<h2>{escape(name)}</h2><p>{escape(about.get('description', ''))}</p>"]
    parameters = [
        (f"?{each['name']}=", f"{each.get('description', '')} Default: {each['schema'].get('default', 'none')}.")
        for each in about.get("parameters", ())
    ]
    parts += ["<h3>Query</h3>", _rows(parameters)] if parameters else []
    for media, body in about.get("requestBody", {}).get("content", {}).items():
        parts.append(f"<h3>Body: {escape(media)}</h3><p>{escape(body['schema'].get('description', ''))}</p>")
        if "example" in body:
            parts.append(f"<pre>{escape(json.dumps(body['example'], indent=1))}</pre>")
    answers = [(status, each["description"]) for status, each in about.get("responses", {}).items()]
    return "".join([*parts, "<h3>Answers</h3>" if answers else "", _rows(answers)])


def _rows(cells: list[tuple[str, str]]) -> str:
    rows = (f"<tr><td><code>{escape(name)}</code></td><td>{escape(text)}</td></tr>" for name, text in cells)
    return f"<table>{''.join(rows)}</table>"
