"""A queue of requests, whose answers one thread computes in batches.

Reading a request, the forward pass and writing the answer hold Python's interpreter lock most of the time: several
threads would only take turns, each waiting for the lock after every operation of torch.
"""

from __future__ import annotations

import gc
import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Any

from neuraltrees.errors import NeuralTreesError
from neuraltrees.serving.server.limits import Limits, Refusal, too_busy, too_slow
from neuraltrees.serving.server.metrics import Metrics
from neuraltrees.serving.server.service import Reply, Service, Wants

log = logging.getLogger("neuraltrees.serving")


@dataclass(frozen=True, eq=False)
class Job:
    """A request in the queue: its body, the form of its answer, its deadline, and the future of its answer."""

    body: bytes
    wants: Wants
    deadline: float
    reply: Future[Reply] = field(default_factory=Future)

    def fail(self, error: BaseException) -> None:
        with suppress(InvalidStateError):  # nobody waits any more
            self.reply.set_exception(error)


class BatchQueue:
    """A queue of requests; those that wait at the same time are answered by one forward pass.

    A request that comes alone is computed at once. While the bodies of others are arriving (`expecting`), it waits for
    them, at most `limits.window` seconds. Requests that come while a batch is computed make the next batch.

    Args:
        service: computes the answers.
        limits: how many requests may wait, and how many are computed together.
        metrics: counts requests and batches.
    """

    def __init__(self, service: Service, limits: Limits, metrics: Metrics) -> None:
        self.service, self.limits, self.metrics = service, limits, metrics
        self._waiting: deque[Job] = deque()
        self._arriving = 0
        self._stopping = False
        self._changed = Condition()
        self._thread = Thread(target=self._work, name="neuraltrees-batches", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Answers the requests that wait, and ends the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @contextmanager
    def expecting(self) -> Iterator[None]:
        """A context that lasts while the body of a request arrives."""
        with self._changed:
            self._arriving += 1
        try:
            yield
        finally:
            with self._changed:
                self._arriving -= 1
                self._changed.notify_all()

    def submit(self, body: bytes, wants: Wants) -> Future[Reply]:
        """Puts a request into the queue; raises `Refusal` if the queue is full or closed."""
        job = Job(body, wants, time.monotonic() + self.limits.seconds)
        with self._changed:
            if self._stopping or len(self._waiting) >= self.limits.waiting:
                raise too_busy()
            self._waiting.append(job)
            self._changed.notify_all()
        return job.reply

    def _gathered(self) -> list[Job]:
        """The next requests to compute; an empty list when the queue is stopped."""
        with self._changed:
            while not self._waiting and not self._stopping:
                self._changed.wait()
            end = time.monotonic() + self.limits.window
            while self._waiting and len(self._waiting) < self.limits.batch and self._arriving and not self._stopping:
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            count = min(len(self._waiting), self.limits.batch)
            return [self._waiting.popleft() for _ in range(count)]

    def _work(self) -> None:
        while jobs := self._gathered():
            try:
                with _without_collections():
                    self._compute(jobs)
            except BaseException as error:  # the thread must live on, whatever happens
                log.exception("a batch of requests failed")
                for job in jobs:
                    job.fail(error)
            del jobs  # so that no request is kept while the next is awaited

    def _compute(self, jobs: Sequence[Job]) -> None:
        asked: list[tuple[Job, Any]] = []
        for job in jobs:
            if not job.reply.set_running_or_notify_cancel():
                continue
            if time.monotonic() > job.deadline:
                job.fail(too_slow(self.limits.seconds))
                continue
            try:
                asked.append((job, self.service.read(job.body, job.wants)))
            except Exception as error:
                job.fail(_noted(error))
        if not asked:
            return
        self.metrics.batch(len(asked))
        for (job, question), answer in zip(asked, self._answers([each for _, each in asked]), strict=True):
            try:
                if isinstance(answer, Exception):
                    raise answer
                job.reply.set_result(self.service.write(question, answer, job.wants))
            except Exception as error:
                job.fail(_noted(error))

    def _answers(self, questions: Sequence[Any]) -> Sequence[Any]:
        """The answers to all questions; if computing them together fails, each is computed alone or has its error."""
        try:
            return self.service.answer(questions)
        except Exception as error:
            if len(questions) == 1:
                return [error]
        return [answer for each in questions for answer in self._answers([each])]


@contextmanager
def _without_collections() -> Iterator[None]:
    """A context without garbage collections: they would look at the thousands of values of a request again and again,
    although these have no cycles and are freed without them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _noted(error: Exception) -> Exception:
    """The error to report; it is logged unless the request caused it."""
    if isinstance(error, MemoryError) and not isinstance(error, NeuralTreesError):
        return Refusal(413, "Expected a request whose answer fits into memory; it does not. Send a smaller one.")
    if not isinstance(error, NeuralTreesError):
        log.error("a request failed", exc_info=error)
    return error
