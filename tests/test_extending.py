"""docs/extending.md: every snippet is one file of at most 40 lines, and runs as it stands."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "extending.md"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), re.DOTALL)
FILES = {
    match.group(1): text for kind, text in BLOCKS if (match := re.match(r"# (\w+\.py)\n", text)) and kind == "python"
}
COMMANDS = [line for kind, text in BLOCKS if kind == "console" for line in text.splitlines()]
JSON = next(text for kind, text in BLOCKS if kind == "json")
MOST_LINES = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All snippets, saved as the page says."""
    found = tmp_path_factory.mktemp("extending")
    for name, text in FILES.items():
        (found / name).write_text(text)
    (found / "ring.json").write_text(JSON)
    return found


def run(folder: Path, *command: str) -> str:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_everything_on_the_page_is_run() -> None:
    assert len(FILES) == sum(kind == "python" for kind, _ in BLOCKS), "a block has no file name"
    assert {kind for kind, _ in BLOCKS} == {"python", "console", "json"}
    assert {"edge_gated.py", "attention_head.py", "counts.py", "rings.py", "sweep.py"} <= FILES.keys()


@pytest.mark.parametrize("name", FILES)
def test_a_snippet_is_short(name: str) -> None:
    assert len(FILES[name].strip().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("name", [name for name in FILES if name not in ("serve.py", "all_reduce.py")])
def test_a_snippet_runs(name: str, folder: Path) -> None:
    printed = run(folder, sys.executable, name)
    expected = re.findall(r"print\(.*\)  # (.*)", FILES[name])
    assert all(text in printed for text in expected), printed


def test_the_dataset_is_trained_tuned_and_predicted_from_the_command_line(folder: Path) -> None:
    for line in COMMANDS:
        program, *words = line.split()
        assert program == "neuraltrees"
        printed = run(folder, str(Path(sys.executable).parent / program), *words)
    assert re.search(r"graph +(even|odd)", printed)


def test_two_processes_have_the_losses_of_one(folder: Path) -> None:
    lines = run(folder, sys.executable, "all_reduce.py").splitlines()
    losses = {line[0]: json.loads(re.search(r"\[.*?\]", line).group()) for line in lines}  # type: ignore[union-attr]
    assert losses["0"] == losses["1"]
    assert len(losses["0"]) == 2


def test_the_server_answers(folder: Path) -> None:
    run(folder, sys.executable, "-m", "neuraltrees", *COMMANDS[0].split()[1:-1], "served-run")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "serve.py", "served-run/model.safetensors", str(port)]
    server = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
    try:
        assert ask(port, JSON.encode())[0] == 200
        code, answer = ask(port, b'{"nodes": []}')
        assert code == 422 and "expected nodes" in answer["error"]
    finally:
        server.kill()
        server.wait()


def ask(port: int, body: bytes) -> tuple[int, dict[str, str]]:
    """The answer of a server that may not have started yet."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}", body, timeout=30) as answer:
                return answer.status, json.loads(answer.read())
        except HTTPError as error:
            return error.code, json.loads(error.read())
        except URLError:
            time.sleep(0.1)
    raise AssertionError("the server does not answer")
