"""The page of a scene as text: what it holds, and that nothing in a scene can break out of it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraltrees.errors import InputError
from neuraltrees.scenes import (
    LabelState,
    NodeLabel,
    Scene,
    SceneNode,
    SceneTracker,
    TypedGraphSpec,
    read_scene,
    typed_tree,
)
from neuraltrees.viewing import SceneFrame, frames, scene_page, write_scene_page
from neuraltrees.viewing.positions import scene_positions
from tests.scenes.scenes import building, scenes

EVIL = '</script><script>alert(1)</script><!--"&\u2028'


def content(page: str) -> dict[str, Any]:
    (found,) = re.findall(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)
    parsed: dict[str, Any] = json.loads(found)
    return parsed


def flat() -> Scene:
    nodes = [
        SceneNode("bath", "room", position=(0, 0, 1)),
        SceneNode("hall", "room", position=(5, 0, 1)),
        SceneNode("tub", "object", position=(0.5, 0, 0.3), size=(1.7, 0.8, 0.6)),
        SceneNode("sink", "object", position=(0.2, 0.9, 0.8), size=(0.5, 0.4, 0.2)),
    ]
    return Scene.of(nodes, [("tub", "bath"), ("sink", "bath"), ("bath", "hall")])


def test_a_page_holds_nodes_edges_tree_and_rooms() -> None:
    scene = flat()
    found = content(scene_page(scene, title="Flat"))
    (frame,) = found["frames"]
    assert found["title"] == "Flat" and found["types"] == ["room", "object"]
    assert found["ids"] == ["bath", "hall", "tub", "sink"] and frame["nodes"] == [0, 1, 2, 3]
    assert found["rows"]["at"][6:9] == [0.5, 0.0, 0.3] and found["rows"]["size"][6:9] == [1.7, 0.8, 0.6]
    assert frame["room"] == [-1, -1, 0, 0]
    edges = {tuple(frame["edges"][i : i + 3]) for i in range(0, len(frame["edges"]), 3)}
    names = {(a, found["relations"][r], b) for a, b, r in edges}
    assert {(2, "in", 0), (3, "in", 0), (0, "adjacent", 1)} < names
    assert {frozenset((a, b)) for a, relation, b in names if relation in ("on", "under", "near")} == {frozenset((2, 3))}
    tree = typed_tree(scene).htree
    assert frame["tree"]["parent"] == tree.parent.tolist()
    # The page takes the bag of a tree node to be the nodes of the leaves below it.
    below: list[set[int]] = [{node} if node >= 0 else set() for node in frame["tree"]["node"]]
    for i in reversed(range(len(below))):
        if tree.parent[i] >= 0:
            below[int(tree.parent[i])] |= below[i]
    number = [scene.number[name] for name in typed_tree(scene).graph.ids]
    assert below == [{number[v] for v in tree.bag(i)} for i in range(tree.num_nodes)]


def test_labels_of_the_scene_itself() -> None:
    spaces = {"labelspaces": {"_l2p0": [[3, "chair"]]}}
    likely = {"semantic_class_probabilities": {"kitchen": 0.7, "bath": 0.3, "\ud800": 0.1, "cave": "no", "den": 7}}
    scene = Scene.of(
        [
            SceneNode(1, "room", name="R(1)", attributes=likely),
            SceneNode(2, "object", name="O(2)", label=3),
            SceneNode(3, "object", name="lamp"),
            SceneNode(4, "object", name="O(4)", label=9),
        ],
        metadata={"metadata": spaces},
    )
    found = content(scene_page(scene, tree=False))
    (state,) = found["frames"][0]["states"]
    names = {node: (found["labels"][label], sure) for node, label, sure, _, _ in state["labels"]}
    assert names == {0: ("kitchen", 0.7), 1: ("chair", None), 2: ("lamp", None)}
    others = [(found["labels"][label], p) for label, p in state["labels"][0][4]]
    assert others == [("kitchen", 0.7), ("bath", 0.3), ("\ufffd", 0.1)]


def test_states_keep_the_labels_that_they_do_not_mention() -> None:
    scene = Scene.of([SceneNode(1, "room", name="den"), SceneNode(2, "object", name="lamp")], [(2, 1)])
    before = LabelState("before", {1: NodeLabel("attic", probabilities={"attic": 0.6, "den": 0.4})})
    after = LabelState("after", {1: NodeLabel("den", probabilities={"den": 1.0})}, confirmed={1})
    found = content(scene_page(scene, labels=[before, after]))
    states = found["frames"][0]["states"]
    named = [
        [(node, found["labels"][label], sure, sealed) for node, label, sure, sealed, _ in s["labels"]] for s in states
    ]
    assert [state["name"] for state in states] == ["before", "after"]
    assert named == [[(0, "attic", 0.6, 0), (1, "lamp", None, 0)], [(0, "den", 1.0, 1), (1, "lamp", None, 0)]]


def test_a_node_that_stays_the_same_is_stored_once() -> None:
    scene = flat()
    tracker = SceneTracker(scene)
    first = SceneFrame(tracker.scene, "one", tree=tracker.tree)
    tracker.update([SceneNode("lamp", "object", position=(5, 1, 2))], [("lamp", "hall")], deleted_nodes=["sink"])
    found = content(scene_page([first, tracker]))
    one, two = found["frames"]
    assert [frame["name"] for frame in (one, two)] == ["one", "2"]
    shared = set(one["nodes"]) & set(two["nodes"])
    # The room of the sink is smaller without it; the hall has a lamp, and so an extent.
    assert {found["ids"][found["rows"]["id"][row]] for row in shared} == {"tub"}
    assert {found["ids"][found["rows"]["id"][row]] for row in two["nodes"]} == {"bath", "hall", "tub", "lamp"}
    assert two["tree"]["parent"] == typed_tree(tracker.scene).htree.parent.tolist()


def test_ids_that_look_alike_are_two_nodes() -> None:
    found = content(scene_page(Scene.of([SceneNode(7, "room"), SceneNode("7", "room")]), tree=False))
    assert found["ids"] == ["7", "7"] and found["rows"]["id"] == [0, 1]


def test_nothing_in_a_scene_can_break_out_of_the_page() -> None:
    scene = Scene.of(
        [SceneNode(EVIL, "room", name=EVIL), SceneNode("b", EVIL, name="\ud800 lone")], [("b", EVIL, EVIL)]
    )
    state = LabelState(EVIL, {EVIL: NodeLabel(EVIL, probabilities={EVIL: 0.5})})
    page = scene_page(SceneFrame(scene, name=EVIL), labels=state, title=EVIL + "@@CONTENT@@\ud800")
    # As many elements as the page of a harmless scene has, with the same policy.
    harmless = scene_page(Scene.of([SceneNode("a", "room")]))
    for part in ("<script", "</script", "<!--", "alert(1)</script", "<meta", "<style"):
        assert page.count(part) == harmless.count(part), part
    found = content(page)
    assert found["ids"][0] == found["rows"]["name"][0] == found["labels"][0] == EVIL
    assert found["title"] == EVIL + "@@CONTENT@@\ud800"
    page.encode("utf-8")


def test_the_policy_allows_the_script_and_the_style_of_the_page_and_nothing_else() -> None:
    page = scene_page(flat())
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)

    def allowed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules == {
        "default-src": "'none'",
        "script-src": allowed(script),
        "style-src": allowed(style),
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    addresses = re.findall(
        r"(?:src|href)=[\"']?([^\"' >]+)", re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    )
    assert addresses == ["data:,"]


def test_2000_nodes_fit_in_2_megabytes() -> None:
    scene = building("grid", 125, 15)
    assert scene.num_nodes == 2000
    page = scene_page(scene)
    assert len(page.encode()) <= 2_000_000
    # Ten probabilities per node, before and after.
    likely = {f"label number {i}": 0.1 for i in range(10)}
    labels = {name: NodeLabel("label number 3", probabilities=likely) for name in scene.ids}
    page = scene_page(scene, labels=[LabelState("before", labels), LabelState("after", labels)])
    assert len(page.encode()) <= 2_000_000


def test_nodes_without_a_position_are_drawn_beside_their_neighbours() -> None:
    known = SceneNode("a", "object", position=(10, 0, 0), size=(1, 1, 1))
    scene = Scene.of(
        [known, SceneNode("b", "object"), SceneNode("c", "object"), SceneNode("d", "object")], [("a", "b"), ("b", "c")]
    )
    at, unknown = scene_positions(scene, scene.box_centres)
    assert unknown == 3 and np.isfinite(at).all()
    assert len({tuple(row) for row in at.round(6).tolist()}) == 4
    assert np.linalg.norm(at[1] - at[0]) < 2 and np.linalg.norm(at[2] - at[0]) < 3
    assert content(scene_page(scene))["frames"][0]["note"] == "3 without a position"


@pytest.mark.parametrize("count", [1, 30, 700])
def test_scenes_without_any_position_are_laid_out(count: int) -> None:
    scene = Scene.of([SceneNode(i, "object") for i in range(count)], [(i, i + 1) for i in range(count - 1)])
    at, unknown = scene_positions(scene, scene.box_centres)
    assert unknown == count and np.isfinite(at).all() and len(np.unique(at, axis=0)) == count


def test_layers() -> None:
    scene = Scene.of(
        [SceneNode("r", "room"), SceneNode("p", "place"), SceneNode("o", "object")], [("o", "p"), ("p", "r")]
    )
    found = content(scene_page(scene, layers=["room", "object"]))
    assert found["types"] == ["room", "object"] and len(found["frames"][0]["nodes"]) == 2
    assert found["frames"][0]["room"] == [-1, 0] and found["frames"][0]["edges"] == [1, 0, 0]
    # The tree is that of the whole scene, in which the place says which room the object is in.
    assert max(found["frames"][0]["tree"]["node"]) == 1 and len(found["frames"][0]["tree"]["parent"]) == 3
    assert content(scene_page(scene, layers=["place"]))["frames"][0]["tree"] is None
    both = content(scene_page(scene, layers=["place", "object"]))
    assert both["frames"][0]["room"] == [-1, -1] and both["frames"][0]["edges"][:2] == [1, 0]
    with pytest.raises(InputError, match="Expected layers out of room, place, object; got door"):
        scene_page(scene, layers=["door"])
    with pytest.raises(
        InputError, match=r"Expected layers out of room, place, object; got objct. Did you mean object\?"
    ):
        scene_page(scene, layers=["room", "objct"])
    with pytest.raises(InputError, match=r"got room. Put it in brackets."):
        scene_page(scene, layers="room")


def test_a_layer_that_comes_later() -> None:
    room, tub = SceneNode("r", "room"), SceneNode("o", "object")
    found = content(scene_page([Scene.of([room]), Scene.of([room, tub])], layers=["object"]))
    assert [len(frame["nodes"]) for frame in found["frames"]] == [0, 1]


def test_mistakes() -> None:
    scene = flat()
    for wrong in (7, [scene, "scene.json"]):
        with pytest.raises(InputError, match="Expected scenes as Scene, SceneTracker or SceneFrame"):
            scene_page(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one scene"):
        scene_page([])
    with pytest.raises(InputError, match="got 'cellar'"):
        scene_page(scene, labels={"cellar": NodeLabel("cellar")})
    with pytest.raises(InputError, match="tree of the scene"):
        SceneFrame(Scene.of([SceneNode("a", "room")]), tree=typed_tree(scene))
    with pytest.raises(InputError, match="LabelState"):
        scene_page(scene, labels=["kitchen"])  # type: ignore[list-item]


def test_a_tree_that_is_too_large_says_how_to_go_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MOST_TREE_NODES", 3)
    with pytest.raises(InputError, match=r"at most 3 nodes to draw; got a graph of width .* without it: tree=False"):
        scene_page(flat())
    assert content(scene_page(flat(), tree=False))["frames"][0]["tree"] is None


def test_a_scene_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MOST_NODES", 3)
    with pytest.raises(InputError, match=r"at most 3 nodes to draw; got 4. Show some of its layers"):
        scene_page(flat(), tree=False)
    scene_page(flat(), layers=["room"])


@settings(max_examples=40, deadline=None)
@given(scene=scenes(), tree=st.booleans())
def test_any_scene_becomes_a_page(scene: Scene, tree: bool) -> None:
    found = content(scene_page(scene, tree=tree, spec=TypedGraphSpec()))
    (frame,) = found["frames"]
    assert len(frame["nodes"]) == len(frame["room"]) == scene.num_nodes
    assert len(found["rows"]["at"]) == len(found["rows"]["size"]) == 3 * scene.num_nodes
    assert all(isinstance(value, float) for value in found["rows"]["at"])
    assert max(frame["edges"][::3] + frame["edges"][1::3], default=-1) < scene.num_nodes


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("hydra_gnn/x8F5xyUWy9e_0_gt_partial_dsg_600.json", 873),
        ("spark_dsg/apartment_dsg.json", 296),
        ("spark_dsg/apartment_igx_dsg.json", 1160),
    ],
)
def test_shared_scenes(data_root: Path, tmp_path: Path, name: str, nodes: int) -> None:
    write_scene_page(read_scene(data_root / "dsg" / name), tmp_path / "view.html", title=name)
    page = (tmp_path / "view.html").read_text("utf-8")
    found = content(page)
    assert len(found["frames"][0]["nodes"]) == nodes and len(page.encode()) <= 2_000_000
    assert found["types"] == ["building", "room", "place", "object", "agent"]
