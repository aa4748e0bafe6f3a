"""Scenes by the native readers of Spark-DSG: as node by node, or not at all."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraltrees.scenes import Scene
from neuraltrees.scenes.spark import UNLABELLED, scene_of_spark
from neuraltrees.scenes.spark_columns import message_of_json, read_json_columns
from tests.scenes.spark_files import O, flat

NEW = (1, 1, 3)


def fast(body: bytes) -> Scene | None:
    columns = read_json_columns(body)
    message = None if columns is None else message_of_json(body, columns)
    return None if message is None else message.scene


def check_same(found: Scene, expected: Scene) -> None:
    for name in ("ids", "types", "names", "relations", "report"):
        assert getattr(found, name) == getattr(expected, name), name
    for name in ("node_type", "labels", "positions", "sizes", "box_centres", "edges", "edge_relation"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert ours.dtype == theirs.dtype, name
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
    assert list(found.metadata.items()) == list(expected.metadata.items())
    assert str(found.report) == str(expected.report)
    assert list(found.attributes) == list(expected.attributes)
    assert found.embeddings.keys() == expected.embeddings.keys()
    for i, vector in expected.embeddings.items():
        assert found.embeddings[i].dtype == vector.dtype
        np.testing.assert_array_equal(found.embeddings[i], vector)


def checked(content: Any, **style: Any) -> bool:
    """Whether a scene is read natively; if it is, as node by node."""
    body = json.dumps(content, **style).encode()
    found = fast(body)
    if found is not None:
        check_same(found, scene_of_spark(json.loads(body)))
    return found is not None


@pytest.mark.parametrize("version", [(1, 0, 3), (1, 0, 5), (1, 1, 0), (1, 1, 1), (1, 1, 2), NEW])
@pytest.mark.parametrize("style", [{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}])
def test_reads_every_version_in_any_style(version: tuple[int, int, int], style: dict[str, Any]) -> None:
    assert checked(flat(version), **style)


def test_boxes_by_their_corners_are_left_to_the_other_reader() -> None:
    assert not checked(flat((1, 0, 0)))


def test_texts_that_are_not_json_are_left_to_the_other_reader() -> None:
    body = json.dumps(flat(NEW)).encode()
    assert fast(body) is not None
    for end in range(0, len(body), 7):
        assert fast(body[:end]) is None
    for wrong in (b"\xef\xbb\xbf" + body, body + b"x", body.replace(b'"table"', b'"ta\xffble"'), b"[]", b"", b"{}"):
        assert fast(wrong) is None
    assert fast(body.replace(b"[1.0, 1.0, 0.4]", b"[1.0, 1.0, NaN]")) is None
    assert fast(body.replace(b'"table"', b'"ta\nble"')) is None
    assert fast(body.replace(b"[1.0, 1.0, 0.4]", b"[01.0, 1.0, 0.4]")) is None
    assert fast(b" \n" + body + b"\t ") is not None


def put(content: Any, place: tuple[Any, ...], value: Any) -> None:
    for key in place[:-1]:
        content = content[key]
    if value is put:
        content.pop(place[-1], None) if isinstance(content, dict) else None
    else:
        content[place[-1]] = value


NUMBERS = [0, 1, -1, 7, UNLABELLED, 2**32, 2**63, 2**64 - 1, 2**64, 2**70, 0.5, -0.0, 1e-300, 1e300, 2e9]
TEXTS = ["", "AABB", "OBB", "INVALID", "é", 'quo"te', "AgentNodeAttributes"]
LISTS = [[], [1, 2, 3], [1, 2], [1, 2, 3, 4], [0.5, "a", 1], [-1.0, 2.0, 3.0], [[1.0]], [0.1, 0.2, 0.3]]
MATRICES = [
    {"data": data, "rows": rows, "cols": columns}
    for data, rows, columns in (([1, 2], 1, 2), ([1e39], 1, 1), ([], 0, 0), ([0.1, 0.2], 2, 2))
]
VALUES = st.sampled_from([put, None, True, {}, *NUMBERS, *TEXTS, *LISTS, *MATRICES])
ATTRIBUTES = ["position", "name", "semantic_label", "semantic_feature", "bounding_box", "type", "distance", "x"]
NODE = st.integers(0, 11)
PLACES = st.one_of(
    st.tuples(st.just("nodes"), NODE, st.sampled_from(["id", "layer", "partition", "prefix", "attributes", "other"])),
    st.tuples(
        st.just("nodes"),
        NODE,
        st.just("attributes"),
        st.sampled_from([*ATTRIBUTES, "semantic_class_probabilities"]),
    ),
    st.tuples(
        st.just("nodes"),
        st.integers(0, 3),
        st.just("attributes"),
        st.just("bounding_box"),
        st.sampled_from(["type", "dimensions", "world_P_center", "world_R_center"]),
    ),
    st.tuples(st.just("edges"), st.integers(0, 11), st.sampled_from(["source", "target", "info"])),
    st.tuples(st.just("edges"), st.integers(0, 11)),
    st.tuples(st.just("nodes"), NODE),
    st.tuples(st.sampled_from(["nodes", "edges", "layer_names", "mesh_edges", "metadata", "SPARK_DSG_header"])),
)


@settings(deadline=None, max_examples=400)
@given(st.lists(st.tuples(PLACES, VALUES), min_size=1, max_size=3))
def test_one_value_of_any_kind_anywhere(edits: list[tuple[tuple[Any, ...], Any]]) -> None:
    content = flat(NEW)
    for place, value in edits:
        try:
            put(content, place, copy.deepcopy(value))
        except (KeyError, IndexError, TypeError, AttributeError):
            continue
    body = json.dumps(content).encode()
    found = fast(body)
    if found is not None:
        check_same(found, scene_of_spark(json.loads(body)))


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 10**6), st.binary(min_size=0, max_size=3), st.integers(0, 3))
def test_bytes_replaced_anywhere(at: int, new: bytes, cut: int) -> None:
    body = json.dumps(flat(NEW)).encode()
    at %= len(body)
    body = body[:at] + new + body[at + cut :]
    found = fast(body)
    if found is not None:
        check_same(found, scene_of_spark(json.loads(body.decode())))


def test_embeddings_and_probabilities_are_read() -> None:
    content = flat(NEW)
    content["nodes"][0]["attributes"]["semantic_feature"] = {"rows": 1, "cols": 3, "data": [0.1, -2, 3e-5]}
    content["nodes"][1]["attributes"]["semantic_feature"] = [0.5, 0.25]
    content["nodes"][2]["attributes"]["semantic_class_probabilities"] = {"bed": 0.5}
    assert checked(content)


def test_a_key_twice_is_left_to_the_other_reader() -> None:
    body = json.dumps(flat(NEW)).encode()
    for text in (b'"name": "table"', f'"id": {O}'.encode(), b'"directed": false'):
        assert text in body
        read = fast(body.replace(text, text + b", " + text, 1))
        assert (read is None) == (text != b'"directed": false')
