"""The node of ROS 2 against a stub of rclpy: graphs go to a real server, labelled ones are published."""

from __future__ import annotations

import importlib.util
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from neuraltrees.serving.server import Limits, SceneService, Server
from tests.serving.server.clients import CountingLabeller

pytest.importorskip("fastapi", reason="the server needs the extra serve")

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "ros2" / "label_scene_graphs.py"
LIMITS = Limits(body=100_000)


@dataclass
class DsgUpdate:
    """As Hydra's message."""

    header: Any = None
    layer_contents: Any = b""
    full_update: bool = False
    sequence_number: int = 0


class Log:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def warning(self, text: str) -> None:
        self.lines.append(text)

    error = warning


class Node:
    """What the example uses of rclpy's."""

    parameters: dict[str, Any] = {}  # noqa: RUF012  set by tests

    def __init__(self, name: str) -> None:
        self.name, self.log = name, Log()
        self.published: list[DsgUpdate] = []
        self.callbacks: dict[str, Callable[[DsgUpdate], None]] = {}

    def declare_parameter(self, name: str, default: Any) -> Any:
        return SimpleNamespace(value=self.parameters.get(name, default))

    def create_publisher(self, kind: type, topic: str, depth: int) -> Any:
        assert (kind, topic, depth) == (DsgUpdate, "dsg_out", 1)
        return SimpleNamespace(publish=self.published.append)

    def create_subscription(self, kind: type, topic: str, callback: Any, depth: int) -> None:
        assert (kind, depth) == (DsgUpdate, 1)
        self.callbacks[topic] = callback

    def get_logger(self) -> Log:
        return self.log


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    names = {"rclpy": {}, "rclpy.node": {"Node": Node}, "hydra_msgs": {}, "hydra_msgs.msg": {"DsgUpdate": DsgUpdate}}
    for name, content in names.items():
        module = ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location("label_scene_graphs", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def node(example: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with Server(SceneService(CountingLabeller(), LIMITS, "counting"), LIMITS, ("127.0.0.1", 0), "secret") as server:
        monkeypatch.setattr(Node, "parameters", {"server": server.addresses[0]})
        monkeypatch.setenv("NEURALTREES_TOKEN", "secret")
        yield example.LabelSceneGraphs()


def graph(rooms: int = 1) -> bytes:
    library = pytest.importorskip("spark_dsg", reason="the binary form needs the extra hydra")
    built = library.DynamicSceneGraph()
    for number in range(rooms):
        built.add_node(library.DsgLayers.ROOMS, number, library.RoomNodeAttributes())
    return bytes(built.to_binary(include_mesh=False))


def test_graphs_are_labelled_and_published(node: Any) -> None:
    library = pytest.importorskip("spark_dsg", reason="the binary form needs the extra hydra")
    node.callbacks["dsg_in"](DsgUpdate("header", list(graph(2)), True, 7))
    (message,) = node.published
    assert (message.header, message.full_update, message.sequence_number) == ("header", True, 7)
    labelled = library.DynamicSceneGraph.from_binary(bytes(message.layer_contents))
    assert [each.attributes.name for each in labelled.nodes] == ["room of 0"] * 2
    assert node.log.lines == []


def test_what_cannot_be_labelled_is_said_and_nothing_is_published(node: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tell = node.callbacks["dsg_in"]
    tell(DsgUpdate("header", b"\xdd\xff", True))
    assert "The server refused a graph (422)" in node.log.lines[-1] and "same version" in node.log.lines[-1]
    tell(DsgUpdate("header", b"", False))
    assert "update of a part" in node.log.lines[-1]
    monkeypatch.setenv("NEURALTREES_TOKEN", "wrong")
    tell(DsgUpdate("header", b"\xdd", True))
    assert "(401)" in node.log.lines[-1]
    node._server = "http://127.0.0.1:9"
    tell(DsgUpdate("header", b"\xdd", True))
    assert node.log.lines[-1].startswith("No answer from http://127.0.0.1:9")
    with broken_server() as address:
        node._server = address
        tell(DsgUpdate("header", b"\xdd", True))
    assert node.log.lines[-1].startswith(f"No answer from {address}: IncompleteRead")
    assert node.published == []


@contextmanager
def broken_server() -> Iterator[str]:
    """A server that ends in the middle of its answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(2**16)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(2**16):  # closing with unread bytes would reset the connection
                    pass

        thread = Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(20)
