"""Many clients at once, good and bad: every good request must have its right answer."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from tests.serving.server.clients import Client

COMMAND = (sys.executable, "-m", "neuraltrees", "serve")
PAGE = os.sysconf("SC_PAGE_SIZE")


class ServerProcess:
    """`neuraltrees serve` as a process of its own that can be killed and started again at the same port.

    Args:
        model: the file.
        arguments: more options.
        core: the only processor it may use; None for any.
    """

    def __init__(self, model: Path, *arguments: object, core: int | None = None) -> None:
        self.model, self.arguments, self.core, self.port = model, arguments, core, 0
        self.start()

    def start(self) -> None:
        pinned = None if self.core is None else lambda: os.sched_setaffinity(0, {self.core or 0})
        self.process = subprocess.Popen(
            [*COMMAND, self.model, "--port", str(self.port), *map(str, self.arguments)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"},
            preexec_fn=pinned,
        )
        assert self.process.stdout is not None
        found = re.search(r"on http://\S+:(\d+)", self.process.stdout.readline())
        assert found is not None, "the server did not start"
        self.port = int(found[1])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def memory(self) -> float:
        """Resident memory in MiB."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * PAGE / 2**20

    def processor_seconds(self) -> float:
        """The processor time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@dataclass
class Load:
    """What clients ask and what came of it.

    Args:
        good: bodies, each with a check of its answer.
        counts: how often each thing happened.
        wrong: what should not have happened.
    """

    good: Sequence[tuple[bytes, Callable[[Any], bool]]]
    too_large: int
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def run(self, server: ServerProcess, seconds: float, clients: int, kill_at: Sequence[float] = ()) -> list[float]:
        """Lets clients ask for so long, kills and restarts the server at these times; the memory per second."""
        end = time.monotonic() + seconds
        threads = [Thread(target=self._client, args=(server, end, seed)) for seed in range(clients)]
        start, kills, memory = time.monotonic(), sorted(kill_at), list[float]()
        for thread in threads:
            thread.start()
        while time.monotonic() < end:
            time.sleep(min(1.0, max(0.0, end - time.monotonic())))
            if kills and time.monotonic() - start > kills[0]:
                kills.pop(0)
                server.kill()
                server.start()
                memory.clear()
                self.counts["kill -9"] += 1
            memory.append(server.memory())
        for thread in threads:
            thread.join()
        return memory

    def _client(self, server: ServerProcess, end: float, seed: int) -> None:
        draw = random.Random(seed)
        client = Client(server.address)
        while time.monotonic() < end:
            body, right = draw.choice(self.good)
            act = draw.random()
            try:
                if act < 0.7:
                    self._good(client, body, right)
                elif act < 0.9:
                    self._bad(client, body, draw)
                elif act < 0.95:
                    self._expect(client, b" " * (self.too_large + 1), 413)
                else:
                    self._slow(server, body, draw)
            except (OSError, http.client.HTTPException):
                self._count("lost connections")
                time.sleep(0.05)
                client = Client(server.address)

    def _good(self, client: Client, body: bytes, right: Callable[[Any], bool]) -> None:
        status, answer, _ = client.ask("POST", "/predict", body)
        if status == 503:
            self._count("told to come back")
            time.sleep(0.05)
            return
        if status != 200 or not right(json.loads(answer)):
            self._wrong(f"a good request: {status} {answer[:200]!r}")
        self._count("good")

    def _bad(self, client: Client, body: bytes, draw: random.Random) -> None:
        cut, damaged = body[: draw.randrange(len(body) - 1)], bytearray(body)
        damaged[draw.randrange(len(damaged))] = 0xFE
        self._expect(client, draw.choice([cut, bytes(damaged), b"[" * 5000, b"\x80\x04pickle", b"{}"]), 422)

    def _expect(self, client: Client, body: bytes, expected: int) -> None:
        status, answer, _ = client.ask("POST", "/predict", body)
        if status != 503:
            if status != expected or b"xpected" not in answer:
                self._wrong(f"a bad request: {status} {answer[:200]!r} instead of {expected}")
            self._count(str(status))

    def _slow(self, server: ServerProcess, body: bytes, draw: random.Random) -> None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
            head = f"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            whole = head + body
            connection.sendall(whole[: draw.randrange(len(whole))])
            time.sleep(draw.random() * 0.5)
        self._count("slow")

    def _count(self, what: str) -> None:
        with self.lock:
            self.counts[what] += 1

    def _wrong(self, what: str) -> None:
        with self.lock:
            self.wrong.append(what)


def same_labels(expected: Mapping[Any, Any]) -> Callable[[Any], bool]:
    """A check that an answer has these labels, with probabilities up to rounding."""

    def right(answer: Any) -> bool:
        nodes = answer["nodes"]
        return [node["id"] for node in nodes] == list(expected) and all(
            abs(each["probability"] - expected[node["id"]].probabilities[each["label"]]) < 1e-4
            for node in nodes
            for each in node["top"]
        )

    return right
