"""Scenes for tests: buildings in several layouts, and random scenes with all that a map may lack."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st

from neuraltrees.scenes import Scene, SceneNode

Layout = Literal["corridor", "path", "grid", "hall"]


def building(layout: Layout = "grid", rooms: int = 20, objects: int = 15, hall: int = 60, seed: int = 0) -> Scene:
    """Rooms of objects: all joined to the first, in a row, on a grid, or all joined to a hall with more objects."""
    random = np.random.default_rng(seed)
    wide = 5 if layout == "grid" else rooms
    nodes: list[SceneNode] = []
    edges: list[tuple[str, str]] = []
    for i in range(rooms):
        x, y = 6.0 * (i % wide), 6.0 * (i // wide)
        nodes.append(SceneNode(f"room {i}", "room", position=(x, y, 1.2)))
        count = hall if layout == "hall" and i == 0 else objects
        for j in range(count):
            at = np.array([x, y, 1.0]) + random.uniform(-1, 1, 3) * (2.5 * count / 15, 2.5, 1.0)
            size = random.uniform(0.1, 1.2, 3)
            nodes.append(SceneNode(f"object {i}.{j}", "object", position=at, size=size, label=int(random.integers(9))))
            edges.append((f"object {i}.{j}", f"room {i}"))
        before = [0] if layout in ("corridor", "hall") else [i - 1] if layout == "path" else []
        if layout == "grid":
            before = [i - 1] * (i % wide > 0) + [i - wide] * (i >= wide)
        edges += [(f"room {i}", f"room {j}") for j in before if 0 <= j < i]
    return Scene.of(nodes, edges)


COORDINATE = st.integers(-4, 4).map(lambda value: value / 2)
TRIPLE = st.none() | st.tuples(COORDINATE, COORDINATE, COORDINATE)
SIZE = st.none() | st.tuples(*3 * [st.integers(0, 4).map(lambda value: value / 2)])
TYPES = ("object", "object", "object", "room", "place", "mesh_place", "building", "agent")


@st.composite
def scenes(draw: Any, max_nodes: int = 14) -> Scene:
    """Any scene: nodes without a position or size, objects in no room and in two, edges of all kinds."""
    count = draw(st.integers(0, max_nodes))
    nodes = [
        SceneNode(
            i,
            draw(st.sampled_from(TYPES)),
            label=draw(st.none() | st.integers(0, 3)),
            position=draw(TRIPLE),
            size=draw(SIZE),
            attributes=draw(st.sampled_from([{}, {"distance": 0.5}, {"distance": None}])),
        )
        for i in range(count)
    ]
    pair = st.tuples(*2 * [st.integers(0, max(count - 1, 0))], st.sampled_from(["in", "adjacent", "near", "behind"]))
    edges = draw(st.lists(pair, max_size=2 * count)) if count else []
    return Scene.of(nodes, {edge: None for edge in edges if edge[0] != edge[1]})
