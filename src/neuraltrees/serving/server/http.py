"""HTTP: /predict, /health, /metrics, and /docs, the page that describes them."""

from __future__ import annotations

import asyncio
import hmac
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import Annotated, Any, Literal

import uvicorn
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from neuraltrees.errors import InputError, NeuralTreesError
from neuraltrees.options import rule_in_words
from neuraltrees.serving.server.batching import BatchQueue
from neuraltrees.serving.server.limits import Refusal, status_of, too_busy, too_large, too_slow
from neuraltrees.serving.server.pages import BODIES, ERRORS, interface_page
from neuraltrees.serving.server.patience import PatientProtocol
from neuraltrees.serving.server.service import Wants
from neuraltrees.version import __version__

LINGER = 1.0  # seconds for which the rest of a refused body is read and discarded, so that its sender reads why


class HttpTransport:
    """Serves HTTP in a thread of its own.

    Args:
        queue: answers requests.
        host: address to listen on.
        port: port to listen on; 0 for any that is free.
        token: /predict and /metrics answer requests with the header `Authorization: Bearer TOKEN` alone; None lets
            everyone in.
    """

    def __init__(self, queue: BatchQueue, host: str, port: int, token: str | None = None) -> None:
        self._socket = _listening(host, port)
        self.address = http_address(host, self._socket.getsockname()[1])
        seconds = queue.limits.seconds
        config = uvicorn.Config(
            make_app(queue, token),
            http=_protocol(seconds),
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=max(1, round(seconds) + 1),
        )
        self._server = uvicorn.Server(config)
        self._thread = Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="neuraltrees-http", daemon=True
        )

    def start(self) -> None:
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.005)
        if not self._server.started:
            raise NeuralTreesError(f"Expected the HTTP server at {self.address} to start; it did not. See its log.")

    def stop(self) -> None:
        """Takes no more requests, and returns when those that run have their answers."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._socket.close()


def http_address(host: str, port: int) -> str:
    """The address of a server; IPv6 hosts are in brackets.

    >>> http_address("127.0.0.1", 8000), http_address("::1", 8000)
    ('http://127.0.0.1:8000', 'http://[::1]:8000')
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Only with the protocol named, asyncio sets TCP_NODELAY; else the body of an answer waits 40 ms after its head.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except (OSError, OverflowError) as error:
        listener.close()
        raise InputError(
            f"Expected an address to listen on; got {host}:{port}, where that fails: {error}. Choose another --port."
        ) from None
    return listener


def _protocol(seconds: float) -> type[PatientProtocol]:
    return type("Protocol", (PatientProtocol,), {"head_seconds": seconds})


def make_app(queue: BatchQueue, token: str | None = None) -> FastAPI:
    """The application: what each path answers."""
    app = FastAPI(
        title="neuraltrees",
        version=__version__,
        description=f"Predictions for {queue.service.what} by the model {queue.service.model}.",
        docs_url=None,  # the pages of FastAPI load scripts from the internet, which a robot does not have
        redoc_url=None,
    )
    door = _Door(queue, token)
    documented: Any = {"requestBody": {"required": True, "content": BODIES[queue.service.what]}}

    @app.post("/predict", openapi_extra=documented, responses=ERRORS, response_class=Response)
    async def predict(
        request: Request,
        top: Annotated[int, Query(ge=1, le=1000, description="Labels to list, the most probable first.")] = 3,
        output: Annotated[
            Literal["labels", "scene"], Query(description="labels, or the Spark-DSG scene with its labels set.")
        ] = "labels",
    ) -> Response:
        """Labels with their probabilities, or numbers, per node or per graph."""
        return await door.predict(request, Wants(top, output))

    @app.get("/health")
    async def health() -> dict[str, Any]:
        """Whether the server is up, what it predicts for, and how many requests wait."""
        service = queue.service
        return {
            "status": "ok",
            "answers": service.what,
            "model": service.model,
            "version": __version__,
            "waiting": queue.waiting,
        }

    @app.get("/metrics", response_class=Response)
    async def metrics(request: Request) -> Response:
        """Counters and histograms for Prometheus."""
        try:
            door.check_token(request)
        except Refusal as error:
            return _refused(error)
        page, media_type = queue.metrics.page(queue.waiting)
        return Response(page, media_type=media_type)

    @app.get("/docs", include_in_schema=False)
    async def interface() -> Response:
        return HTMLResponse(interface_page(app.openapi()))

    @app.exception_handler(RequestValidationError)
    async def wrong_query(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        name, rule = ".".join(map(str, first["loc"][1:])), rule_in_words(str(first["msg"]))
        message = f"Expected {name} {rule}; got {first.get('input')!r:.60}. See /docs."
        queue.metrics.request("http", "422")
        return JSONResponse({"detail": message}, 422, {"Connection": "close"})

    @app.exception_handler(HTTPException)
    async def elsewhere(request: Request, error: HTTPException) -> Response:
        there = "POST /predict, GET /health, GET /metrics and GET /docs"
        message = f"Expected one of {there}; got {request.method} {request.url.path:.60}."
        return JSONResponse({"detail": message}, error.status_code, dict(error.headers or {}))

    return app


@dataclass
class _Received:
    """How much of the body of a request has been received."""

    size: int = 0
    complete: bool = False


class _Door:
    """Receives requests: checks their token, their size and their time."""

    def __init__(self, queue: BatchQueue, token: str | None) -> None:
        self.queue, self.limits, self.metrics = queue, queue.limits, queue.metrics
        self._token = None if token is None else token.encode()
        self._held = 0

    async def predict(self, request: Request, wants: Wants) -> Response:
        start: float | None = None
        received = _Received()
        try:
            self.check_token(request)
            with self.queue.expecting():
                body = await self._body(request, received)
                start = time.perf_counter()
                job = self.queue.submit(body, wants)
            del body
            async with asyncio.timeout(self.limits.seconds):
                reply = await asyncio.wrap_future(job)
        except ClientDisconnect:
            self.metrics.request("http", "disconnected")
            return Response(status_code=400)
        except TimeoutError:
            return self._refusal(too_slow(self.limits.seconds))
        except Exception as error:
            if isinstance(error, Refusal) and not received.complete and error.status != 408:
                await _drain(request)
            return self._refusal(error)
        finally:
            self._held -= received.size
        self.metrics.request("http", "200", time.perf_counter() - start)
        return Response(reply.content, media_type=reply.media_type)

    def check_token(self, request: Request) -> None:
        if self._token is None:
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode("latin-1", "replace"), self._token)
        if scheme.lower() != "bearer" or not same:
            raise Refusal(401, "Expected the header Authorization: Bearer TOKEN with the server's token; got another.")

    async def _body(self, request: Request, received: _Received) -> bytes:
        encoding = request.headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            raise Refusal(415, f"Expected a body without compression; got {encoding:.40}. Send it uncompressed.")
        most, announced = self.limits.body, request.headers.get("content-length", "0")
        if announced.isdecimal() and int(announced) > most:
            raise too_large("bytes", most, f"{int(announced):,}", "a larger --max-body")
        pieces: list[bytes] = []
        try:
            async with asyncio.timeout(self.limits.seconds):
                async for piece in request.stream():
                    received.size += len(piece)
                    self._held += len(piece)
                    if received.size > most:
                        raise too_large("bytes", most, "more", "a larger --max-body")
                    if self._held > self.limits.held:
                        raise too_busy()
                    pieces.append(piece)
        except TimeoutError:
            raise Refusal(
                408, f"Expected the whole body within {self.limits.seconds:g} seconds; got a part. Send it faster."
            ) from None
        received.complete = True
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _refusal(self, error: Exception) -> Response:
        status = status_of(error)
        self.metrics.request("http", str(status))
        return _refused(error)


def _refused(error: Exception) -> Response:
    status = status_of(error)
    message = "Expected no error of the server; got one. Its log says which." if status == 500 else str(error)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    headers |= {"Retry-After": "1"} if status == 503 else {}
    if status not in (200, 422):
        headers["Connection"] = "close"
    return JSONResponse({"detail": message}, status, headers)


async def _drain(request: Request) -> None:
    """Reads and discards the rest of a body for a moment: a client whose upload is cut off does not read the answer."""
    if "100-continue" in request.headers.get("expect", "").lower():
        return
    with suppress(TimeoutError, ClientDisconnect, RuntimeError):
        async with asyncio.timeout(LINGER):
            while (await request.receive()).get("more_body"):
                pass
