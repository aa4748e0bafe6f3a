"""Connections that are closed if the head of a request does not arrive in time."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with a time limit for the head of a request, so that slow clients do not keep connections open."""

    head_seconds: ClassVar[float] = 10.0
    _alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        if self._alarm is None and self._between_requests():
            self._wait()
        super().data_received(data)
        if not self._between_requests():
            self._calm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm()
        super().connection_lost(exc)

    def _between_requests(self) -> bool:
        """Whether no request is being answered: its head is not complete yet."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._alarm = self.loop.call_later(self.head_seconds, self._close)

    def _calm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _close(self) -> None:
        self._alarm = None
        if self._between_requests() and not self.transport.is_closing():
            self.transport.close()
