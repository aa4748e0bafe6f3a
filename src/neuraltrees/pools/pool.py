"""The interface of `Workers` and `RayWorkers`, which run tasks, and what they share."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import torch

from neuraltrees.errors import InputError, NeuralTreesError

Item = TypeVar("Item")
Answer = TypeVar("Answer")
GivenItem = TypeVar("GivenItem", contravariant=True)
GivenAnswer = TypeVar("GivenAnswer", covariant=True)


@dataclass(frozen=True)
class Failure:
    """Why a task could not be finished."""

    reason: str
    of_input: bool


class Job(Protocol[GivenItem, GivenAnswer]):
    """What all tasks have in common; every worker gets a copy of it.

    Args:
        word: what a task is called in errors, such as trial.
        saved: whether every answer is saved as soon as it is there, so that work that failed can be continued.
    """

    @property
    def word(self) -> str: ...
    @property
    def saved(self) -> bool: ...

    def answer(self, item: GivenItem) -> GivenAnswer:
        """Does one task; an exception ends all tasks."""
        ...


class Pool(ABC, Generic[Item, Answer]):
    """A context that runs tasks; leaving it ends all workers."""

    def __enter__(self) -> Pool[Item, Answer]:
        return self

    @abstractmethod
    def __exit__(self, *_: object) -> None:
        """Ends all workers, even in the middle of a task."""

    @abstractmethod
    def attempt(self, items: Sequence[Item]) -> Generator[tuple[Item, Answer], None, None]:
        """Yields each item with its answer, in the order in which they finish; the first failure raises an error, which
        names the item by `str(item)`.
        """


def attempt(job: Job[Item, Answer], item: Item) -> Answer | Failure:
    """The answer, or the reason of a failure."""
    try:
        return job.answer(item)
    except Exception as error:
        if isinstance(error, NeuralTreesError):
            return Failure(str(error), isinstance(error, InputError))
        return Failure(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}.", False)


def checked(answer: Answer | Failure, item: object, job: Job[Any, Any]) -> Answer:
    """The answer; raises an error if the task failed."""
    if not isinstance(answer, Failure):
        return answer
    kind = InputError if answer.of_input else NeuralTreesError
    raise kind(f"The {job.word} {item} failed: {answer.reason} {how_to_resume(job)}")


def how_to_resume(job: Job[Any, Any]) -> str:
    """The end of an error: what is left of the work, and how to continue it."""
    if job.saved:
        return f"Finished {job.word}s are saved; rerun the same command to continue."
    return f"Finished {job.word}s are not kept; rerun the same command to start again."


def as_bytes(job: Job[Any, Any]) -> bytes:
    """A job as bytes, to send it to a worker.

    With multiprocessing's own pickling, every tensor would need an open file, of which a system allows about 1,000.
    Unlike plain pickle, `torch.save` stores a tensor that several graphs share only once.
    """
    content = io.BytesIO()
    torch.save(job, content)
    return content.getvalue()


def from_bytes(content: bytes) -> Job[Any, Any]:
    """The job of `as_bytes`; it unpickles, so only for bytes from the process that started this one."""
    job: Job[Any, Any] = torch.load(io.BytesIO(content), weights_only=False)
    return job
