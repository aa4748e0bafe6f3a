"""The server by HTTP: answers, batches, limits, tokens, bad requests, and a graceful end."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import Any

import pytest

from neuraltrees.errors import InputError, NeuralTreesError
from neuraltrees.scenes import NodeLabel, parse_scene
from neuraltrees.serving.server import Limits, Refusal, SceneService, Server, Wants
from tests.scenes.spark_files import R, flat
from tests.serving.server.clients import Client, CountingLabeller, plain, until

pytest.importorskip("fastapi", reason="the server needs the extra serve")

from neuraltrees.serving.server.patience import PatientProtocol  # needs the extra

SMALL = Limits(body=20_000, seconds=5.0, nodes=50, waiting=4, held=60_000)


def serving(labeller: CountingLabeller, limits: Limits = SMALL, token: str | None = None) -> Server:
    return Server(SceneService(labeller, limits, "counting"), limits, ("127.0.0.1", 0), token)


@pytest.fixture
def labeller() -> CountingLabeller:
    return CountingLabeller()


@pytest.fixture
def client(labeller: CountingLabeller) -> Iterator[Client]:
    with serving(labeller) as server:
        yield Client(server.addresses[0])


def test_labels_of_a_plain_scene(client: Client) -> None:
    status, answer = client.post(plain(3))
    top = [{"label": "room of 3", "probability": 0.75}, {"label": "other", "probability": 0.2}]
    assert status == 200
    assert answer["nodes"] == [
        {
            "id": "room",
            "type": "room",
            "label": "room of 3",
            "number": 3,
            "probability": 0.75,
            "top": [*top, {"label": "third", "probability": 0.05}],
        }
    ]
    assert client.post(plain(3), "/predict?top=2")[1]["nodes"][0]["top"] == top


def test_labels_of_spark_dsg_with_its_report_and_ids_of_64_bits(client: Client) -> None:
    content = flat((1, 1, 3))
    content["edges"].append({"source": R, "target": 5})
    status, answer = client.post(content)
    assert status == 200
    assert [(node["id"], node["label"]) for node in answer["nodes"]] == [(R, "room of 4"), (R + 1, "room of 4")]
    assert "dropped 1 dangling edges" in answer["report"]


def test_the_labelled_scene_is_the_file_with_its_labels(client: Client) -> None:
    text = json.dumps(flat((1, 1, 3)))
    status, content, headers = client.ask("POST", "/predict?output=scene", text.encode())
    assert (status, headers["content-type"]) == (200, "application/json")
    scene = parse_scene(content)
    assert (scene[R].name, scene[R].label) == ("room of 4", 4)
    before, after = json.loads(text), json.loads(content)
    for node in (*before["nodes"], *after["nodes"]):
        for name in ("name", "semantic_label", "semantic_class_probabilities") if node["layer"] == 4 else ():
            node["attributes"].pop(name, None)
    assert after == before
    status, answer = client.post(plain(), "/predict?output=scene")
    assert status == 422 and answer["detail"].startswith("Expected a scene in the form of Spark-DSG for output=scene")


def test_known_labels_reach_the_labeller(client: Client) -> None:
    status, answer = client.post({"scene": plain(2), "known": {"room": "bath"}})
    assert status == 200 and answer["nodes"][0]["label"] == "bath"
    status, answer = client.post({"scene": flat((1, 1, 3)), "known": {str(R): "attic"}})
    assert [node["label"] for node in answer["nodes"]] == ["attic", "room of 4"]
    status, answer = client.post({"scene": plain(2), "knwon": {"room": "bath"}})
    assert (status, answer["detail"]) == (
        422,
        "Expected scene and known in a request; got 'knwon'. Did you mean known?",
    )
    status, answer = client.post({"scene": plain(2), "known": {"cellar": "bath"}})
    assert status == 422
    assert answer["detail"] == "Expected ids of nodes of the scene under known; got 'cellar'."


DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "Expecting value. Expected complete JSON"),
        (b'{"nodes": [', "line 1, column 12"),
        (b"\xff\xfe", "Expected a scene as JSON or in the binary form of Spark-DSG; got 2 bytes that are neither"),
        (b"\x80\x04\x95pickle.", "Both ends need the same version of Spark-DSG"),
        (b'{"nodes": "\xff"}', "Expected text in UTF-8; got another byte at place 11"),
        (b"[1, 2]", "Expected Spark-DSG JSON, an object with nodes and edges; got something else"),
        (b'{"nodes": 5, "edges": []}', "Expected nodes of a Spark-DSG file as a list; got int"),
        (b'{"scene": 5}', "Expected Spark-DSG JSON, an object with nodes and edges"),
        (b'{"nodes": [{"id": 1, "type": "room", "position": [1]}]}', "Expected the position of node 1 as 3 finite"),
        (b'{"nodes": [{"id": ' + b"9" * 5000 + b"}]}", "expected numbers of moderate length"),
        (json.dumps(plain(1, "wrong")).encode(), "Expected other names; got wrong. Choose others."),
    ],
)
def test_bad_bodies_are_named(client: Client, body: bytes, message: str) -> None:
    for _ in range(2):  # the connection lives on
        status, answer = client.post(body)
        assert status == 422
        assert message in answer["detail"]
    assert client.post(plain())[0] == 200


def test_brackets_without_end(labeller: CountingLabeller) -> None:
    limits = Limits(body=2**20)
    with serving(labeller, limits) as server:
        status, answer = Client(server.addresses[0]).post(DEEP)
        assert status == 422 and "nested too deep" in answer["detail"]


def test_bad_queries_and_addresses(client: Client) -> None:
    status, answer = client.post(plain(), "/predict?top=0")
    assert status == 422 and answer["detail"].startswith("Expected top ") and "got '0'" in answer["detail"]
    status, answer = client.post(plain(), "/predict?output=poem")
    assert status == 422 and "got 'poem'" in answer["detail"]
    assert client.get("/nothing")[0] == 404
    status, answer = client.get("/predict")
    assert status == 405
    assert (
        answer["detail"].startswith("Expected one of POST /predict, GET /health") and "GET /predict" in answer["detail"]
    )


def test_an_error_of_the_labeller_is_one_of_the_server_and_it_lives_on(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    status, answer = client.post(plain(1, "crash"))
    assert status == 500 and "fault of the labeller" not in answer["detail"]
    assert "a request failed" in caplog.text and "a fault of the labeller" in caplog.text
    assert client.post(plain())[0] == 200


def test_too_large_bodies(client: Client) -> None:
    status, answer = client.post(b" " * 20_001)
    assert status == 413
    assert answer["detail"] == (
        "Expected at most 20,000 bytes; got 20,001. Send less, or start the server with a larger --max-body."
    )
    assert client.post(b" " * 3_000_000)[0] == 413
    pieces = (b" " * 5000 for _ in range(100))
    client.connection.request("POST", "/predict", pieces, encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
    assert client.connection.getresponse().status == 413
    client.connection.close()
    status, answer = client.post(plain(50))
    assert status == 413
    assert answer["detail"].startswith("Expected at most 50 nodes; got 51.")
    assert client.ask("POST", "/predict", b"x", {"Content-Encoding": "gzip"})[0] == 415
    assert client.post(plain(49))[0] == 200


def test_requests_that_come_together_are_computed_together() -> None:
    gate = Event()
    labeller = CountingLabeller(gate)
    limits = Limits(waiting=20)
    with serving(labeller, limits) as server, ThreadPoolExecutor(10) as pool:
        first = pool.submit(Client(server.addresses[0]).post, plain(99))
        until(lambda: labeller.batches == [1])
        others = [pool.submit(Client(server.addresses[0]).post, plain(i)) for i in range(8)]
        bad = pool.submit(Client(server.addresses[0]).post, plain(1, "wrong"))
        until(lambda: server.queue.waiting == 9)
        gate.set()
        assert first.result()[1]["nodes"][0]["label"] == "room of 99"
        for i, each in enumerate(others):
            assert each.result()[1]["nodes"][0]["label"] == f"room of {i}"
        assert bad.result()[0] == 422
    # All nine at once, and then one by one since one of them is wrong.
    assert labeller.batches == [1, 9] + [1] * 9


def test_a_full_queue_and_a_slow_answer() -> None:
    gate = Event()
    labeller = CountingLabeller(gate)
    limits = Limits(seconds=1.0, waiting=2)
    with serving(labeller, limits) as server, ThreadPoolExecutor(4) as pool:
        slow = pool.submit(Client(server.addresses[0]).post, plain())
        until(lambda: labeller.batches == [1])
        waiting = [pool.submit(Client(server.addresses[0]).post, plain()) for _ in range(2)]
        until(lambda: server.queue.waiting == 2)
        status, answer, headers = Client(server.addresses[0]).ask("POST", "/predict", json.dumps(plain()).encode())
        assert (status, headers["retry-after"]) == (503, "1")
        assert "Send the request again" in json.loads(answer)["detail"]
        for each in (slow, *waiting):
            status, answer = each.result()
            assert status == 504 and answer["detail"].startswith("Expected an answer within 1 seconds")
        gate.set()
        until(lambda: server.queue.waiting == 0)
        assert labeller.batches == [1]  # what nobody waits for is not computed
        assert Client(server.addresses[0]).post(plain())[0] == 200


def test_slow_clients_are_let_go_and_others_are_served(labeller: CountingLabeller) -> None:
    limits = Limits(seconds=0.5)
    with serving(labeller, limits) as server:
        port = int(server.addresses[0].rpartition(":")[2])
        silent, head, body = (socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(3))
        head.sendall(b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Le")
        body.sendall(b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
        assert Client(server.addresses[0]).post(plain())[0] == 200
        assert silent.recv(100) == b"" and head.recv(100) == b""
        answer = body.recv(1000)
        assert answer.startswith(b"HTTP/1.1 408") and b"connection: close" in answer.lower()
        for each in (silent, head, body):
            each.close()
        kept = Client(server.addresses[0])
        for _ in range(3):  # a connection that is used does not count as slow
            time.sleep(0.3)
            assert kept.post(plain())[0] == 200


def test_tokens() -> None:
    with serving(CountingLabeller(), token="secret-1") as server:
        address = server.addresses[0]
        assert Client(address, "secret-1").post(plain())[0] == 200
        for token in (None, "secret-2", "", "Secret-1", "\xe9"):
            status, answer, headers = Client(address, token).ask("POST", "/predict", json.dumps(plain()).encode())
            assert (status, headers["www-authenticate"]) == (401, "Bearer")
            assert "Authorization: Bearer TOKEN" in json.loads(answer)["detail"]
        assert Client(address).post(b" " * 100_000)[0] == 401
        assert Client(address).ask("GET", "/metrics")[0] == 401
        assert Client(address).get("/health")[0] == 200
        assert Client(address, "secret-1").ask("GET", "/metrics")[0] == 200


def test_health_metrics_and_the_page_of_the_interface(client: Client) -> None:
    assert client.get("/health")[1] | {"version": ""} == {
        "status": "ok",
        "answers": "scenes",
        "model": "counting",
        "version": "",
        "waiting": 0,
    }
    client.post(plain())
    client.post(b"{")
    status, page, headers = client.ask("GET", "/metrics")
    assert status == 200 and headers["content-type"].startswith("text/plain")
    lines = page.decode().splitlines()
    assert 'neuraltrees_requests_total{status="200",transport="http"} 1.0' in lines
    assert 'neuraltrees_requests_total{status="422",transport="http"} 1.0' in lines
    assert 'neuraltrees_request_seconds_count{transport="http"} 1.0' in lines
    assert "neuraltrees_batch_requests_count 1.0" in lines
    schema: Any = client.get("/openapi.json")[1]
    asked = schema["paths"]["/predict"]["post"]
    assert set(asked["responses"]) >= {"200", "401", "408", "413", "422", "503", "504"}
    assert client.post(asked["requestBody"]["content"]["application/json"]["example"])[0] == 200


def test_the_page_of_the_interface_needs_no_internet(client: Client) -> None:
    status, content, headers = client.ask("GET", "/docs")
    page = content.decode()
    assert status == 200 and headers["content-type"].startswith("text/html")
    for text in ("<h2>POST /predict</h2>", "?top=", "&quot;type&quot;: &quot;room&quot;", "GET /metrics", "413"):
        assert text in page
    assert re.findall(r"(?:src|href)=[\"']?([^\"'>]*)", page) == ["openapi.json"]
    assert "<script" not in page and "http:" not in page and "https:" not in page
    assert client.get("/redoc")[0] == 404  # which would load scripts


def test_a_refusal_after_the_whole_body_comes_at_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuraltrees.serving.server.http.LINGER", 3600.0)
    status, answer = client.post(plain(50))
    assert status == 413 and "nodes" in answer["detail"]


def test_labels_without_probabilities(labeller: CountingLabeller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labeller, "_labels", lambda scene, known: {"room": NodeLabel("bath")})
    with serving(labeller) as server:
        status, answer = Client(server.addresses[0]).post(plain())
    assert (status, answer["nodes"]) == (200, [{"id": "room", "type": "room", "label": "bath"}])


@pytest.mark.parametrize("ids", [(7, "7"), ("7", 7)])
def test_a_known_label_is_of_the_id_that_is_text_before_that_of_a_number(client: Client, ids: tuple[Any, Any]) -> None:
    twins = {"nodes": [{"id": each, "type": "room"} for each in ids]}
    status, answer = client.post({"scene": twins, "known": {"7": "bath"}})
    assert status == 200
    assert {node["id"]: node["label"] for node in answer["nodes"]} == {"7": "bath", 7: "room of 0"}


def test_the_end_waits_for_what_runs(labeller: CountingLabeller) -> None:
    labeller.gate = Event()
    server = serving(labeller)
    with server, ThreadPoolExecutor(2) as pool:
        running = pool.submit(Client(server.addresses[0]).post, plain(7))
        until(lambda: labeller.batches == [1])
        ending = Thread(target=server.__exit__, args=(None, None, None))
        ending.start()
        port = int(server.addresses[0].rpartition(":")[2])

        def refused() -> bool:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
            except OSError:
                return True
            return False

        until(refused)
        labeller.gate.set()
        status, answer = running.result()
        assert status == 200 and answer["nodes"][0]["label"] == "room of 7"
        ending.join(20)
        assert not ending.is_alive()


def test_a_server_that_does_not_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    server = serving(CountingLabeller())
    with pytest.raises(NeuralTreesError, match=r"Expected the HTTP server at http:.* to start; it did not"):
        server.__enter__()
    with pytest.raises(Refusal, match="queue of the server"):  # it is closed
        server.queue.submit(b"{}", Wants())


def test_an_answer_is_sent_at_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TCP_NODELAY, the body of an answer waits for the acknowledgement of its head, some 40 ms."""
    found = []
    made = PatientProtocol.connection_made

    def noted(self: PatientProtocol, transport: Any) -> None:
        found.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)

    monkeypatch.setattr(PatientProtocol, "connection_made", noted)
    assert client.post(plain(2))[0] == 200
    assert found == [1]


def test_an_address_that_is_taken_and_wrong_limits() -> None:
    with serving(CountingLabeller()) as server:
        port = int(server.addresses[0].rpartition(":")[2])
        with pytest.raises(InputError, match=f"got 127.0.0.1:{port}, where that fails: .* Choose another --port"):
            Server(server.queue.service, SMALL, ("127.0.0.1", port))
    for name, value in (("body", 0), ("seconds", float("nan")), ("window", -1), ("waiting", True)):
        with pytest.raises(InputError, match=f"Expected the limit {name} "):
            Limits(**{name: value})
