"""Small work is computed by one thread, and torch's own number of threads stays as it was."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import neuraltrees as nt
from neuraltrees.training import threads as threads_module
from neuraltrees.training.threads import computing_with
from tests.training.tasks import QUICK, SMALL, small_runs, small_task


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


class Watched(nt.nn.Head):  # type: ignore[name-defined, misc]
    """A linear head that notes the number of threads it is computed with."""

    seen: list[int] = []  # noqa: RUF012

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.inner = nt.nn.NodeHead(*arguments)  # type: ignore[attr-defined]

    def forward(self, h: torch.Tensor, places: Any) -> torch.Tensor:
        self.seen.append(torch.get_num_threads())
        return self.inner(h, places)  # type: ignore[no-any-return]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    monkeypatch.setattr(Watched, "seen", found)
    return found


def watched_fit(**arguments: Any) -> nt.training.Fitted:
    task = small_task()
    return nt.fit(task, SMALL.replace(head=Watched), QUICK, small_runs(task, [0]), **arguments)


def test_small_work_has_one_thread_and_callers_keep_theirs(seen: list[int]) -> None:
    of_caller: list[int] = []
    fitted = watched_fit(on_epoch=lambda epoch: of_caller.append(torch.get_num_threads()))
    assert set(seen) == {1} and set(of_caller) == {2}
    assert fitted.threads == 1
    seen.clear()
    fitted.answers()
    nt.Predictor(nt.Bundle.of(fitted)).predict(fitted.task.graphs)
    assert seen and set(seen) == {1}
    assert torch.get_num_threads() == 2


def test_large_work_has_the_threads_of_torch(seen: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads_module, "PER_THREAD", 16)
    assert watched_fit().threads == 2
    assert set(seen) == {2}


def test_a_number_that_is_given_counts(seen: list[int]) -> None:
    fitted = watched_fit(threads=2)
    assert set(seen) == {2}
    seen.clear()
    nt.Predictor(nt.Bundle.of(fitted), threads=2).predict(fitted.task.graphs)
    assert seen and set(seen) == {2}


def test_an_error_leaves_the_number_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(Watched, "forward", fail)
    with pytest.raises(RuntimeError, match="broken"):
        watched_fit()
    assert torch.get_num_threads() == 2


def test_threads_that_start_while_another_computes_get_the_full_number_back() -> None:
    """A new thread begins with what torch is set to at that moment, which is another's one."""
    inside, found = threading.Event(), list[int]()

    def compute() -> None:
        with computing_with(1):
            inside.wait(10)
        found.append(torch.get_num_threads())

    with computing_with(1):
        worker = threading.Thread(target=compute)
        worker.start()
        inside.set()
        worker.join(10)
    assert found == [2]
    assert torch.get_num_threads() == 2
