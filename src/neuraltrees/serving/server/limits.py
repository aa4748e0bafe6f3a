"""The limits of a server, and the errors of requests beyond them."""

from __future__ import annotations

from dataclasses import dataclass, fields

from neuraltrees.errors import InputError, NeuralTreesError


@dataclass(frozen=True)
class Limits:
    """The limits of a server.

    Args:
        body: largest number of bytes of a request.
        seconds: time to answer a request after its last byte; also the time that a client has to send one.
        nodes: largest number of nodes of a request.
        waiting: largest number of requests that wait; further ones get the status 503.
        held: largest number of bytes of all requests that are being received or wait.
        batch: largest number of requests that are computed together.
        window: seconds that a request waits for others whose bodies are arriving.
    """

    body: int = 32 * 2**20
    seconds: float = 10.0
    nodes: int = 100_000
    waiting: int = 64
    held: int = 256 * 2**20
    batch: int = 16
    window: float = 0.002

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise InputError(f"Expected the limit {field.name} as a number of at least 0; got {value!r}.")
            if value == 0 and field.name != "window":
                raise InputError(f"Expected the limit {field.name} above 0; got 0.")


class Refusal(NeuralTreesError):
    """A request is refused because of a limit or a token, not because of its content.

    Args:
        status: the HTTP status.
        message: what was expected, what came, and what to do.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def too_large(what: str, most: int, got: str, option: str) -> Refusal:
    return Refusal(413, f"Expected at most {most:,} {what}; got {got}. Send less, or start the server with {option}.")


def too_busy() -> Refusal:
    return Refusal(503, "Expected room in the queue of the server; it is full. Send the request again in a second.")


def too_slow(seconds: float) -> Refusal:
    return Refusal(
        504,
        f"Expected an answer within {seconds:g} seconds; there was none. Send the request again later or a smaller "
        f"one, or start the server with a larger --timeout.",
    )


def status_of(error: BaseException) -> int:
    """The HTTP status for an error: 422 for a request that is not valid, 500 for an error of the server itself."""
    if isinstance(error, Refusal):
        return error.status
    return 422 if isinstance(error, NeuralTreesError) else 500
