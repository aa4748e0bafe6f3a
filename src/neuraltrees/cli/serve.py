"""neuraltrees serve: predictions of a trained network by HTTP and ZMQ."""

from __future__ import annotations

import json as to_json
import logging
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from neuraltrees.cli.options import Allow, AsJson, Device, Threads
from neuraltrees.cli.terminal import notes, say, working
from neuraltrees.errors import InputError

TOKEN = "NEURALTREES_TOKEN"


def serve(
    bundle: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="The model.safetensors written by `neuraltrees train`, or one that comes with the package: scenes or "
            "solubility.",
        ),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for all networks of this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any that is free.")] = 8000,
    http: Annotated[bool, typer.Option(help="Serve HTTP.")] = True,
    zmq: Annotated[bool, typer.Option(help="Label graphs that Hydra publishes by ZMQ.")] = False,
    zmq_graphs: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address at which Hydra publishes graphs.")
    ] = "tcp://127.0.0.1:8001",
    zmq_labels: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address at which labelled graphs are published.")
    ] = "tcp://127.0.0.1:8002",
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the token that HTTP requests must have; see above.", show_default=False),
    ] = None,
    max_body: Annotated[float, typer.Option(help="Largest size of a request, in MiB.")] = 32.0,
    max_nodes: Annotated[int, typer.Option(min=1, help="Largest number of nodes of a request.")] = 100_000,
    timeout: Annotated[
        float, typer.Option(help="Time limit in seconds to receive a request, and to answer it.")
    ] = 10.0,
    waiting: Annotated[
        int, typer.Option(min=1, help="Largest number of requests that wait; further ones get the status 503.")
    ] = 64,
    batch: Annotated[int, typer.Option(min=1, help="Largest number of requests that are computed together.")] = 16,
    window: Annotated[
        float, typer.Option(min=0, help="Milliseconds that a request waits for others that are arriving.")
    ] = 2.0,
    threads: Threads = 1,
    device: Device = "cpu",
    allow: Allow = None,
    json: AsJson = False,
) -> None:
    """Serve a trained network: predictions by HTTP, and by ZMQ in the protocol of Hydra.

    POST /predict takes the JSON graphs of `neuraltrees predict`; for a model that was trained on scenes, a scene:
    Spark-DSG as JSON or binary, or plain JSON. GET /health shows the status, GET /metrics has counters for Prometheus,
    and GET /docs describes the interface; it needs no internet. Requests that wait together are computed as one batch.

    With --zmq, graphs that Hydra publishes are labelled and published again; if several come at once, only the latest
    is labelled.

    With --token-file, or a token in the environment variable NEURALTREES_TOKEN, /predict and /metrics require the
    header "Authorization: Bearer TOKEN". ZMQ has no tokens: use it in networks that you trust.

    Ctrl-C or SIGTERM stops the server after the requests that are being computed have been answered.

    Example: neuraltrees serve model.safetensors --port 8000

    Then: curl --data-binary @scene.json http://127.0.0.1:8000/predict
    """
    if not http and not zmq:
        raise InputError("Expected --http, --zmq or both; got neither. Leave --no-http out, or add --zmq.")
    with working("loading"):
        from neuraltrees.serving.server import Limits, Server, wait_for_signal
        from neuraltrees.serving.server.open import open_service

        limits = Limits(_bytes(max_body), timeout, max_nodes, waiting, batch=batch, window=window / 1000)
        service = open_service(bundle, limits, device, allow or (), threads)
        server = Server(
            service,
            limits,
            (host, port) if http else None,
            _token(token_file),
            (zmq_graphs, zmq_labels) if zmq else None,
        )
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(message)s", level=logging.WARNING)
    with server:
        if json:
            started = {"answers": service.what, "model": service.model, "addresses": [*server.addresses]}
            print(to_json.dumps(started))
        else:
            say(f"Serving {service.model} for {service.what} on {' and '.join(server.addresses)}. Ctrl-C stops.")
        sys.stdout.flush()
        wait_for_signal()
        notes.print("Stopping after the requests that are being computed.")


def _bytes(mebibytes: float) -> int:
    if not 0 < mebibytes < 2**40:
        raise InputError(f"Expected --max-body as a number of MiB above 0; got {mebibytes}.")
    return max(1, round(mebibytes * 2**20))


def _token(path: Path | None) -> str | None:
    token = os.environ.get(TOKEN) if path is None else path.read_text("utf-8", errors="replace").strip()
    if token is not None and (not token.isascii() or not token.isprintable() or not token or " " in token):
        raise InputError("Expected a token of printable ASCII characters without spaces; got another one.")
    return token
