"""A server of a trained network of scenes answers what the labeller says, also for requests that come together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from neuraltrees.scenes import Scene, parse_scene, read_scene
from neuraltrees.serving import SceneLabeller
from neuraltrees.serving.server import Limits, Server
from neuraltrees.serving.server.open import open_service
from tests.serving.server.clients import Client
from tests.serving.test_scene_labeller import SCENES, trained

pytest.importorskip("fastapi", reason="the server needs the extra serve")


def as_plain(scene: Scene) -> dict[str, Any]:
    """A scene as plain JSON."""
    nodes: list[dict[str, Any]] = []
    for node in scene.nodes:
        entry: dict[str, Any] = {"id": node.id, "type": node.type, "name": node.name, "label": node.label}
        for name in ("position", "size", "box_centre", "embedding"):
            value = getattr(node, name)
            entry |= {} if value is None else {name: list(map(float, value))}
        nodes.append(entry | {"attributes": dict(node.attributes)})
    ids, relations = scene.ids, scene.relations
    edges = [
        [ids[a], ids[b], relations[r]]
        for (a, b), r in zip(scene.edges.tolist(), scene.edge_relation.tolist(), strict=True)
    ]
    return {"nodes": nodes, "edges": edges}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scenes") / "model.safetensors"
    trained(head="crf").save(path)
    return path


@pytest.fixture(scope="module")
def address(model: Path) -> Iterator[str]:
    limits = Limits()
    with Server(open_service(model, limits), limits, ("127.0.0.1", 0)) as server:
        yield server.addresses[0]


def check(answer: Any, expected: Any) -> None:
    assert [node["id"] for node in answer["nodes"]] == list(expected)
    for node in answer["nodes"]:
        label = expected[node["id"]]
        assert (node["label"], node["number"]) == (label.name, label.label)
        for each in node["top"]:
            assert each["probability"] == pytest.approx(label.probabilities[each["label"]], abs=1e-5)


def test_many_clients_get_the_labels_of_their_scenes(model: Path, address: str) -> None:
    labeller = SceneLabeller.load(model)
    assert Client(address).get("/health")[1]["answers"] == "scenes"
    with ThreadPoolExecutor(6) as pool:
        jobs = [(scene, pool.submit(Client(address).post, as_plain(scene))) for scene in SCENES * 3]
        for scene, job in jobs:
            status, answer = job.result()
            assert status == 200, answer
            check(answer, labeller.label([scene])[0])


def test_known_labels_change_the_others(model: Path, address: str) -> None:
    labeller, scene = SceneLabeller.load(model), SCENES[0]
    node = scene.ids[int(scene.of_type("room")[0])]
    name = labeller.format.labels["room"].names[1]
    status, answer = Client(address).post({"scene": as_plain(scene), "known": {str(node): name}})
    assert status == 200
    check(answer, labeller.label([scene], [{node: name}])[0])
    status, answer = Client(address).post({"scene": as_plain(scene), "known": {str(node): "spaceship"}})
    assert status == 422 and "spaceship" in answer["detail"]


@pytest.mark.parametrize(
    "name", ["hydra_gnn/x8F5xyUWy9e_0_gt_partial_dsg_600.json", "spark_dsg/apartment_igx_dsg.json"]
)
def test_maps_of_hydra_are_labelled_and_sent_back(model: Path, address: str, data_root: Path, name: str) -> None:
    path = data_root / "dsg" / name
    status, content, _ = Client(address).ask("POST", "/predict?output=scene", path.read_bytes())
    assert status == 200
    labels = SceneLabeller.load(model).label([read_scene(path)])[0]
    again = parse_scene(content)
    assert labels and all(again[node].name == label.name for node, label in labels.items())
    assert len(json.loads(content)["nodes"]) == len(json.loads(path.read_text())["nodes"])
