"""The positions of values in a JSON text, so that some can be replaced and all other bytes stay the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from json.decoder import WHITESPACE, JSONDecoder, scanstring  # type: ignore[attr-defined]  # typeshed lacks two
from typing import Any, NamedTuple

from neuraltrees.errors import ParseError

_DECODER = JSONDecoder()


class Member(NamedTuple):
    """A member of an object: its key and where its value starts and stops."""

    key: str
    start: int
    stop: int


def members(text: str, start: int) -> list[Member]:
    """The members of the object that starts at this position.

    >>> text = '{"a": [1, 2], "b": {}}'
    >>> [(each.key, text[each.start : each.stop]) for each in members(text, 0)]
    [('a', '[1, 2]'), ('b', '{}')]
    """
    found = []
    at = _first(text, start, "{")
    while text[at] != "}":
        key, after = scanstring(text, at + 1, True)
        value = _skip(text, _skip(text, after) + 1)
        stop = _end(text, value)
        found.append(Member(key, value, stop))
        at = _next(text, stop)
    return found


def elements(text: str, start: int) -> Iterator[int]:
    """The positions of the elements of the array that starts at this position.

    >>> list(elements("[1, [2], 3]", 0))
    [1, 4, 9]
    """
    at = _first(text, start, "[")
    while text[at] != "]":
        yield at
        at = _next(text, _end(text, at))


def object_end(text: str, start: int) -> tuple[int, bool]:
    """The position of the bracket that closes an object, and whether the object has members."""
    stop = _end(text, start)
    return stop - 1, text[_skip(text, start + 1)] != "}"


def _first(text: str, start: int, opening: str) -> int:
    """The position of the first entry of an object or array, or of its closing bracket."""
    if text[start : start + 1] != opening:
        raise ParseError(f"Expected {opening} at place {start} of the JSON text; got {text[start : start + 1]!r}.")
    return _skip(text, start + 1)


def _next(text: str, stop: int) -> int:
    """The position of the entry after one that stops here, or of the closing bracket."""
    at = _skip(text, stop)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    stop: int = WHITESPACE.match(text, at).end()
    return stop


def _end(text: str, at: int) -> int:
    _, stop = _DECODER.raw_decode(text, at)
    return stop


def to_json(value: Any) -> str:
    """A value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
