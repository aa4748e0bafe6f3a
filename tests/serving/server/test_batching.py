"""The queue of requests: how a batch is computed."""

from __future__ import annotations

import gc
from collections.abc import Sequence

from neuraltrees.serving.server.batching import BatchQueue
from neuraltrees.serving.server.limits import Limits
from neuraltrees.serving.server.metrics import Metrics
from neuraltrees.serving.server.service import Reply, Wants


class Watcher:
    """Answers whether garbage collections are enabled while it computes; the question b"fail" is an error."""

    what, model = "graphs", "watcher"

    def read(self, body: bytes, wants: Wants) -> bytes:
        return body

    def answer(self, questions: Sequence[bytes]) -> list[bool]:
        if b"fail" in questions:
            raise ValueError("as asked")
        return [gc.isenabled() for _ in questions]

    def write(self, question: bytes, answer: bool, wants: Wants) -> Reply:
        return Reply(str(answer).encode())


def test_batches_are_computed_without_garbage_collections() -> None:
    queue = BatchQueue(Watcher(), Limits(), Metrics())
    queue.start()
    try:
        assert queue.submit(b"", Wants()).result(60).content == b"False"
        assert isinstance(queue.submit(b"fail", Wants()).exception(60), ValueError)
    finally:
        queue.stop()
    assert gc.isenabled()
