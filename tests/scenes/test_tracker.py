"""A tracked scene has the tree of a rebuild, whatever happens to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraltrees.errors import InputError
from neuraltrees.scenes import (
    LabelSpace,
    Scene,
    SceneEdge,
    SceneNode,
    SceneTracker,
    TypedGraphSpec,
    read_scene,
    typed_graph,
    typed_tree,
)
from tests.scenes.scenes import SIZE, TRIPLE, TYPES, building, scenes


def check(tracker: SceneTracker) -> None:
    rebuilt = typed_tree(typed_graph(tracker.scene, tracker.spec))
    tree = tracker.tree
    assert tree == rebuilt
    tree.htree.validate(tree.graph.graph)


@settings(max_examples=200, deadline=None)
@given(
    scene=scenes(),
    spec=st.sampled_from(
        [TypedGraphSpec(), TypedGraphSpec(("room", "object")), TypedGraphSpec(("object", "building"))]
    ),
    data=st.data(),
)
def test_random_edits(scene: Scene, spec: TypedGraphSpec, data: Any) -> None:
    tracker = SceneTracker(scene, spec)
    check(tracker)
    name = 1000
    for _ in range(data.draw(st.integers(1, 6))):
        for _ in range(data.draw(st.integers(1, 3))):
            ids = list(tracker.scene.ids)
            edit = data.draw(st.sampled_from(["add", "change", "delete", "join", "join", "part"]))
            if edit == "add" or not ids:
                name += 1
                node = SceneNode(
                    name, data.draw(st.sampled_from(TYPES)), position=data.draw(TRIPLE), size=data.draw(SIZE)
                )
                joined = (
                    [(name, other) for other in data.draw(st.lists(st.sampled_from(ids), max_size=2, unique=True))]
                    if ids
                    else []
                )
                tracker.update([node], joined)
                continue
            one = data.draw(st.sampled_from(ids))
            if edit == "change":
                old = tracker.scene[one]
                kind = data.draw(st.sampled_from([old.type, old.type, *TYPES]))
                tracker.update([SceneNode(one, kind, position=data.draw(TRIPLE), size=data.draw(SIZE))])
            elif edit == "delete":
                tracker.update(deleted_nodes=[one])
            elif edit == "join" and len(ids) > 1:
                other = data.draw(st.sampled_from([each for each in ids if each != one]))
                tracker.update(edges=[SceneEdge(one, other, data.draw(st.sampled_from(["in", "adjacent", "beside"])))])
            elif tracker.scene.num_edges:
                ends = data.draw(st.sampled_from(tracker.scene.edges.tolist()))
                tracker.update(deleted_edges=[tuple(tracker.scene.ids[end] for end in ends)])
        check(tracker)


def test_only_the_changed_room_is_rebuilt() -> None:
    tracker = SceneTracker(building("grid", rooms=9, objects=6))
    check(tracker)
    old = tracker.scene["object 4.2"]
    tracker.update([SceneNode(old.id, old.type, position=np.add(old.position, (0.3, 0.1, 0)), size=old.size)])
    check(tracker)
    assert tracker.rebuilt == ("room 4",)
    tracker.update(edges=[("object 4.2", "room 5")], deleted_edges=[("object 4.2", "room 4")])
    check(tracker)
    assert tracker.rebuilt == ("room 4", "room 5")
    tracker.update(deleted_nodes=["room 7"])
    check(tracker)
    assert set(tracker.rebuilt) >= {None} and "room 0" not in tracker.rebuilt
    assert tracker.tree is tracker.tree


def test_objects_that_are_joined_across_rooms() -> None:
    tracker = SceneTracker(building("path", rooms=4, objects=4))
    tracker.update(edges=[SceneEdge("object 0.0", "object 2.1", "same as")])
    check(tracker)
    tracker.update(deleted_edges=[("object 0.0", "object 2.1")])
    check(tracker)
    tracker.update(edges=[("object 1.0", "room 3")])
    check(tracker)


def test_deleted_nodes_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuraltrees.scenes.tracker.SPARE_SLOTS", 5)
    tracker = SceneTracker(building("path", rooms=3, objects=3))
    for i in range(40):
        tracker.update(
            [SceneNode(f"new {i}", "object", position=(i % 3, 0, 1), size=(1, 1, 1))], [(f"new {i}", "room 1")]
        )
        if i:
            tracker.update(deleted_nodes=[f"new {i - 1}"])
        check(tracker)
    assert tracker.tree.graph.num_nodes == 13 and len(tracker._live.nodes) <= 2 * 13 + 6


def test_a_public_map_that_grows(data_root: Any) -> None:
    whole = read_scene(data_root / "dsg" / "spark_dsg" / "apartment_igx_dsg.json")
    tracker = SceneTracker()
    nodes = [node for node in whole.nodes if node.type != "agent"]
    here = {node.id for node in nodes}
    edges = [
        SceneEdge(whole.ids[a], whole.ids[b], whole.relations[kind])
        for (a, b), kind in zip(whole.edges.tolist(), whole.edge_relation.tolist(), strict=True)
        if {whole.ids[a], whole.ids[b]} <= here
    ]
    done: set[Any] = set()
    for start in range(0, len(nodes), 60):
        new = nodes[start : start + 60]
        done |= {node.id for node in new}
        ready = [edge for edge in edges if {edge.source, edge.target} <= done]
        tracker.update(new, ready)
        edges = [edge for edge in edges if edge not in set(ready)]
        check(tracker)
    assert not edges and tracker.tree.graph.edge_counts == typed_graph(whole).edge_counts


def test_mistakes() -> None:
    tracker = SceneTracker(Scene.of([SceneNode("a", "room"), SceneNode("b", "object")]))
    with pytest.raises(InputError, match="id of a node of the scene; got 'c'"):
        tracker.update(deleted_nodes=["c"])
    with pytest.raises(InputError, match="Expected an edge between 'a' and 'b' to delete"):
        tracker.update(deleted_edges=[("a", "b")])
    with pytest.raises(InputError, match="from 'a' to itself"):
        tracker.update(edges=[("a", "a")])
    with pytest.raises(InputError, match="position of node 'd'"):
        tracker.update([SceneNode("d", "room", position=(1, 2))])
    with pytest.raises(InputError, match="Expected a Scene; got str"):
        SceneTracker("scene.json")  # type: ignore[arg-type]
    check(tracker)


def test_the_metadata_of_the_first_scene_stay() -> None:
    spaces = {"metadata": {"labelspaces": {"_l4p0": [[7, "bath"]]}}}
    scene = Scene.of([SceneNode("r", "room", label=7)], metadata=spaces)
    tracker = SceneTracker(scene)
    for i in range(2001):  # so that slots of deleted nodes are given up in between
        tracker.update([SceneNode(i, "object")], [(i, "r")])
        tracker.update(deleted_nodes=[i])
    assert tracker.tree.graph.ids == ("r",)
    assert tracker.scene.metadata == tracker.typed_scene.metadata == spaces
    assert LabelSpace.of_scene(tracker.scene, "room").name_of_number(7) == "bath"
