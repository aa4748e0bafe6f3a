"""Scenes from files: every version and format, the public files, and whatever else a file may hold."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuraltrees.errors import InputError, ParseError
from neuraltrees.scenes import Scene, parse_scene, read_scene
from tests.scenes.spark_files import UNLABELLED, A, O, P, R, flat

VERSIONS = [(1, 0, 0), (1, 0, 2), (1, 0, 3), (1, 0, 6), (1, 1, 0), (1, 1, 1), (1, 1, 2), (1, 1, 3)]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_gives_the_same_scene(version: tuple[int, int, int]) -> None:
    scene, first = parse_scene(json.dumps(flat(version))), parse_scene(json.dumps(flat()))
    assert scene.report.version == ".".join(map(str, version))
    assert scene.counts == {"object": 4, "place": 4, "room": 2, "building": 1, "agent": 1}
    assert scene.ids == first.ids and scene.names == first.names
    np.testing.assert_array_equal(scene.labels, first.labels)
    np.testing.assert_allclose(scene.sizes, first.sizes)
    np.testing.assert_allclose(scene.box_centres, first.box_centres)
    np.testing.assert_array_equal(scene.edges, first.edges)
    assert scene[O].size == pytest.approx([1.6, 1.0, 0.8])
    assert scene[O].label == 5 and scene[O + 3].label is None and scene[A].type == "agent"
    assert scene.report.noted == {
        "no label": {"object": 1, "room": 1},
        "invalid box": {"place": 4, "room": 2, "building": 1},
    }
    assert scene.report.dropped == {}


def test_edges_point_from_what_is_inside_to_what_is_around() -> None:
    scene = parse_scene(json.dumps(flat()))
    relation = {
        tuple(scene.ids[end] for end in edge): scene.relations[kind]
        for edge, kind in zip(scene.edges.tolist(), scene.edge_relation.tolist(), strict=True)
    }
    assert relation[O, P] == relation[P, R] == "in"
    assert relation[P, P + 1] == relation[R, R + 1] == "adjacent"


@pytest.mark.parametrize(
    ("name", "counts", "edges", "dropped"),
    [
        (
            "hydra_gnn/x8F5xyUWy9e_0_gt_partial_dsg_600.json",
            {"object": 38, "place": 231, "room": 3, "building": 1, "agent": 600},
            1951,
            {},
        ),
        (
            "spark_dsg/apartment_dsg.json",
            {"object": 7, "place": 185, "room": 1, "building": 1, "agent": 102},
            742,
            {},
        ),
        (
            "spark_dsg/apartment_igx_dsg.json",
            {"object": 27, "place": 437, "room": 4, "building": 1, "agent": 691},
            2241,
            {"dangling edges": 6},
        ),
    ],
)
def test_public_files(data_root: Path, name: str, counts: dict[str, int], edges: int, dropped: dict[str, int]) -> None:
    scene = read_scene(data_root / "dsg" / name)
    assert scene.counts == counts
    assert scene.num_edges + scene.report.num_dropped == edges
    assert scene.report.dropped == dropped
    assert scene.report.noted["invalid box"]["room"] == counts["room"]
    assert not np.isnan(scene.sizes[scene.of_type("object")]).any()


def test_packed_files(tmp_path: Path) -> None:
    (tmp_path / "scene.json.gz").write_bytes(gzip.compress(json.dumps(flat()).encode()))
    assert read_scene(tmp_path / "scene.json.gz").num_nodes == 12
    (tmp_path / "scene.json.gz").write_bytes(gzip.compress(json.dumps(flat()).encode())[:-9])
    with pytest.raises(InputError, match=r"complete \.gz file"):
        read_scene(tmp_path / "scene.json.gz")


def test_embeddings_and_turned_boxes() -> None:
    content = flat((1, 1, 3))
    table = content["nodes"][0]["attributes"]
    table["semantic_feature"] = {"rows": 2, "cols": 1, "data": [0.5, 1.5]}
    half = 0.5**0.5
    table["bounding_box"] |= {"type": "OBB", "world_R_center": {"w": half, "x": 0.0, "y": 0.0, "z": half}}
    content["nodes"][1]["attributes"]["semantic_feature"] = {"rows": 3, "cols": 1, "data": [0.5, 1.5]}
    scene = parse_scene(json.dumps(content))
    assert scene.embeddings[0].tolist() == [0.5, 1.5] and scene[O].size == pytest.approx([1.0, 1.6, 0.8])
    assert 1 not in scene.embeddings and scene.report.noted["invalid embedding"] == {"object": 1}


def test_what_is_unusual_is_counted() -> None:
    content = flat((1, 1, 3))
    content["nodes"] += [content["nodes"][0], 7, {"id": -1}, {"id": True}, {"id": 2**64}, {"id": 99, "layer": "x"}]
    content["nodes"][0]["attributes"]["position"] = [1e300, float("nan"), None]
    content["nodes"][1]["attributes"]["name"] = 5
    content["edges"] += [content["edges"][0], {"source": O, "target": O}, {"source": O, "target": 12345}, None, {}]
    content["edges"] += [{"source": content["edges"][0]["target"], "target": content["edges"][0]["source"]}]
    scene = parse_scene(json.dumps(content))
    assert scene.report.dropped == {
        "duplicate ids": 1,
        "malformed nodes": 4,
        "duplicate edges": 2,
        "self-loops": 1,
        "dangling edges": 1,
        "malformed edges": 2,
    }
    assert scene.report.noted["invalid position"] == {"object": 1, "unknown": 1}
    assert scene.report.noted["invalid name"] == {"object": 1}
    assert scene.report.noted["unknown layer"] == {"node": 1} and scene.counts["unknown"] == 1
    assert "dropped 1 duplicate ids, 4 malformed nodes" in str(scene.report)
    assert scene.report.examples["dangling edges"] == (f"{12345} - {O}",)


def test_layers_of_ones_own_keep_their_names() -> None:
    content = flat((1, 1, 3))
    content["layer_names"]["FRONTIERS"] = {"layer": 7, "partition": 2}
    content["nodes"].append({"id": 70, "layer": 7, "partition": 2, "attributes": {"position": [0, 0, 0]}})
    content["nodes"].append({"id": 71, "layer": 9, "partition": 0, "attributes": {"position": [0, 0, 0]}})
    content["nodes"].append({"id": 72, "layer": 3, "partition": 1, "attributes": {"position": [0, 0, 0]}})
    scene = parse_scene(json.dumps(content))
    assert [scene[i].type for i in (70, 71, 72)] == ["frontiers", "layer_9", "mesh_place"]


def test_a_newer_version_is_read_with_a_remark() -> None:
    content = flat((1, 2, 0))
    report = parse_scene(json.dumps(content)).report
    assert report.version == "1.2.0" and "Newer than 1.1.3" in report.remarks[0]


def test_hov_sg(tmp_path: Path) -> None:
    for folder in ("rooms", "objects"):
        (tmp_path / folder).mkdir()
    outline = [[0.0, 0.0], [4.0, 0.0], [4.0, 3.0]]
    room = {"room_id": "0_1", "name": "kitchen", "floor_id": "0", "objects": ["0_1_2"], "vertices": outline}
    room |= {"room_height": 2.5, "room_zero_level": 0.5, "embeddings": [[1.0, 0.0], [0.0, 1.0]]}
    thing = {"object_id": "0_1_2", "room_id": "0_1", "name": "pan", "embedding": [0.25, 0.75]}
    thing["vertices"] = [[1.0, 2.0, 1.0], [2.0, 2.5, 3.0]]
    (tmp_path / "rooms" / "0_1.json").write_text(json.dumps(room))
    (tmp_path / "objects" / "0_1_2.json").write_text(json.dumps(thing))
    (tmp_path / "objects" / "broken.json").write_text("[]")
    scene = read_scene(tmp_path)
    assert scene.counts == {"room": 1, "object": 1} and scene.report.dropped == {"malformed nodes": 1}
    kitchen, pan = scene["room_0_1"], scene["object_0_1_2"]
    assert np.asarray(kitchen.size).tolist() == [4.0, 3.0, 2.5]
    assert np.asarray(kitchen.position).tolist() == [2.0, -1.5, 1.75]
    assert np.asarray(pan.position).tolist() == [1.5, -2.0, 2.25] and np.asarray(pan.size).tolist() == [1.0, 2.0, 0.5]
    assert kitchen.embedding is not None and list(kitchen.embedding) == [0.5, 0.5]
    assert scene.edges.tolist() == [[1, 0]] and scene.relations == ("in",)


def test_concept_graphs(tmp_path: Path) -> None:
    objects = {
        "object_1": {"id": 0, "object_tag": "sofa", "bbox_extent": [2, 1, 1], "bbox_center": [0, 0, 0.5]},
        "object_2": {"id": 1, "object_tag": "pillow", "bbox_extent": [1, 1, -1], "bbox_center": [0, 0, 1]},
        "object_3": 3,
    }
    edges = {
        "edge_1": {"object_1_id": 1, "object_2_id": 0, "relationship": "on"},
        "edge_2": {"object_1_id": 1, "object_2_id": 7, "relationship": "on"},
    }
    (tmp_path / "obj_json_run.json").write_text(json.dumps(objects))
    assert "relations are not read" in str(read_scene(tmp_path).report)
    (tmp_path / "edge_json_run.json").write_text(json.dumps(edges))
    scene = read_scene(tmp_path / "obj_json_run.json")
    assert scene.names == ("sofa", "pillow") and scene.relations == ("on",) and scene.edges.tolist() == [[1, 0]]
    assert scene.report.dropped == {"malformed nodes": 1, "dangling edges": 1}
    assert scene.report.noted == {"invalid box": {"object": 1}}


def test_3dssg(tmp_path: Path) -> None:
    chairs = [{"id": "1", "label": "chair", "attributes": {}}, {"id": "2", "label": "floor", "attributes": {}}]
    scans = {"scans": [{"scan": "a", "objects": chairs}, {"scan": "b", "objects": []}]}
    related = {
        "scans": [{"scan": "a", "relationships": [[1, 2, 14, "standing on"], [1, 2, 3, "near"], [1, 9, 1, "x"]]}]
    }
    (tmp_path / "objects.json").write_text(json.dumps(scans))
    (tmp_path / "relationships.json").write_text(json.dumps(related))
    scene = read_scene(tmp_path, scan="a")
    assert scene.ids == (1, 2) and scene.names == ("chair", "floor") and np.isnan(scene.positions).all()
    assert scene.relations == ("standing on", "near") and scene.report.dropped == {"dangling edges": 1}
    with pytest.raises(InputError, match="one of the 2 scans; got none"):
        read_scene(tmp_path)
    with pytest.raises(InputError, match="got 'c'"):
        read_scene(tmp_path, scan="c")


def test_pickles_and_binaries_are_refused(tmp_path: Path) -> None:
    (tmp_path / "map.pkl.gz").write_bytes(b"")
    (tmp_path / "scene.json").write_bytes(pickle.dumps({"nodes": []}))
    for name in ("map.pkl.gz", "scene.json"):
        with pytest.raises(InputError, match="a pickle, which can run any code"):
            read_scene(tmp_path / name)
    (tmp_path / "scene.sparkdsg").write_bytes(b"SPARK_DSG\x00\x01")
    with pytest.raises(InputError, match="binary form of Spark-DSG"):
        read_scene(tmp_path / "scene.sparkdsg")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expecting value"),
        ("{}", "expected the JSON of a scene"),
        ("[1]", "expected the JSON of a scene"),
        ('{"nodes": 5, "edges": []}', "Expected nodes of a Spark-DSG file as a list; got int"),
        ('{"nodes": [], "edges": {}}', "Expected edges of a Spark-DSG file as a list; got dict"),
        ('{"scans": 1}', "Expected scans of a 3DSSG file as a list"),
        ("[" * 100_000, "nested too deep"),
        ('{"nodes": [' + "9" * 5000 + '], "edges": []}', "numbers of moderate length"),
        ('{"nodes": [}', "line 1, column 12"),
    ],
)
def test_bad_files_have_clear_errors(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "scene.json").write_text(text)
    with pytest.raises(ParseError, match=message):
        read_scene(tmp_path / "scene.json")


def test_missing_files_and_strange_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_scene(tmp_path / "none.json")
    with pytest.raises(InputError, match="has none of these"):
        read_scene(tmp_path)


ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([O, P, R, A, UNLABELLED]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


def paths(value: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of every value inside a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [prefix, *(path for key, each in inside for path in paths(each, (*prefix, key)))]


def check_scene(text: str) -> None:
    """A scene in which every node and edge is accounted for, or an error of ours."""
    try:
        scene = parse_scene(text)
    except InputError:
        return
    content = json.loads(text)
    dropped = dict(scene.report.dropped)
    nodes = dropped.pop("malformed nodes", 0) + dropped.pop("duplicate ids", 0)
    assert scene.num_nodes + nodes == len(content["nodes"])
    assert scene.num_edges + sum(dropped.values()) == len(content.get("edges", []))
    assert np.isfinite(scene.positions[~np.isnan(scene.positions)]).all()
    assert not scene.num_edges or scene.edges.max() < scene.num_nodes
    assert isinstance(repr(scene) + str(scene.report), str)
    assert len(list(scene.nodes)) == scene.num_nodes


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    version=st.sampled_from(VERSIONS),
    changes=st.lists(st.tuples(st.integers(0, 10**6), ANYTHING), min_size=1, max_size=4),
)
def test_files_with_anything_anywhere(version: tuple[int, int, int], changes: list[tuple[int, Any]]) -> None:
    content: Any = flat(version)
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
    check_scene(json.dumps(content))


@settings(max_examples=100, deadline=None)
@given(length=st.floats(0, 1), junk=st.text(max_size=3))
def test_truncated_files(length: float, junk: str) -> None:
    text = json.dumps(flat())
    check_scene(text[: int(length * len(text))] + junk)


@settings(max_examples=100, deadline=None)
@given(content=ANYTHING)
def test_any_json(content: Any) -> None:
    check_scene(json.dumps(content))
    check_scene(json.dumps({"nodes": [content], "edges": [content]}))


@settings(max_examples=50, deadline=None)
@given(content=st.binary(max_size=40))
def test_any_bytes(content: bytes) -> None:
    with pytest.raises(InputError):
        parse_scene(content)


def test_cycles_are_no_problem() -> None:
    content = flat()
    ring = [(R, O), (O, P), (P, R), (R + 1, R), (P + 1, P), (P + 2, P), (P + 3, P)]
    content["edges"] += [{"source": source, "target": target} for source, target in ring]
    scene = parse_scene(json.dumps(content))
    assert isinstance(scene, Scene) and scene.report.dropped == {"duplicate edges": 4}


def test_a_million_nodes(tmp_path: Path) -> None:
    node = '{{"id":{},"layer":2,"attributes":{{"position":[1,2,3]}}}}'
    text = '{"edges":[],"nodes":[' + ",".join(node.format(i) for i in range(10**6)) + "]}"
    (tmp_path / "large.json").write_text(text)
    del text
    scene = read_scene(tmp_path / "large.json")
    assert scene.num_nodes == 10**6 and scene.report.num_dropped == 0


HOV_ROOM = {"room_id": "0_1", "name": "kitchen", "floor_id": "0", "objects": [], "vertices": [[0.0, 0.0], [4.0, 3.0]]}
OTHERS: dict[str, dict[str, Any]] = {
    "hov": {
        "rooms/0_1.json": {**HOV_ROOM, "room_height": 2.5, "embeddings": [[1.0, 0.0]]},
        "objects/0_1_2.json": {"object_id": 2, "room_id": "0_1", "vertices": [[1.0, 2.0, 1.0]], "embedding": [0.5]},
    },
    "concept": {
        "obj_json_a.json": {
            "object_1": {"id": 0, "object_tag": "sofa", "bbox_extent": [2, 1, 1], "bbox_center": [0, 0, 1]}
        },
        "edge_json_a.json": {"edge_1": {"object_1_id": 0, "object_2_id": 1, "relationship": "on"}},
    },
    "dssg": {
        "objects.json": {"scans": [{"scan": "a", "objects": [{"id": "1", "label": "chair", "attributes": {}}]}]},
        "relationships.json": {"scans": [{"scan": "a", "relationships": [[1, 2, 14, "standing on"]]}]},
    },
}


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kind=st.sampled_from(sorted(OTHERS)),
    changes=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 10**6), ANYTHING), min_size=1, max_size=3),
    cut=st.none() | st.floats(0, 1),
)
def test_other_formats_with_anything_anywhere(
    tmp_path_factory: pytest.TempPathFactory, kind: str, changes: list[tuple[int, int, Any]], cut: float | None
) -> None:
    folder = tmp_path_factory.mktemp("scene")
    files: dict[str, Any] = json.loads(json.dumps(OTHERS[kind]))
    for which, where, value in changes:
        name = sorted(files)[which % len(files)]
        places = paths(files[name])
        path = places[where % len(places)]
        if not path:
            files[name] = value
            continue
        parent = files[name]
        for key in path[:-1]:
            parent = parent[key]
        parent[path[-1]] = value
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        text = json.dumps(content)
        (folder / name).write_text(text if cut is None else text[: int(cut * len(text))])
    try:
        scene = read_scene(folder, scan="a")
    except InputError:
        return
    assert len(list(scene.nodes)) == scene.num_nodes
    assert isinstance(repr(scene) + str(scene.report), str)
