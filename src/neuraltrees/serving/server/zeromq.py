"""ZMQ in the protocol of Hydra: graphs come by PUB/SUB, the latest is labelled, and published in the same way."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Event, Thread

import zmq

from neuraltrees.errors import InputError
from neuraltrees.serving.server.batching import BatchQueue
from neuraltrees.serving.server.limits import status_of, too_large, too_slow
from neuraltrees.serving.server.service import Reply, Wants

log = logging.getLogger("neuraltrees.serving")

PAUSE = 100  # milliseconds between two checks whether to stop


@dataclass(frozen=True)
class Addresses:
    """The addresses of ZMQ: where graphs come from, and where labelled graphs are published.

    Args:
        graphs: address of the PUB socket of Hydra, to which the server connects.
        labels: address of the PUB socket that the server binds.
    """

    graphs: str = "tcp://127.0.0.1:8001"
    labels: str = "tcp://127.0.0.1:8002"


class ZmqTransport:
    """Labels graphs that are published. Of those that come while one is computed, only the latest is kept.

    A message is a scene as for HTTP. The answer has the form of the message: Spark-DSG in binary, Spark-DSG as JSON, or
    the labels of a plain scene. A message that cannot be answered is counted and logged; nothing is published for it.

    Args:
        queue: answers requests.
        addresses: where graphs come from, and where answers go.
    """

    def __init__(self, queue: BatchQueue, addresses: Addresses) -> None:
        self.queue, self.metrics, self.limits = queue, queue.metrics, queue.limits
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._graphs, self._labels = self._context.socket(zmq.SUB), self._context.socket(zmq.PUB)
        try:
            self._graphs.setsockopt(zmq.CONFLATE, 1)  # before connect, else it has no effect
            self._graphs.setsockopt(zmq.SUBSCRIBE, b"")
            self._graphs.setsockopt(zmq.MAXMSGSIZE, 8 * self.limits.body)
            self._labels.setsockopt(zmq.SNDHWM, 2)
            self._labels.setsockopt(zmq.LINGER, 1000)
            self._graphs.connect(addresses.graphs)
            self._labels.bind(addresses.labels)
        except zmq.ZMQError as error:
            self._context.destroy(linger=0)
            raise InputError(
                f"Expected addresses of ZMQ such as tcp://127.0.0.1:8001; got {addresses.graphs} to read and "
                f"{addresses.labels} to publish, where that fails: {error}."
            ) from None
        self.address = self._labels.getsockopt_string(zmq.LAST_ENDPOINT)
        self._stopping = Event()
        self._thread = Thread(target=self._listen, name="neuraltrees-zmq", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Answers the message that is being computed, and ends."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._graphs.close(linger=0)
        self._labels.close()
        self._context.term()

    def _listen(self) -> None:
        while not self._stopping.is_set():
            if self._graphs.poll(PAUSE):
                self._answer(self._graphs.recv())

    def _answer(self, message: bytes) -> None:
        start = time.perf_counter()
        try:
            if len(message) > self.limits.body:
                raise too_large("bytes", self.limits.body, f"{len(message):,}", "a larger --max-body")
            reply = self._replied(self.queue.submit(message, Wants(output="same")))
        except Exception as error:
            self.metrics.request("zmq", str(status_of(error)))
            log.warning("a ZMQ message was not answered: %s", error)
            return
        self._labels.send(reply.content)
        self.metrics.request("zmq", "ok", time.perf_counter() - start)

    def _replied(self, job: Future[Reply]) -> Reply:
        try:
            return job.result(self.limits.seconds)
        except TimeoutError:
            job.cancel()
            raise too_slow(self.limits.seconds) from None
