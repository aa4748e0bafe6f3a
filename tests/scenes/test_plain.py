"""Scenes as plain JSON: the same scene as one made by hand, and mistakes that are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuraltrees.errors import InputError
from neuraltrees.scenes import Scene, SceneEdge, SceneNode, parse_scene, read_scene

NODES: list[dict[str, Any]] = [
    {"id": "bath", "type": "room", "name": "bathroom"},
    {"id": 7, "type": "object", "position": [0, 0, 0.3], "size": [1.7, 0.8, 0.6], "label": 4, "embedding": [0.5, 1]},
    {"id": "hall", "type": "room", "attributes": {"colour": "red"}},
]
EDGES: list[list[Any]] = [[7, "bath"], ["bath", "hall", "through a door"]]


def test_the_scene_is_the_one_made_by_hand(tmp_path: Path) -> None:
    text = json.dumps({"nodes": NODES, "edges": EDGES, "metadata": {"floor": 2}})
    by_hand = Scene.of(
        [
            SceneNode("bath", "room", "bathroom"),
            SceneNode(7, "object", position=(0, 0, 0.3), size=(1.7, 0.8, 0.6), label=4, embedding=[0.5, 1]),
            SceneNode("hall", "room", attributes={"colour": "red"}),
        ],
        [(7, "bath"), SceneEdge("bath", "hall", "through a door")],
        {"floor": 2},
    )
    path = tmp_path / "scene.json"
    path.write_text(text)
    for scene in (parse_scene(text), parse_scene(text.encode()), read_scene(path)):
        assert (scene.ids, scene.types, scene.names) == (by_hand.ids, by_hand.types, by_hand.names)
        assert (scene.relations, scene.metadata, scene.attributes) == (
            by_hand.relations,
            by_hand.metadata,
            by_hand.attributes,
        )
        for name in ("node_type", "labels", "positions", "sizes", "box_centres", "edges", "edge_relation"):
            np.testing.assert_array_equal(getattr(scene, name), getattr(by_hand, name))
        assert scene.embeddings[1].tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"nodes": [*NODES, 5]}, "Expected node 3 as an object; got int."),
        ({"nodes": [*NODES, {"type": "room"}]}, "Expected node 3 with an id; got none."),
        ({"nodes": [*NODES, {"id": 1}]}, "Expected node 3 with a type, such as room or object; got none."),
        ({"nodes": [{"id": 1, "type": "room", "postion": [0, 0, 0]}]}, "got 'postion'. Did you mean 'position'?"),
        ({"nodes": [{"id": 1, "type": "room", "weight": 3}]}, "got 'weight'. Put it under attributes."),
        ({"nodes": [{"id": [1], "type": "room"}]}, r"Expected ids as numbers or names; got \[1\]."),
        ({"nodes": [{"id": 1, "type": ["room"]}]}, "Expected the type of node 1 as a word"),
        ({"nodes": [{"id": 1, "type": "room", "position": {"x": 1}}]}, "Expected the position of node 1 as 3 finite"),
        (
            {"nodes": [{"id": 1, "type": "room", "attributes": 3}]},
            "Expected attributes of node 0 as an object; got int",
        ),
        ({"nodes": NODES, "edges": {}}, "Expected edges as a list; got dict."),
        ({"nodes": NODES, "edges": [[7]]}, r"Expected edges as \[source, target\] or .*; got \[7\]."),
        ({"nodes": NODES, "edges": [[7, ["bath"]]]}, r"Expected edges as \[source, target\] or"),
        ({"nodes": NODES, "edges": [[7, "bath", 3]]}, "Expected the relation of an edge as a word; got 3."),
        ({"nodes": NODES, "edges": [[7, "attic"]]}, "got 'attic', which is none of them"),
        ({"nodes": NODES, "known": {}}, "Expected nodes, edges and metadata; got 'known'. Leave it out."),
        ({"nodes": NODES, "metadata": [1]}, "Expected metadata as an object; got list."),
    ],
)
def test_mistakes_are_named(content: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        parse_scene(json.dumps(content))
    path = tmp_path / "scene.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=f"scene.json: .*{message}"):
        read_scene(path)
