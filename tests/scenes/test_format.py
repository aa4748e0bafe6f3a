"""What a network reads of scenes: features per type, labels by name, relations by name."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from neuraltrees.errors import InputError
from neuraltrees.nn.encoder import Categories
from neuraltrees.scenes import LabelSpace, Scene, SceneEdge, SceneFormat, SceneNode, TypedGraphSpec, scene_task
from tests.scenes.scenes import building

ROOMS = LabelSpace(["kitchen", "bath"], {7: "kitchen", 9: "bath"})
THINGS = LabelSpace(["oven", "tub"], {1: "oven", 2: "tub"}, {"stove": "oven"})


def flat() -> Scene:
    nodes = [
        SceneNode("k", "room", label=7, position=(0, 0, 1), size=(3, 3, 2), box_centre=(1, 0, 1)),
        SceneNode("o", "object", name="Stove", position=(1, 0, 0.5), size=(1, 1, 1), embedding=[0.5, 0.25]),
        SceneNode("x", "object", label=77, position=(-1, 0, 0.5)),
        SceneNode("n", "object", position=(-1, 1, 0.5), size=(2, 1, 1)),
    ]
    return Scene.of(nodes, [("o", "k"), ("x", "k"), SceneEdge("n", "k", "hangs in")])


def form(targets: tuple[str, ...]) -> SceneFormat:
    return SceneFormat({"object": THINGS, "room": ROOMS}, targets, embeddings={"object": 2})


def test_features_of_what_is_learned_have_no_labels() -> None:
    data = form(("object", "room")).graph(flat())
    # Nodes in the order of the scene: room, then objects. Boxes: sizes, whether known, centre less position.
    expected = [
        [math.log(3), math.log(3), math.log(2), 1, math.log(2), 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 0, 0, 0, 0.5, 0.25, 1],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [math.log(2), 0, 0, 1, 0, 0, 0, 0, 0, 0],
    ]
    assert torch.allclose(data.x, torch.tensor(expected))
    assert data.y.tolist() == [0, 0, 2, -1]  # the stove is an oven, number 77 is unknown


def test_other_types_have_their_labels_as_features() -> None:
    names = LabelSpace(["oven", "tub"], synonyms={"stove": "oven"})
    rooms = SceneFormat({"object": names, "room": ROOMS}, ("room",), embeddings={"object": 2})
    assert rooms.features == {"object": Categories((4,), numbers=10), "room": 7}
    data = rooms.graph(flat())
    assert data.x[1:, 0].tolist() == [0, 2, 3]  # oven by a synonym, unknown, and no label
    assert data.y.tolist() == [0, -1, -1, -1]
    assert rooms.objective.labels == {"object": ("object",), "room": ("kitchen", "bath", "unknown")}


def test_relations_by_name() -> None:
    scene = flat()
    found = SceneFormat.of_scenes([scene], {"object": THINGS, "room": ROOMS})
    assert found.relations == ("on", "under", "near", "in", "adjacent", "hangs in")
    known = found.graph(scene)
    assert sorted(known.scene_relation.tolist())[-3:] == [3, 3, 5]
    # To a network that never saw it, it is another relation.
    assert sorted(form(("room",)).graph(scene).scene_relation.tolist())[-3:] == [3, 3, 5]
    assert form(("room",)).num_relations == 6 and found.num_relations == 7


def test_numbers_mean_what_the_scene_says() -> None:
    spaces = {"labelspaces": {"_l2p0": [[5, "tub"], [6, "oven"]], "_l4p0": [[0, "bath"]]}}
    nodes = [SceneNode(1, "object", label=6), SceneNode(2, "object", label=5), SceneNode(3, "room", label=0)]
    scene = Scene.of(nodes, [(1, 3), (2, 3)], {"metadata": spaces})
    assert form(("object", "room")).graph(scene).y.tolist() == [0, 1, 1]
    own = SceneFormat.of_scenes([scene])
    assert own.labels["object"].names == ("tub", "oven", "unknown") and own.labels["object"].number("oven") == 6


def test_formats_of_scenes() -> None:
    assert SceneFormat.of_scenes([building("path", 2, 3)]).targets == ("object",)
    with pytest.raises(InputError, match="Expected scenes with labels of object, room; got none"):
        SceneFormat.of_scenes([Scene.of([SceneNode(0, "room", name="R(0)")])])
    named = SceneFormat.of_scenes([Scene.of([SceneNode(0, "room", name="R(0)"), SceneNode(1, "room", name="bath")])])
    assert named.labels["room"].names == ("bath", "unknown")
    assert named.graph(Scene.of([SceneNode(0, "room", name="R(0)"), SceneNode(1, "room", name="x")])).y.tolist() == [
        -1,
        1,
    ]
    sizes = [SceneNode(0, "object", label=1, embedding=[1.0]), SceneNode(1, "object", embedding=[1.0, 2.0])]
    with pytest.raises(InputError, match=r"embeddings of one size for object nodes; got sizes \[1, 2\]"):
        SceneFormat.of_scenes([Scene.of(sizes)])
    with pytest.raises(InputError, match="Expected a LabelSpace for each of object, room"):
        SceneFormat({"object": THINGS}, ("object",))
    with pytest.raises(InputError, match="Expected targets out of object, room"):
        SceneFormat({"object": THINGS, "room": ROOMS}, ("place",))


def test_a_format_is_kept_as_plain_values() -> None:
    spec = TypedGraphSpec(("object", "room"), near_gap=1.0)
    here = SceneFormat({"object": THINGS, "room": ROOMS}, ("room",), spec, ("in", "left of"), {"room": 3}, False)
    there = SceneFormat.from_dict(here.as_dict())
    assert there.as_dict() == here.as_dict() and there.labels == here.labels and there.spec == spec


def test_several_scenes_at_once() -> None:
    scenes = [building("grid", 4, 5), building("path", 3, 4, seed=2), flat()]
    both = form(("object", "room"))
    union, apart = both.union(scenes), [both.graph(scene) for scene in scenes]
    assert torch.equal(union.x, torch.cat([data.x for data in apart]))
    assert union.batch.bincount().tolist() == [data.num_nodes for data in apart]
    assert union.tree_level.shape[0] == sum(data.tree_level.shape[0] for data in apart)


def test_known_labels() -> None:
    scene, both = flat(), form(("object", "room"))
    graph = both.typed_graph(scene)
    assert both.known(scene, graph, {"k": "bath", "x": "Stove"}).tolist() == [1, -1, 0, -1]
    for labels, message in (
        ({"k": "cave"}, "Expected a room label for node 'k'; got 'cave'. Labels are kitchen, bath"),
        ({"z": "bath"}, "got one of 'z', which the scene does not have"),
    ):
        with pytest.raises(InputError, match=message):
            both.known(scene, graph, labels)
    with pytest.raises(InputError, match="Expected known labels of room nodes; got one of 'o'"):
        form(("room",)).known(scene, graph, {"o": "oven"})


def test_tasks_of_scenes() -> None:
    task = scene_task([flat()], form(("object", "room")))
    assert task.inputs is not None and task.types == ("object", "room")
    assert np.array_equal(task.node_type.numpy(), [1, 0, 0, 0])
    with pytest.raises(InputError, match="Expected at least one scene"):
        scene_task([])
