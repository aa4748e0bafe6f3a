"""Typed graphs of scenes, against a slow and obvious construction."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraltrees import decompose
from neuraltrees._core import native
from neuraltrees.errors import InputError
from neuraltrees.scenes import Scene, SceneNode, TypedGraph, TypedGraphSpec, parse_scene, read_scene, typed_graph
from neuraltrees.scenes.rooms import rooms_of
from tests.scenes.scenes import building, scenes
from tests.scenes.spark_files import O, R, flat

Edges = set[tuple[int, str, int]]


def slow_rooms(scene: Scene) -> dict[int, int]:
    """The room of every object and place."""
    kind = [scene.types[i] for i in scene.node_type]
    beside: list[set[int]] = [set() for _ in kind]
    for a, b in scene.edges.tolist():
        beside[a].add(b)
        beside[b].add(a)

    def neighbours(i: int, *kinds: str) -> list[int]:
        return sorted(j for j in beside[i] if kind[j] in kinds)

    found: dict[int, int] = {}
    for i, each in enumerate(kind):
        if each in ("object", "place", "mesh_place") and neighbours(i, "room"):
            found[i] = neighbours(i, "room")[0]
    rooms_of_places = {i: room for i, room in found.items() if kind[i] != "object"}
    for i, each in enumerate(kind):
        if each != "object" or i in found:
            continue
        places = neighbours(i, "place", "mesh_place")
        direct = [place for place in places if place in rooms_of_places]
        if direct:
            found[i] = rooms_of_places[direct[0]]
            continue
        for place in places:
            others = [other for other in neighbours(place, "place", "mesh_place") if other in rooms_of_places]
            if others:
                apart = {o: float(np.linalg.norm(scene.positions[place] - scene.positions[o])) for o in others}
                near = min(others, key=lambda o: (np.inf if np.isnan(apart[o]) else apart[o], o))
                found[i] = rooms_of_places[near]
                break
    return found


def slow_relation(p: np.ndarray, s: np.ndarray, q: np.ndarray, t: np.ndarray, spec: TypedGraphSpec) -> str | None:
    """How the first object is related to the second."""
    apart = np.abs(p - q)
    over_second, over_first = all(apart[:2] <= t[:2] / 2), all(apart[:2] <= s[:2] / 2)
    touching = apart[2] <= spec.on_gap + (s[2] + t[2]) / 2
    if p[2] > q[2] and over_second and touching:
        return "on"
    if p[2] <= q[2] and over_first and touching:
        return "carries"
    if (over_first or over_second) and p[2] != q[2]:
        return "under" if p[2] < q[2] else "covers"
    mean = (s + t) / 2
    return "near" if all(apart <= spec.near_factor * mean) and all(apart - mean <= spec.near_gap) else None


def slow_edges(scene: Scene, spec: TypedGraphSpec) -> Edges:
    kind = [scene.types[i] for i in scene.node_type]
    kept = {i for i, each in enumerate(kind) if each in spec.types}
    stored = [
        (a, scene.relations[r], b)
        for (a, b), r in zip(scene.edges.tolist(), scene.edge_relation.tolist(), strict=True)
        if {a, b} <= kept
    ]
    found: Edges = set(stored)
    joined = {frozenset((a, b)) for a, _, b in stored}
    rooms = slow_rooms(scene)
    objects = [i for i in sorted(kept) if kind[i] == "object"]
    if "room" in spec.types:
        found |= {(i, "in", rooms[i]) for i in objects if i in rooms and frozenset((i, rooms[i])) not in joined}
    for a, b in itertools.combinations(objects, 2):
        rows = [scene.positions[a], scene.sizes[a], scene.positions[b], scene.sizes[b]]
        if rooms.get(a) != rooms.get(b) or frozenset((a, b)) in joined or any(np.isnan(row).any() for row in rows):
            continue
        relation = slow_relation(*rows, spec)
        turned = {"carries": "on", "covers": "under"}
        if relation in turned:
            found.add((b, turned[relation], a))
        elif relation is not None:
            found.add((a, relation, b))
    return found


def named(graph: TypedGraph) -> list[tuple[int, str, int]]:
    pairs = zip(graph.edges.tolist(), graph.edge_relation.tolist(), strict=True)
    return [(int(graph.ids[a]), graph.relations[r], int(graph.ids[b])) for (a, b), r in pairs]


@settings(max_examples=300, deadline=None)
@given(
    scene=scenes(),
    spec=st.sampled_from(
        [
            TypedGraphSpec(),
            TypedGraphSpec(near_factor=0.5, on_gap=0.0),
            TypedGraphSpec(near_gap=0.25, near_factor=3.0),
            TypedGraphSpec(types=("room", "building", "object")),
            TypedGraphSpec(types=("object",)),
        ]
    ),
)
def test_edges_are_those_of_the_slow_construction(scene: Scene, spec: TypedGraphSpec) -> None:
    graph = typed_graph(scene, spec)
    found = named(graph)
    assert len(found) == len(set(found))
    assert set(found) == slow_edges(scene, spec)
    assert graph.edges.tolist() == sorted(graph.edges.tolist())
    room = {i: int(r) for i, r in enumerate(rooms_of(scene)) if r >= 0}
    assert room == slow_rooms(scene)
    kept = [node.id for node in scene.nodes if node.type in spec.types]
    assert list(graph.ids) == kept


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(0, 60))
def test_pairs_are_found_whatever_the_sizes(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    nodes = [
        SceneNode(i, "object", position=random.normal(0, 3, 3), size=random.lognormal(-1, 1.5, 3)) for i in range(count)
    ]
    scene = Scene.of(nodes)
    assert set(named(typed_graph(scene))) == slow_edges(scene, TypedGraphSpec())


def test_objects_without_numbers_of_their_own_are_refused() -> None:
    with pytest.raises(InputError, match="per object"):
        native.nearby_pairs(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros(1, np.int64), 0.2, 1.5, 2.0)


@pytest.mark.parametrize(
    ("name", "in_rooms", "edges", "degrees", "width"),
    [
        ("hydra_gnn/x8F5xyUWy9e_0_gt_partial_dsg_600.json", 34, 63, (3.7, 10), 6),
        ("spark_dsg/apartment_dsg.json", 5, 1, (0.4, 1), 2),
        ("spark_dsg/apartment_igx_dsg.json", 27, 16, (1.2, 4), 3),
    ],
)
def test_public_files(
    data_root: Path, name: str, in_rooms: int, edges: int, degrees: tuple[float, int], width: int
) -> None:
    scene = read_scene(data_root / "dsg" / name)
    graph = typed_graph(scene)
    assert graph.counts == {kind: scene.counts[kind] for kind in ("object", "room")}
    assert graph.edge_counts["object", "in", "room"] == in_rooms
    room = rooms_of(scene)[scene.of_type("object")]
    among = graph.edges[(graph.node_type[graph.edges] == 0).all(1)]
    inside = among[room[among[:, 0]] >= 0]  # objects come first in these files
    assert len(inside) == edges
    degree = np.bincount(inside.ravel(), minlength=len(room))
    assert round(degree[room >= 0].mean(), 1) == degrees[0] and degree.max() == degrees[1]
    assert decompose(graph.graph, "exact", time_limit=20.0).width == width
    assert np.isfinite(graph.sizes).all() and (graph.sizes[graph.node_type == 1] > 1).all()


def test_a_small_flat() -> None:
    graph = typed_graph(parse_scene(json.dumps(flat((1, 1, 3)))))
    assert named(graph) == [
        (O, "in", R),  # the table, through its place
        (O + 1, "on", O),  # the cup on the table
        (O + 1, "in", R),
        (O + 2, "in", R + 1),  # the bed: its place has no room, the one beside it has
        (R, "adjacent", R + 1),
    ]
    room = graph.ids.index(R)
    assert graph.sizes[room].tolist() == [3.0, 2.0, 2.0]  # both places with the free space around them
    assert graph.labels.tolist() == [5, 40, 11, -1, 10, -1]


def test_a_room_without_places_extends_over_its_objects() -> None:
    nodes = [
        SceneNode("hall", "room"),
        SceneNode("empty", "room"),
        SceneNode("a", "object", position=(0, 0, 1), size=(2, 1, 2)),
        SceneNode("b", "object", position=(5, 2, 0.5)),
    ]
    graph = typed_graph(Scene.of(nodes, [("a", "hall"), ("b", "hall")]))
    assert graph.sizes[0].tolist() == [6.0, 2.5, 2.0] and graph.positions[0].tolist() == [2.0, 0.75, 1.0]
    assert np.isnan(graph.sizes[1]).all() and np.isnan(graph.positions[1]).all()


@settings(max_examples=50, deadline=None)
@given(scene=scenes())
def test_hetero_data_and_back(scene: Scene) -> None:
    graph = typed_graph(scene)
    back = TypedGraph.from_hetero(graph.to_hetero())
    order = [back.ids.index(name) for name in graph.ids]
    assert [back.types[back.node_type[i]] for i in order] == [graph.types[i] for i in graph.node_type]
    np.testing.assert_array_equal(back.positions[order], graph.positions)
    np.testing.assert_array_equal(back.sizes[order], graph.sizes)
    np.testing.assert_array_equal(back.labels[order], graph.labels)
    assert sorted(named(back)) == sorted(named(graph))


def test_moving_the_scene_changes_positions_alone() -> None:
    scene = building("grid", rooms=4)
    moved = [SceneNode(n.id, n.type, n.name, n.label, np.add(n.position, (64, -32, 8)), n.size) for n in scene.nodes]
    edges = [(scene.ids[a], scene.ids[b]) for a, b in scene.edges]
    one, other = typed_graph(scene), typed_graph(Scene.of(moved, edges))
    assert one.edges.tolist() == other.edges.tolist() and one.edge_relation.tolist() == other.edge_relation.tolist()
    np.testing.assert_allclose(one.sizes, other.sizes, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"types": ()}, "types as a tuple of words"),
        ({"types": ("object", "object")}, "distinct types"),
        ({"types": tuple(map(str, range(30)))}, "at most 24 types"),
        ({"near_factor": -1}, "near_factor as a number of at least 0"),
        ({"on_gap": float("nan")}, "on_gap as a number"),
        ({"near_gap": "2"}, "near_gap as a number"),
    ],
)
def test_bad_specs(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TypedGraphSpec(**arguments)  # type: ignore[arg-type]


def test_a_path_is_no_scene() -> None:
    with pytest.raises(InputError, match=r"Read a file first: read_scene\(path\)"):
        typed_graph("scene.json")  # type: ignore[arg-type]
