"""What tests of the server share: a labeller that needs no training, and a client of HTTP."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping, Sequence
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from neuraltrees.errors import InputError
from neuraltrees.scenes import NodeLabel, Scene
from neuraltrees.scenes.scene import NodeId


class CountingLabeller:
    """Rooms are named after the number of objects of their scene; what is known is believed.

    Args:
        gate: computing starts when it is set; at once by default.
    """

    def __init__(self, gate: Event | None = None) -> None:
        self.batches: list[int] = []
        self.gate = gate

    def label(
        self, scenes: Sequence[Scene], known: Sequence[Mapping[NodeId, str]] | None = None
    ) -> list[dict[NodeId, NodeLabel]]:
        self.batches.append(len(scenes))
        if self.gate is not None:
            assert self.gate.wait(30)
        return [self._labels(scene, known[i] if known else {}) for i, scene in enumerate(scenes)]

    def _labels(self, scene: Scene, known: Mapping[NodeId, str]) -> dict[NodeId, NodeLabel]:
        if "crash" in scene.names:
            raise RuntimeError("a fault of the labeller")
        if "wrong" in scene.names:
            raise InputError("Expected other names; got wrong. Choose others.")
        objects = len(scene.of_type("object"))
        found = {}
        for i in scene.of_type("room").tolist():
            name = known.get(scene.ids[i], f"room of {objects}")
            found[scene.ids[i]] = NodeLabel(name, objects, {name: 0.75, "other": 0.2, "third": 0.05})
        return found


def plain(objects: int = 1, name: str | None = None) -> dict[str, Any]:
    """A room of some objects as plain JSON."""
    nodes: list[dict[str, Any]] = [{"id": "room", "type": "room", "name": name}]
    nodes += [{"id": i, "type": "object", "position": [i, 0, 0]} for i in range(objects)]
    return {"nodes": nodes, "edges": [[i, "room"] for i in range(objects)]}


class Client:
    """One connection that is kept."""

    def __init__(self, address: str, token: str | None = None, timeout: float = 30) -> None:
        parts = urlsplit(address)
        assert parts.hostname is not None
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def __del__(self) -> None:
        self.connection.close()

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, Mapping[str, str]]:
        self.connection.request(method, path, body, {**self.headers, **(headers or {})})
        answer = self.connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())

    def get(self, path: str) -> tuple[int, Any]:
        status, content, _ = self.ask("GET", path)
        return status, json.loads(content)

    def post(self, content: Any, path: str = "/predict") -> tuple[int, Any]:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        status, answer, _ = self.ask("POST", path, body)
        return status, json.loads(answer)


def until(condition: Any, seconds: float = 20) -> None:
    """Waits until a condition holds; fails after a while."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.005)
