"""Labels written back: what was set is set, and every other byte is as it was."""

from __future__ import annotations

import gzip
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraltrees.errors import InputError, ParseError
from neuraltrees.scenes import NodeLabel, parse_scene, read_scene, set_labels, write_labels
from tests.scenes.spark_files import A, O, R, flat
from tests.scenes.test_read import ANYTHING, paths

KEYS = ("name", "semantic_label", "semantic_class_probabilities")


def without(text: str, node_id: int) -> Any:
    """The JSON value without what may be set in a node."""
    content = json.loads(text)
    for node in content["nodes"]:
        if node["id"] == node_id:
            for key in KEYS:
                node["attributes"].pop(key, None)
    return content


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("version", [(1, 0, 0), (1, 1, 3)])
def test_labels_are_set(version: tuple[int, int, int], indent: int | None) -> None:
    content = flat(version)
    text = json.dumps(content, indent=indent)
    labels = {
        R: NodeLabel('küche "1"', 10, {"küche": 0.75, "bath": 0.25}),
        O + 1: NodeLabel("mug", 41),
        O + 2: NodeLabel("sofa"),
    }
    for node in content["nodes"]:
        if node["id"] in labels:
            node["attributes"] |= labels[node["id"]].values
    assert json.loads(set_labels(text, labels)) == content
    assert set_labels(text, {}) == text


@settings(max_examples=100, deadline=None)
@given(
    indent=st.none() | st.integers(0, 3),
    which=st.sampled_from([O, O + 3, R, R + 1, A]),
    name=st.text(max_size=8),
    number=st.none() | st.integers(0, 2**32 - 1),
    version=st.sampled_from([(1, 0, 0), (1, 1, 3)]),
    junk=st.text(max_size=4),
)
def test_all_other_bytes_stay(
    indent: int | None, which: int, name: str, number: int | None, version: tuple[int, int, int], junk: str
) -> None:
    content = flat(version)
    content["nodes"][0]["attributes"]["note"] = f'{junk} "name": "not this one", \\ {{'
    text = json.dumps(content, indent=indent, ensure_ascii=bool(indent))
    after = set_labels(text, {which: NodeLabel(name, number)})
    # The same text with markers in the place of what is set shows which bytes must stay.
    attributes = next(node["attributes"] for node in content["nodes"] if node["id"] == which)
    markers = {"name": (0.123456789, name), "semantic_label": (0.987654321, number)}
    for key, (marker, value) in markers.items():
        if key in attributes and value is not None:
            attributes[key] = marker
    expected = json.dumps(content, indent=indent, ensure_ascii=bool(indent))
    for marker, value in markers.values():
        expected = expected.replace(str(marker), json.dumps(value, ensure_ascii=False))
    if which == A:  # it has neither: both are added after what it has
        added = "".join(
            f',"{key}":{json.dumps(v, ensure_ascii=False)}' for key, (_, v) in markers.items() if v is not None
        )
        kind = json.dumps("AgentNodeAttributes")
        expected = expected.replace(kind, kind + added)
    assert after == expected
    assert without(after, which) == without(text, which)


def test_an_edit_of_a_public_file_leaves_all_else(data_root: Path, tmp_path: Path) -> None:
    for name in ("spark_dsg/apartment_igx_dsg.json", "hydra_gnn/x8F5xyUWy9e_0_gt_partial_dsg_600.json"):
        path = data_root / "dsg" / name
        scene, text = read_scene(path), path.read_text()
        rooms = [int(scene.ids[i]) for i in scene.of_type("room")]
        labels = {room: NodeLabel(f"ROOM-{room}", 3, {"kitchen": 0.5}) for room in rooms}
        write_labels(path, labels, tmp_path / "out.json")
        after = (tmp_path / "out.json").read_bytes().decode()
        # Undo every edit by hand and compare bytes.
        for room in rooms:
            old = scene[room]
            assert after.count(f'"ROOM-{room}"') == 1
            start = after.index(f'"ROOM-{room}"')
            after = after[:start] + json.dumps(old.name) + after[start + len(f'"ROOM-{room}"') :]
            label = after.index('"semantic_label":3', start)
            assert label - start < 400
            after = after[:label] + f'"semantic_label":{old.label}' + after[label + len('"semantic_label":3') :]
        after = after.replace(',"semantic_class_probabilities":{"kitchen":0.5}', "")
        assert after == text
        again = read_scene(tmp_path / "out.json")
        assert [again[room].name for room in rooms] == [f"ROOM-{room}" for room in rooms]
        assert again.report.dropped == scene.report.dropped


def test_probabilities_replace_those_that_are_there() -> None:
    content = flat((1, 1, 3))
    content["nodes"][8]["attributes"]["semantic_class_probabilities"] = {"x": 1.0}
    text = json.dumps(content)
    after = set_labels(text, {R: NodeLabel("hall", None, {"hall": 1})})
    assert '"semantic_class_probabilities": {"hall":1.0}' in after and '{"x": 1.0}' not in after


def test_empty_and_missing_attributes() -> None:
    text = '{"edges": [], "nodes": [5, {"attributes": { }, "id": 1}, {"id": 2}, {"id": 2.0}]}'
    assert set_labels(text, {1: NodeLabel("a")}) == text.replace("{ }", '{ "name":"a"}')
    with pytest.raises(InputError, match="attributes of node 2"):
        set_labels(text, {2: NodeLabel("a")})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3,), "name of a label as text"),
        (("\ud800",), "text in Unicode"),
        (("a", -1), "from 0 to 2"),
        (("a", True), "from 0 to 2"),
        (("a", 1, {"b": float("nan")}), "probabilities by name, from 0 to 1"),
        (("a", 1, {"b": 1.5}), "probabilities by name, from 0 to 1"),
    ],
)
def test_bad_labels(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        NodeLabel(*arguments)


def test_mistakes_leave_the_old_file(tmp_path: Path) -> None:
    path, out = tmp_path / "scene.json", tmp_path / "out.json"
    path.write_text(json.dumps(flat()))
    out.write_text("old")
    with pytest.raises(InputError, match="got 1 that it does not have: 12345"):
        write_labels(path, {12345: NodeLabel("a"), R: NodeLabel("b")}, out)
    with pytest.raises(InputError, match="labels as NodeLabel; got str"):
        write_labels(path, {R: "kitchen"}, out)  # type: ignore[dict-item]
    path.write_text('{"scans": []}')
    with pytest.raises(ParseError, match="Expected Spark-DSG JSON"):
        write_labels(path, {R: NodeLabel("b")}, out)
    path.write_text('{"nodes": {}, "edges": []}')
    with pytest.raises(ParseError, match="nodes of a Spark-DSG file as a list"):
        write_labels(path, {R: NodeLabel("b")}, out)
    assert out.read_text() == "old" and sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "scene.json"]


def test_in_place_packed_and_with_a_mark_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "scene.json.gz"
    path.write_bytes(gzip.compress(("\ufeff \n" + json.dumps(flat())).encode()))
    write_labels(path, {R: NodeLabel("hall")}, path)
    assert gzip.decompress(path.read_bytes()).decode().startswith("\ufeff \n{")
    assert read_scene(path)[R].name == "hall"


OPEN = """
import sys, warnings
warnings.simplefilter("ignore")
import spark_dsg
graph = spark_dsg.DynamicSceneGraph.load(sys.argv[1])
room, thing = (graph.get_node(int(name)).attributes for name in sys.argv[2:])
print(graph.num_nodes(), graph.num_edges())
print(room.name, room.semantic_label, dict(sorted(room.semantic_class_probabilities.items())))
print(thing.name, thing.semantic_label)
"""


@pytest.mark.parametrize("version", [(1, 0, 0), (1, 1, 3)])
def test_spark_dsg_opens_what_was_written(version: tuple[int, int, int], tmp_path: Path) -> None:
    if importlib.util.find_spec("spark_dsg") is None:
        pytest.skip("spark-dsg is not installed: pip install spark-dsg==1.1.3 to check that it opens labelled files")
    content = flat(version)
    for node in content["nodes"]:
        if node["attributes"]["type"] == "ObjectNodeAttributes":
            node["attributes"]["world_R_object"] = {"w": 1.0, "x": 0.0, "y": 0.0, "z": 0.0}
        if node["attributes"]["type"] == "AgentNodeAttributes":
            turn = {"w": 1.0, "x": 0.0, "y": 0.0, "z": 0.0}
            node["attributes"] |= {"world_R_body": turn, "external_key": 0, "timestamp": 0}
    if version == (1, 0, 0):
        content |= {"mesh_layer_id": 1}
    (tmp_path / "scene.json").write_text(json.dumps(content))
    labels = {R: NodeLabel("küche", 10, {"küche": 0.75, "bath": 0.25}), O: NodeLabel("desk", 6, {"desk": 1.0})}
    write_labels(tmp_path / "scene.json", labels, tmp_path / "out.json")
    command = [sys.executable, "-c", OPEN, str(tmp_path / "out.json"), str(R), str(O)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith("[SPARK-DSG]")]
    assert lines == ["12 12", "küche 10 {'bath': 0.25, 'küche': 0.75}", "desk 6"]


@settings(max_examples=150, deadline=None)
@given(
    changes=st.lists(st.tuples(st.integers(0, 10**6), ANYTHING), min_size=1, max_size=3),
    which=st.sampled_from([O, R, R + 1, A]),
    indent=st.none() | st.integers(0, 2),
)
def test_files_with_anything_anywhere(changes: list[tuple[int, Any]], which: int, indent: int | None) -> None:
    content: Any = flat((1, 1, 3))
    for where, value in changes:
        places = paths(content)
        path = places[where % len(places)]
        if not path:
            content = value
            continue
        parent = content
        for key in path[:-1]:
            parent = parent[key]
        parent[path[-1]] = value
    text = json.dumps(content, indent=indent)
    try:
        after = set_labels(text, {which: NodeLabel("label", 7)})
    except InputError:
        return
    found = parse_scene(after)
    assert found[which].name == "label" and found[which].label == 7
    assert found.report.dropped == parse_scene(text).report.dropped


def test_of_keys_and_ids_that_are_twice_there() -> None:
    first, second = '{"id": 1, "id": 2, "attributes": {"name": "a", "name": "b"}}', '{"id": 2, "attributes": {}}'
    text = f'{{"edges": [], "nodes": [{first}, {second}]}}'
    assert set_labels(text, {2: NodeLabel("c")}) == text.replace('"b"', '"c"')
    assert parse_scene(set_labels(text, {2: NodeLabel("c")}))[2].name == "c"
