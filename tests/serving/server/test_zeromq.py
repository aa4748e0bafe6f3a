"""The server by ZMQ as Hydra speaks it: the latest graph wins, and answers have the form of the question."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

from neuraltrees.errors import InputError
from neuraltrees.scenes import parse_scene, read_scene
from neuraltrees.scenes.spark import scene_of_spark
from neuraltrees.serving.server import Limits, SceneService, Server
from neuraltrees.serving.server.spark_binary import BinaryGraph
from tests.scenes.spark_files import R, flat
from tests.serving.server.clients import CountingLabeller, plain, until

zmq = pytest.importorskip("zmq", reason="ZMQ needs the extra serve")

LIMITS = Limits(body=10_000_000, seconds=10.0)


class Hydra:
    """Publishes graphs and reads labelled ones."""

    def __init__(self, folder: Path) -> None:
        self.context = zmq.Context()
        self.graphs, self.labels = self.context.socket(zmq.PUB), self.context.socket(zmq.SUB)
        self.addresses = (f"ipc://{folder}/graphs", f"ipc://{folder}/labels")
        self.graphs.bind(self.addresses[0])

    def connect(self) -> None:
        """Waits until both sides know each other: what is published before is lost."""
        self.labels.setsockopt(zmq.SUBSCRIBE, b"")
        self.labels.connect(self.addresses[1])
        answered = False
        while not answered:
            self.graphs.send(json.dumps(plain(0)).encode())
            answered = bool(self.labels.poll(100))
        while self.labels.poll(200):
            self.labels.recv()

    def answer(self) -> bytes:
        assert self.labels.poll(20_000), "no answer"
        return bytes(self.labels.recv())


@contextmanager
def served(folder: Path, labeller: CountingLabeller) -> Iterator[tuple[Hydra, Server]]:
    hydra = Hydra(folder)
    server = Server(SceneService(labeller, LIMITS, "counting"), LIMITS, http=None, zmq=hydra.addresses)
    try:
        with server:
            hydra.connect()
            yield hydra, server
    finally:
        hydra.context.destroy(linger=0)


def test_json_is_answered_by_json(tmp_path: Path) -> None:
    with served(tmp_path, CountingLabeller()) as (hydra, server):
        hydra.graphs.send(json.dumps(flat((1, 1, 3))).encode())
        scene = parse_scene(hydra.answer())
        assert (scene[R].name, scene[R].label) == ("room of 4", 4)
        hydra.graphs.send(json.dumps(plain(3)).encode())
        assert json.loads(hydra.answer())["nodes"][0]["label"] == "room of 3"
        assert server.addresses == [hydra.addresses[1]]


def test_bad_messages_are_counted_and_nothing_is_published(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with served(tmp_path, CountingLabeller()) as (hydra, server):
        for number, message in enumerate((b"{", b"\xff" * 30, b"", b" " * 10_000_001)):
            hydra.graphs.send(message)
            until(lambda count=number + 1: caplog.text.count("a ZMQ message was not answered") == count)
        hydra.graphs.send(json.dumps(plain(5)).encode())
        assert json.loads(hydra.answer())["nodes"][0]["label"] == "room of 5"
        page = server.queue.metrics.page(0)[0].decode().splitlines()
        assert 'neuraltrees_requests_total{status="422",transport="zmq"} 3.0' in page
        assert 'neuraltrees_requests_total{status="413",transport="zmq"} 1.0' in page


def test_the_latest_graph_wins(tmp_path: Path) -> None:
    labeller = CountingLabeller()
    with served(tmp_path, labeller) as (hydra, server):
        labeller.gate = Event()
        before = len(labeller.batches)
        hydra.graphs.send(json.dumps(plain(1)).encode())
        until(lambda: len(labeller.batches) == before + 1)
        for number in range(2, 30):
            hydra.graphs.send(json.dumps(plain(number)).encode())
        until(lambda: server.transports[0]._graphs.poll(0))
        Event().wait(0.3)  # nearly always the last of them has come as well
        labeller.gate.set()
        answers = [json.loads(hydra.answer())["nodes"][0]["label"]]
        while answers[-1] != "room of 29":
            answers.append(json.loads(hydra.answer())["nodes"][0]["label"])
        assert answers[0] == "room of 1" and len(answers) < 10, answers
        assert not hydra.labels.poll(300)


def test_the_end_waits_for_the_answer(tmp_path: Path) -> None:
    labeller = CountingLabeller()
    with served(tmp_path, labeller) as (hydra, server):
        labeller.gate = Event()
        before = len(labeller.batches)
        hydra.graphs.send(json.dumps(plain(6)).encode())
        until(lambda: len(labeller.batches) > before)
        ending = Thread(target=server.transports[0].stop)
        ending.start()
        Event().wait(0.2)
        assert ending.is_alive()
        labeller.gate.set()
        assert json.loads(hydra.answer())["nodes"][0]["label"] == "room of 6"
        ending.join(20)
        assert not ending.is_alive()


def test_wrong_addresses(tmp_path: Path) -> None:
    service = SceneService(CountingLabeller(), LIMITS, "counting")
    with pytest.raises(InputError, match=r"Expected addresses of ZMQ .* got nowhere to read"):
        Server(service, LIMITS, http=None, zmq=("nowhere", f"ipc://{tmp_path}/labels"))


def test_binary_graphs_are_answered_by_binary_graphs(tmp_path: Path, data_root: Path) -> None:
    library = pytest.importorskip("spark_dsg", reason="the binary form needs the extra hydra")
    graph = library.DynamicSceneGraph.load(str(data_root / "dsg/hydra_gnn/x8F5xyUWy9e_0_gt_partial_dsg_600.json"))
    with served(tmp_path, CountingLabeller()) as (hydra, _):
        hydra.graphs.send(graph.to_binary(include_mesh=False))
        labelled = library.DynamicSceneGraph.from_binary(hydra.answer())
    rooms = list(labelled.get_layer(library.DsgLayers.ROOMS).nodes)
    assert [room.attributes.name for room in rooms] == ["room of 38"] * 3
    assert [room.attributes.semantic_label for room in rooms] == [38] * 3
    assert rooms[0].attributes.semantic_class_probabilities == {"room of 38": 0.75, "other": 0.2, "third": 0.05}
    assert (labelled.num_nodes(), labelled.num_edges()) == (graph.num_nodes(), graph.num_edges())


@pytest.mark.parametrize("name", ["hydra_gnn/x8F5xyUWy9e_0_gt_partial_dsg_600.json", "spark_dsg/apartment_dsg.json"])
def test_the_binary_form_is_read_as_json_is(tmp_path: Path, data_root: Path, name: str) -> None:
    library = pytest.importorskip("spark_dsg", reason="the binary form needs the extra hydra")
    graph = library.DynamicSceneGraph.load(str(data_root / "dsg" / name))
    graph.save(str(tmp_path / "again.json"), False)
    from_json = read_scene(tmp_path / "again.json")
    from_binary = scene_of_spark(BinaryGraph.of(graph.to_binary(include_mesh=False)).content())
    order = [from_binary.number[each] for each in from_json.ids]
    assert from_binary.counts == from_json.counts
    for column in ("labels", "positions", "sizes", "box_centres"):
        np.testing.assert_allclose(getattr(from_binary, column)[order], getattr(from_json, column), rtol=1e-5)
    assert [from_binary.names[i] for i in order] == list(from_json.names)
    pairs = [
        {tuple(sorted((scene.ids[a], scene.ids[b]))) for a, b in scene.edges.tolist()}
        for scene in (from_binary, from_json)
    ]
    assert pairs[0] == pairs[1]


def test_turned_boxes_are_enclosed() -> None:
    library = pytest.importorskip("spark_dsg", reason="the binary form needs the extra hydra")
    graph = library.DynamicSceneGraph()
    attributes = library.ObjectNodeAttributes()
    attributes.position = np.array([1.0, 2.0, 3.0])
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    attributes.bounding_box = library.BoundingBox(
        library.BoundingBoxType.OBB, np.array([4.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0]), turn
    )
    attributes.semantic_feature = np.array([[0.5], [1.5]])
    graph.add_node(library.DsgLayers.OBJECTS, 7, attributes)
    scene = scene_of_spark(BinaryGraph.of(graph.to_binary(include_mesh=False)).content())
    np.testing.assert_allclose(scene.sizes, [[2, 4, 1]], atol=1e-5)
    np.testing.assert_allclose(scene.embeddings[0], [0.5, 1.5])


def test_without_spark_dsg_the_binary_form_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spark_dsg", None)
    with pytest.raises(ImportError, match=r"Expected spark_dsg to be installed .* pip install 'neuraltrees\[hydra\]'"):
        BinaryGraph.of(b"\xdd\x00")
