"""neuraltrees serve as a process: it says where it is, ends gracefully, and comes back after a kill."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import neuraltrees as nt
from neuraltrees.cli import main
from neuraltrees.training import fit
from tests.serving.server.clients import Client
from tests.serving.server.test_graphs import as_json
from tests.training.tasks import QUICK, SMALL, small_runs, small_task

pytest.importorskip("fastapi", reason="the server needs the extra serve")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    task = small_task()
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    nt.Bundle.of(fit(task, SMALL, QUICK, small_runs(task, [0]))).save(path)
    return path


@contextmanager
def process(*arguments: object, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process of a server and its address."""
    started = subprocess.Popen(
        [sys.executable, "-m", "neuraltrees", "serve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore", **environment},
    )
    try:
        assert started.stdout is not None
        said = started.stdout.readline()
        found = re.search(r"(http://[^\s\"]+:\d+)", said)
        assert found is not None, said + (started.stderr.read() if started.stderr else "")
        yield started, found[1]
    finally:
        started.kill()
        started.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_and_a_signal_ends_it_after_what_runs(model: Path, number: signal.Signals) -> None:
    with process(model, "--port", 0, "--timeout", 120) as (server, address):
        client = Client(address, timeout=150)
        assert client.post(as_json(3))[0] == 200
        assert client.get("/health")[1]["answers"] == "graphs"
        body = json.dumps({"graphs": [as_json(5)] * 500}).encode()
        running = [Client(address, timeout=150) for _ in range(3)]
        for each in running:
            each.connection.request("POST", "/predict", body)
        for _ in range(2):  # when this is answered, the others have been heard as well
            assert client.get("/health")[0] == 200
        server.send_signal(number)
        assert [each.connection.getresponse().status for each in running] == [200] * 3
        out, errors = server.communicate(timeout=150)
        assert server.returncode == 0, errors
        assert out == ""
        assert errors.strip() == "Stopping after the requests that are being computed."


def test_its_address_as_json(model: Path) -> None:
    with process(model, "--port", 0, "--json", "--quiet") as (server, address):
        assert Client(address).get("/health")[1]["answers"] == "graphs"
        server.send_signal(signal.SIGTERM)
        assert server.communicate(timeout=60) == ("", "")


def test_a_token_from_a_file_and_from_the_environment(model: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc-123\n")
    with process(model, "--port", 0, "--token-file", tmp_path / "token") as (_, address):
        assert Client(address).post(as_json(0))[0] == 401
        assert Client(address, "abc-123").post(as_json(0))[0] == 200
    with process(model, "--port", 0, NEURALTREES_TOKEN="xyz") as (_, address):
        assert Client(address, "abc-123").post(as_json(0))[0] == 401
        assert Client(address, "xyz").post(as_json(0))[0] == 200


def test_after_kill_9_it_starts_again_on_the_same_port(model: Path) -> None:
    with process(model, "--port", 0) as (server, address):
        client = Client(address)
        assert client.post(as_json(0))[0] == 200  # the connection stays open
        first = client.post(as_json(4))
        server.kill()
        server.wait()
    with process(model, "--port", address.rpartition(":")[2]) as (_, again):
        assert again == address
        assert Client(again).post(as_json(4)) == first


def test_wrong_options_are_named(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "token").write_text("two words")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for arguments, message in (
        ((model, "--no-http"), "Expected --http, --zmq or both; got neither."),
        ((model, "--token-file", tmp_path / "token"), "Expected a token of printable ASCII characters"),
        ((model, "--timeout", 0), "Expected the limit seconds above 0; got 0"),
        ((model, "--max-body", "nan"), "Expected --max-body as a number of MiB above 0; got nan"),
        ((model, "--max-body", "inf"), "Expected --max-body as a number of MiB above 0; got inf"),
        ((model, "--token-file", tmp_path / "binary"), "Expected a token of printable ASCII characters"),
        ((model, "--port", 0, "--zmq", "--zmq-labels", "here"), "Expected addresses of ZMQ such as"),
        ((tmp_path / "none.safetensors",), "none.safetensors"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["serve", *map(str, arguments)])
        errors = capsys.readouterr().err
        assert ended.value.code == 2
        assert message in errors and len(errors.splitlines()) == 1
