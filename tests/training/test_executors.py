"""What is replayed, and when: the logic of captured work, with a stand-in for CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from neuraltrees.training.executors import Executor, Replay, executor_for


class FakeGraph:
    """Remembers the work that was captured into it and replays it."""

    def __init__(self) -> None:
        self.work: list[str] = []
        self.log: list[str] = []

    def replay(self) -> None:
        self.log += [f"replay {each}" for each in self.work]


@dataclass
class Work:
    """What was run and replayed; while something is captured, work goes into the graph."""

    log: list[str]
    capturing: list[FakeGraph]

    def __call__(self, name: str) -> None:
        if self.capturing:
            self.capturing[-1].work.append(name)
        else:
            self.log.append(f"run {name}")


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Work that logs what happens, in order; CUDA is replaced."""
    happened: list[str] = []
    capturing: list[FakeGraph] = []

    class Stream:
        def wait_stream(self, other: object) -> None: ...

    @contextmanager
    def graph(made: FakeGraph, pool: object, stream: object) -> Iterator[None]:
        made.log = happened
        capturing.append(made)
        yield
        capturing.pop()

    @contextmanager
    def stream(which: object) -> Iterator[None]:
        yield

    fakes: dict[str, Any] = {"Stream": lambda device: Stream(), "graph_pool_handle": lambda: 0, "graph": graph}
    fakes |= {"stream": stream, "current_stream": lambda device: Stream(), "CUDAGraph": FakeGraph}
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    return Work(happened, capturing)


def test_work_is_run_once_captured_once_and_then_replayed(work: Work) -> None:
    replay = Replay(torch.device("cuda"))
    for _ in range(4):
        replay("a", lambda: work("a"))
    replay("b", lambda: work("b"))
    assert work.log == ["run a", "replay a", "replay a", "replay a", "run b"]
    assert set(replay.graphs) == {"a"}


def test_the_executor_of_a_device() -> None:
    assert type(executor_for(torch.device("cpu"), capturable=True)) is Executor
    assert type(executor_for(torch.device("cuda"), capturable=False)) is Executor


def test_a_plain_executor_does_all_of_it() -> None:
    executor, done = Executor(), []
    executor("a", lambda: done.append(1))
    tensor = torch.ones(2)
    assert (done, executor.share([3, 1]), executor.total(tensor) is tensor) == ([1], [3, 1], True)
