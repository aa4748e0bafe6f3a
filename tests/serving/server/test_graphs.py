"""A server of any other model: the JSON of `neuraltrees predict`, in and out, alone and in a batch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

import neuraltrees as nt
from neuraltrees.serving.server import GraphService, Limits, Server, Wants
from neuraltrees.training import NetworkSpec, fit
from tests.serving.server.clients import Client
from tests.training.tasks import QUICK, SMALL, paths, small_runs, small_task

pytest.importorskip("fastapi", reason="the server needs the extra serve")

LIMITS = Limits(nodes=40)
TYPES = ("first", "other")


def as_json(number: int) -> dict[str, Any]:
    graph = paths()[number]
    nodes = [
        {"x": x, "type": TYPES[kind], "name": f"n{i}"}
        for i, (x, kind) in enumerate(zip(graph.x.tolist(), graph.node_type.tolist(), strict=True))
    ]
    return {"nodes": nodes, "edges": graph.edge_index.t().tolist()}


@pytest.fixture(scope="module")
def predictor() -> nt.Predictor:
    task = small_task()
    return nt.Predictor(nt.Bundle.of(fit(task, SMALL, QUICK, small_runs(task, [0]))))


@pytest.fixture(scope="module")
def address(predictor: nt.Predictor) -> Iterator[str]:
    with Server(GraphService(predictor, LIMITS), LIMITS, ("127.0.0.1", 0)) as server:
        yield server.addresses[0]


def expected(predictor: nt.Predictor, number: int, top: int = 3) -> list[dict[str, Any]]:
    (answers,) = predictor.label([paths()[number]], top)
    return [{"name": f"n{i}", **each.as_dict()} for i, each in enumerate(answers)]


def same(left: Any, right: Any) -> bool:
    """Whether two answers are equal up to rounding."""
    if isinstance(left, float):
        return left == pytest.approx(right, abs=2e-6)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def test_the_answer_is_that_of_predict(address: str, predictor: nt.Predictor) -> None:
    client = Client(address)
    status, answer = client.post(as_json(3))
    assert status == 200
    assert same(answer, {"graphs": [{"nodes": expected(predictor, 3)}]})
    status, answer = client.post({"graphs": [as_json(0), as_json(4)]}, "/predict?top=1")
    assert same(answer, {"graphs": [{"nodes": expected(predictor, each, 1)} for each in (0, 4)]})
    assert client.get("/health")[1]["answers"] == "graphs"


def test_many_clients_get_their_own_answers(address: str, predictor: nt.Predictor) -> None:
    with ThreadPoolExecutor(8) as pool:
        jobs = [(i % 12, pool.submit(Client(address).post, as_json(i % 12))) for i in range(48)]
        for number, job in jobs:
            status, answer = job.result()
            assert status == 200
            assert same(answer["graphs"][0]["nodes"], expected(predictor, number))


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"{", 422, "the request, line 1, column 2: Expecting property name"),
        (b"[" * 90_000, 422, "the request: expected JSON of moderate depth"),
        (b"\xff", 422, "Expected text in UTF-8; got another byte at place 0. Send complete JSON in UTF-8."),
        (b"5", 422, "the request: expected graph"),
        ({"graphs": []}, 422, "Expected the request to hold a graph, or a list under 'graphs'; got an empty list"),
        ({"nodes": [{"x": [1.0]}], "edges": []}, 422, "the request: expected node 0 of type first or other; got None"),
        ({"nodes": [{"x": [1.0], "type": "first"}], "edges": []}, 422, "Graph 0: Expected 5 features"),
        ({"graphs": [as_json(0)] * 20}, 413, "Expected at most 40 nodes; got 60."),
        (as_json(0) | {"known": {"n1": "one"}}, 422, "Expected no known labels for a network whose head is"),
    ],
)
def test_bad_requests_are_named(address: str, content: Any, status: int, message: str) -> None:
    got, answer = Client(address).post(content)
    assert got == status
    assert message in answer["detail"]
    assert Client(address).post(as_json(1))[0] == 200


def test_known_labels_of_some_requests_of_a_batch() -> None:
    task = small_task()
    spec = NetworkSpec(conv="sage", hidden=8, layers=2, head="crf")
    predictor = nt.Predictor(nt.Bundle.of(fit(task, spec, QUICK, small_runs(task, [0]))))
    service = GraphService(predictor, LIMITS)
    bodies = [as_json(0), as_json(1) | {"known": {"n1": "both"}}, {"graphs": [as_json(2)], "known": [{"n0": "yes"}]}]
    questions = [service.read(json.dumps(body).encode(), Wants()) for body in bodies]
    together = service.answer(questions)
    for question, answer in zip(questions, together, strict=True):
        (alone,) = service.answer([question])
        torch.testing.assert_close(alone[0], answer[0], atol=1e-5, rtol=0)
    assert together[1][0][1].argmax() == 2 and together[2][0][0].argmax() == 1
