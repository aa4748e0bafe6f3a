"""Scenes made by hand and from `HeteroData`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import HeteroData

from neuraltrees.errors import InputError
from neuraltrees.scenes import Scene, SceneEdge, SceneNode, hetero_of_scene, parse_scene
from tests.scenes.spark_files import flat


def small_scene() -> Scene:
    nodes = [
        SceneNode("kitchen", "room", position=(0, 0, 1)),
        SceneNode("oven", "object", "my oven", 3, (1, 0, 0.5), (0.6, 0.6, 0.9), embedding=[1.0, 2.0]),
        SceneNode(7, "object"),
    ]
    return Scene.of(nodes, [("oven", "kitchen"), SceneEdge("oven", 7, "near")])


def test_a_scene_by_hand() -> None:
    scene = small_scene()
    assert repr(scene) == "Scene(3 nodes: 1 room, 2 object; 2 edges)"
    assert scene.relations == ("in", "near") and scene.edges.tolist() == [[1, 0], [1, 2]]
    assert scene.labels.tolist() == [-1, 3, -1] and scene.of_type("place").tolist() == []
    assert repr(scene["oven"]) == "SceneNode('oven', 'object', name='my oven', label=3)"
    assert scene.box_centres[1].tolist() == [1, 0, 0.5] and np.isnan(scene.box_centres[0]).all()
    assert scene[7].position is None and scene[7].size is None
    with pytest.raises(InputError, match="id of a node of the scene; got 'bath'"):
        scene["bath"]


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ([SceneNode("a", "room"), SceneNode("a", "room")], [], "distinct ids; got 'a' twice"),
        ([SceneNode(True, "room")], [], "numbers or names; got True"),
        ([SceneNode("a", "")], [], "type of node 'a' as a word"),
        ([SceneNode("a", "room", name=3)], [], "name of node 'a' as text"),
        ([SceneNode("a", "room", label=-3)], [], "label of node 'a'"),
        ([SceneNode("a", "room", position=(1, 2))], [], "position of node 'a' as 3 finite numbers"),
        ([SceneNode("a", "room", position=(1, 2, float("inf")))], [], "position of node 'a' as 3 finite numbers"),
        ([SceneNode("a", "room", size=(1, 2, 1e300))], [], "at most 1e\\+09 metres"),
        ([SceneNode("a", "room", size=(1, 2, -1))], [], "size of node 'a' to be at least 0"),
        ([SceneNode("a", "room", embedding=[float("nan")])], [], "flat vectors of finite numbers"),
        (["a"], [], "nodes as SceneNode; got str"),
        ([SceneNode("a", "room")], [("a", "b")], "got 'b', which is none of them"),
        ([SceneNode("a", "room")], [("a", "a")], "from 'a' to itself"),
        ([SceneNode("a", "room")], ["a"], "edges as SceneEdge"),
        ([SceneNode("a", "room"), SceneNode("b", "room")], 2 * [("a", "b")], "Expected distinct edges"),
    ],
)
def test_mistakes_in_scenes_by_hand(nodes: list[Any], edges: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Scene.of(nodes, edges)


@pytest.mark.parametrize("scene", [small_scene(), parse_scene(json.dumps(flat()))], ids=["by hand", "from a file"])
def test_hetero_data_and_back(scene: Scene) -> None:
    back = Scene.from_hetero(hetero_of_scene(scene))
    assert sorted(map(str, back.ids)) == sorted(map(str, scene.ids))
    for node in scene.nodes:
        again = back[node.id]
        assert (again.type, again.name, again.label) == (node.type, node.name, node.label)
        for one, other in (
            (again.position, node.position),
            (again.size, node.size),
            (again.box_centre, node.box_centre),
            (again.embedding, node.embedding),
        ):
            assert (one is None) == (other is None)
            assert one is None or np.array_equal(one, other)

    def named(given: Scene) -> set[tuple[Any, ...]]:
        pairs = zip(given.edges.tolist(), given.edge_relation.tolist(), strict=True)
        return {(given.ids[a], given.relations[kind], given.ids[b]) for (a, b), kind in pairs}

    assert named(back) == named(scene)


def test_hetero_data_of_others() -> None:
    data = HeteroData()
    data["objects"].pos, data["objects"].x = torch.zeros(2, 3), torch.ones(2, 306)
    data["rooms"].pos = torch.tensor([[1.0, float("nan"), 0.0]])
    data["objects", "objects_to_rooms", "rooms"].edge_index = torch.tensor([[0, 1], [0, 0]])
    scene = Scene.from_hetero(data)
    assert scene.counts == {"object": 2, "room": 1} and scene.ids == ("object_0", "object_1", "room_0")
    assert scene["room_0"].position is None and scene.relations == ("objects_to_rooms",)
    assert scene.report.remarks == ("Not read: x of objects",)
    data["rooms"].label = torch.zeros(5)
    with pytest.raises(InputError, match="label of rooms for each of 1 nodes; got 5"):
        Scene.from_hetero(data)
    with pytest.raises(InputError, match="Expected a HeteroData; got dict"):
        Scene.from_hetero({})


@pytest.mark.parametrize("edge", [([1], 2), (1, None), (1, [2], "on"), (True, 2)])
def test_ends_of_edges_that_are_no_ids(edge: Any) -> None:
    with pytest.raises(InputError, match="Expected the ends of edges as ids of nodes, numbers or names; got"):
        Scene.of([SceneNode(1, "room"), SceneNode(2, "object")], [edge])


def test_the_id_that_comes_twice_is_named() -> None:
    with pytest.raises(InputError, match="Expected nodes of distinct ids; got 'b' twice"):
        Scene.of([SceneNode(name, "room") for name in "abcb"])
