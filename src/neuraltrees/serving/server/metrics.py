"""Counters and histograms of a server, in the format of Prometheus."""

from __future__ import annotations

from typing import Any

from neuraltrees.extras import require

BUCKETS = (0.002, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counters and histograms of one server.

    - `neuraltrees_requests_total{transport, status}`; for ZMQ, the status is `ok`, or the HTTP status of the error
    - `neuraltrees_request_seconds{transport}`: from the last byte of a request to its answer
    - `neuraltrees_batch_requests`: how many requests were computed together
    - `neuraltrees_waiting_requests`: how many requests wait in the queue
    """

    def __init__(self) -> None:
        library: Any = require("prometheus_client", extra="serve", what="neuraltrees serve")
        self._library = library
        self.registry = library.CollectorRegistry()
        self._requests = library.Counter(
            "neuraltrees_requests", "Requests by transport and status.", ["transport", "status"], registry=self.registry
        )
        self._seconds = library.Histogram(
            "neuraltrees_request_seconds",
            "Seconds from the last byte of a request to its answer.",
            ["transport"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._batches = library.Histogram(
            "neuraltrees_batch_requests",
            "Requests that were computed together.",
            buckets=(1, 2, 4, 8, 16, 32, 64),
            registry=self.registry,
        )
        self._waiting = library.Gauge("neuraltrees_waiting_requests", "Requests that wait.", registry=self.registry)

    def request(self, transport: str, status: str, seconds: float | None = None) -> None:
        """Counts a request, and the seconds it took if it was answered."""
        self._requests.labels(transport, status).inc()
        if seconds is not None:
            self._seconds.labels(transport).observe(seconds)

    def batch(self, size: int) -> None:
        self._batches.observe(size)

    def page(self, waiting: int) -> tuple[bytes, str]:
        """The page that Prometheus reads, and its media type."""
        self._waiting.set(waiting)
        return self._library.generate_latest(self.registry), self._library.CONTENT_TYPE_LATEST
