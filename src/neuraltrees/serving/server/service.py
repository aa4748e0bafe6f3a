"""What a server answers: the interface between transports and models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

Output: TypeAlias = Literal["labels", "scene", "same"]


@dataclass(frozen=True)
class Wants:
    """How the answer is to look like.

    Args:
        top: how many labels to list per node or graph, the most probable first.
        output: `labels`; `scene` for the scene with its labels set; `same` for that where the form of the question has
            room for labels, else `labels`.
    """

    top: int = 3
    output: Output = "labels"


@dataclass(frozen=True)
class Reply:
    """An answer as bytes, and what they are."""

    content: bytes
    media_type: str = "application/json"


class Service(Protocol):
    """A model that answers requests. One thread calls it; what is wrong with a request raises an error of this library.

    - `what`: it answers about: `scenes` or `graphs`.
    - `model`: its name.
    """

    @property
    def what(self) -> str: ...

    @property
    def model(self) -> str: ...

    def read(self, body: bytes, wants: Wants) -> Any:
        """The question of a request."""

    def answer(self, questions: Sequence[Any]) -> Sequence[Any]:
        """The answers to several questions, computed together."""

    def write(self, question: Any, answer: Any, wants: Wants) -> Reply:
        """An answer as it is sent."""
