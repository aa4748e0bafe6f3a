"""States of labels from files and by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from neuraltrees.errors import InputError, ParseError
from neuraltrees.scenes import NodeLabel, Scene, SceneNode
from neuraltrees.scenes.label_states import LabelState, read_label_states


def read(tmp_path: Path, content: Any) -> tuple[LabelState, ...]:
    path = tmp_path / "labels.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_label_states(path)


@pytest.mark.parametrize("wrapped", [False, True])
def test_labels_of_one_moment(tmp_path: Path, wrapped: bool) -> None:
    labels = {
        "7": "kitchen",
        "8": {"name": "bath", "probabilities": {"bath": 0.9, "den": 0.1}, "confirmed": True},
        "9": {"probabilities": {"bath": 0.2, "den": 0.8}, "confirmed": False},
    }
    (state,) = read(tmp_path, {"labels": labels} if wrapped else labels)
    assert state.name == "labels" and state.confirmed == {"8"}
    assert {node: label.name for node, label in state.labels.items()} == {"7": "kitchen", "8": "bath", "9": "den"}
    assert state.labels["8"].probabilities == {"bath": 0.9, "den": 0.1} and state.labels["7"].probabilities is None


def test_several_states_in_order(tmp_path: Path) -> None:
    found = read(tmp_path, {"states": [{"name": "before", "labels": {"a": "x"}}, {"name": "after", "labels": {}}]})
    assert [state.name for state in found] == ["before", "after"]


def test_ids_of_files_are_those_of_the_scene() -> None:
    big = 5692549928996306944
    nodes = [SceneNode(big, "room"), SceneNode("7", "room", name="den"), SceneNode(8, "room", name="den")]
    scene = Scene.of([*nodes, SceneNode(9, "room", name="7"), SceneNode(10, "room", name="attic")])
    labels: dict[int | str, NodeLabel] = {name: NodeLabel("den") for name in (str(big), "7", 8, "attic")}
    state = LabelState("labels", labels, confirmed={str(big), "attic"}).of_ids([scene, Scene.of(nodes)])
    assert set(state.labels) == {big, "7", 8, 10} and state.confirmed == {big, 10}
    for wrong, message in (
        (["11"], "by a name that one node has; got '11'."),
        (["den"], "got 'den'; 2 nodes have this name."),
        (["8", 8], "one label per node; got two for node 8"),
        (["attic", "10"], "one label per node; got two for node 10"),
    ):
        with pytest.raises(InputError, match=message):
            LabelState("labels", {name: NodeLabel("den") for name in wrong}).of_ids([scene])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "Expected complete JSON"),
        ([1], "expected labels as"),
        ({"states": []}, "at least one state"),
        ({"states": [7]}, "state 1: expected a state as"),
        ({"states": [{"name": 7, "labels": {}}]}, "name of a state as text"),
        ({"states": [{"name": "a", "labels": []}]}, "expected a state as"),
        ({"7": 5}, "expected the label of node '7'"),
        ({"7": {}}, "expected the label of node '7'"),
        ({"7": {"probabilities": [1]}}, "probabilities of node '7' by label"),
        ({"7": {"probabilities": {"den": 1.5}}}, "from 0 to 1"),
        ({"7": {"probabilities": {"den": "much"}}}, "from 0 to 1"),
        ({"7": {"name": "den", "label": -1}}, "number of a label"),
    ],
)
def test_mistakes_in_files(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(ParseError, match=message) as error:
        read(tmp_path, content)
    assert "labels.json" in str(error.value)


def test_mistakes_by_hand() -> None:
    with pytest.raises(InputError, match="labels as NodeLabel; got str"):
        LabelState("a", {7: "den"})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="name of a state"):
        LabelState(7, {})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="by the id of the node"):
        LabelState("a", [])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="got none for 8"):
        LabelState("a", {}, confirmed={8})
