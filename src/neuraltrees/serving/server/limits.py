"""What a server takes on, and what it says to the rest."""

from __future__ import annotations

from dataclasses import dataclass, fields

from neuraltrees.errors import InputError, NeuralTreesError


@dataclass(frozen=True)
class Limits:
    """What a server takes on.

    Args:
        body: bytes of one request.
        seconds: from the last byte of a request to its answer; also the time that a client has to send one.
        nodes: of the graphs or scenes of one request.
        waiting: requests that wait for their answer; more are told to come back.
        held: bytes of all requests that are received or wait.
        batch: requests that are computed together.
        window: seconds that a request waits for others whose bodies are just arriving.
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
    """A request that is not answered, though it may be a good one.

    Args:
        status: that of HTTP.
        message: what was expected, what came, and what to do.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def too_large(what: str, most: int, got: str, option: str) -> Refusal:
    return Refusal(413, f"Expected at most {most:,} {what}; got {got}. Send less, or start the server with {option}.")


def too_busy() -> Refusal:
    return Refusal(503, "Expected a free place in the queue; all are taken. Send the request again in a second.")


def too_slow(seconds: float) -> Refusal:
    return Refusal(
        504,
        f"Expected an answer within {seconds:g} seconds; there was none. Send the request again later or a smaller "
        f"one, or start the server with a larger --timeout.",
    )


def status_of(error: BaseException) -> int:
    """The status of HTTP for an error: 422 for what was wrong with the request, 500 for what was wrong here."""
    if isinstance(error, Refusal):
        return error.status
    return 422 if isinstance(error, NeuralTreesError) else 500
