"""Labels of scenes as bytes: equal to those that are written node by node."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraltrees._core import native
from neuraltrees.errors import InputError
from neuraltrees.scenes import NodeLabel, Scene, SceneNode
from neuraltrees.scenes.shares import Shares
from neuraltrees.scenes.spark_columns import message_of_json, read_json_columns
from neuraltrees.serving.server.label_texts import labelled_json, labels_as_json
from tests.oracle.label_texts import labelled_values, labels_as_values
from tests.scenes.spark_files import flat

SHARE = st.floats(0, 1)
NAMES = ("kitchen", 'say "é"', "bath\n")


def label_of(kind: str, name: str, number: int | None, shares: list[float]) -> NodeLabel:
    if kind == "none":
        return NodeLabel(name, number)
    if kind == "mapping":
        return NodeLabel(name, number, dict(zip(NAMES, shares, strict=True)))
    places = {each: place for place, each in enumerate(NAMES)}
    return NodeLabel.trusted(name, number, Shares(places, np.array(shares)))


LABEL = st.builds(
    label_of,
    st.sampled_from(["none", "mapping", "shares"]),
    st.sampled_from(NAMES),
    st.none() | st.integers(0, 2**32 - 1),
    st.lists(SHARE, min_size=3, max_size=3),
)


@settings(deadline=None, max_examples=100)
@given(st.dictionaries(st.integers(0, 2**64 - 1) | st.text(max_size=4), LABEL, max_size=6), st.integers(1, 4))
def test_labels_as_json(labels: dict[Any, NodeLabel], top: int) -> None:
    scene = Scene.of([SceneNode(node_id, ("room", 'a "b"')[i % 2]) for i, node_id in enumerate(labels)])
    assert json.loads(labels_as_json(scene, labels, top)) == labels_as_values(scene, labels, top)


@settings(deadline=None, max_examples=100)
@given(st.dictionaries(st.integers(0, 11), LABEL), st.sampled_from([{}, {"indent": 1}, {"separators": (",", ":")}]))
def test_labelled_json(by_place: dict[int, NodeLabel], style: dict[str, Any]) -> None:
    content = flat((1, 1, 3))
    content["nodes"][1]["attributes"]["semantic_class_probabilities"] = {"cup": 1.0}
    labels = {content["nodes"][place]["id"]: label for place, label in by_place.items()}
    body = json.dumps(content, **style).encode()
    columns = read_json_columns(body)
    assert columns is not None
    message = message_of_json(body, columns)
    assert message is not None
    written = labelled_json(message, labels)
    assert json.loads(written) == labelled_values(content, labels)
    assert labels or written == body


def test_probabilities_that_are_no_numbers() -> None:
    label = NodeLabel.trusted("bath", 1, Shares({"bath": 0, "hall": 1}, np.array([np.nan, np.inf])))
    scene = Scene.of([SceneNode(1, "room")])
    (entry,) = json.loads(labels_as_json(scene, {1: label}, 2))["nodes"]
    assert np.isnan(entry["probability"])
    assert np.isinf(entry["top"][0]["probability"])


def test_native_texts_check_their_arguments() -> None:
    rows, one = np.array([[0.5, 0.5]]), np.array([0])
    assert native.probability_texts(['"a"', '"b"'], rows) == [b'{"a":0.5,"b":0.5}']
    with pytest.raises(InputError, match="columns"):
        native.probability_texts(['"a"'], rows)
    with pytest.raises(InputError, match="per row"):
        native.label_texts([], ['"a"', '"b"'], rows, one, one[:, None])
    with pytest.raises(InputError, match="places"):
        native.label_texts(["{"], ['"a"', '"b"'], rows, one + 2, one[:, None])
    assert native.spliced(b"abc", np.array([0, 1]), np.array([0, 2]), [b"x", b"y"]) == b"xayc"
    for start, stop in (([1, 0], [1, 0]), ([0, 1], [2, 2]), ([0, 1], [0, 9])):
        with pytest.raises(InputError, match="edits"):
            native.spliced(b"abc", np.array(start), np.array(stop), [b"", b""])
    with pytest.raises(InputError, match="per edit"):
        native.spliced(b"abc", one, one, [])
