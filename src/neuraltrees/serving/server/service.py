"""The interface between the transports of a server and a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

Output: TypeAlias = Literal["labels", "scene", "same"]


@dataclass(frozen=True)
class Wants:
    """What a client wants in the answer.

    Args:
        top: how many labels to list per node or graph, the most probable first.
        output: `labels`; `scene` for the Spark-DSG scene with its labels set; `same` for `scene` if the request is
            Spark-DSG, else `labels`.
    """

    top: int = 3
    output: Output = "labels"


@dataclass(frozen=True)
class Reply:
    """An answer as bytes, and their media type."""

    content: bytes
    media_type: str = "application/json"


class Service(Protocol):
    """A model that answers requests; one thread calls it. A request that is not valid raises a `NeuralTreesError`.

    - `what`: what it predicts for: `scenes` or `graphs`.
    - `model`: the name of the model.
    """

    @property
    def what(self) -> str: ...

    @property
    def model(self) -> str: ...

    def read(self, body: bytes, wants: Wants) -> Any:
        """Parses the body of a request."""

    def answer(self, questions: Sequence[Any]) -> Sequence[Any]:
        """The answers to several parsed requests, computed together."""

    def write(self, question: Any, answer: Any, wants: Wants) -> Reply:
        """The answer to a request as bytes."""
