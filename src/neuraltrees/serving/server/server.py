"""A server: a model, the queue of its requests, and the transports HTTP and ZMQ."""

from __future__ import annotations

import gc
import signal
from contextlib import ExitStack
from threading import Event, current_thread, main_thread
from types import TracebackType
from typing import Any, Self

from neuraltrees.extras import require
from neuraltrees.serving.server.batching import BatchQueue
from neuraltrees.serving.server.limits import Limits
from neuraltrees.serving.server.metrics import Metrics
from neuraltrees.serving.server.service import Service


class Server:
    """Answers requests by HTTP, by ZMQ, or by both.

    Args:
        service: computes the answers; `open_service` makes one from a model file.
        limits: sizes, times and numbers of requests.
        http: host and port to listen on; port 0 for any that is free; None for no HTTP.
        token: HTTP requests must have it as `Authorization: Bearer TOKEN`; None lets everyone in.
        zmq: the address that graphs come from, and the address to publish answers at; None for no ZMQ.
    """

    def __init__(
        self,
        service: Service,
        limits: Limits | None = None,
        http: tuple[str, int] | None = ("127.0.0.1", 8000),
        token: str | None = None,
        zmq: tuple[str, str] | None = None,
    ) -> None:
        self.queue = BatchQueue(service, limits or Limits(), Metrics())
        self.transports: list[Any] = []
        with ExitStack() as opened:
            if http is not None:
                for module in ("fastapi", "uvicorn"):
                    require(module, extra="serve", what="neuraltrees serve")
                from neuraltrees.serving.server.http import HttpTransport

                self.transports.append(HttpTransport(self.queue, *http, token))
                opened.callback(self.transports[-1].stop)
            if zmq is not None:
                require("zmq", extra="serve", what="neuraltrees serve")
                from neuraltrees.serving.server.zeromq import Addresses, ZmqTransport

                self.transports.append(ZmqTransport(self.queue, Addresses(*zmq)))
            opened.pop_all()

    @property
    def addresses(self) -> list[str]:
        """The addresses at which the server can be reached."""
        return [each.address for each in self.transports]

    def __enter__(self) -> Self:
        gc.collect()
        gc.freeze()  # the model and the libraries live on: garbage collections need not look at them again
        self.queue.start()
        try:
            for transport in self.transports:
                transport.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Accepts no more requests, and returns when those that are being computed have their answers."""
        for transport in self.transports:
            transport.stop()
        self.queue.stop()
        gc.unfreeze()


def wait_for_signal() -> None:
    """Returns at SIGTERM or SIGINT; a second one ends the process as it would without this."""
    assert current_thread() is main_thread()
    told = Event()
    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}
    for each in before:
        signal.signal(each, lambda *_: told.set())
    try:
        told.wait()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
