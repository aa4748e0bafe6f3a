"""JSON by orjson, which is several times faster, and by Python's own module where orjson fails.

Integers of more than 64 bits become floats: no field of a graph or a scene has such numbers.
"""

from __future__ import annotations

import json
from typing import Any

from neuraltrees.errors import ParseError
from neuraltrees.extras import require
from neuraltrees.scenes.json_files import parse


def read_json(body: bytes) -> Any:
    """The value of a JSON body; a body that is not JSON raises `ParseError`.

    >>> read_json(b'{"a": [1, NaN]}')
    {'a': [1, nan]}
    """
    fast: Any = require("orjson", extra="serve", what="neuraltrees serve")
    try:
        return fast.loads(body)
    except ValueError:
        pass  # Python's reader takes NaN and infinity, and names the line of a mistake
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise ParseError(
            f"Expected text in UTF-8; got another byte at place {error.start}. Send complete JSON in UTF-8."
        ) from None
    return parse(text, "the request")


def write_json(content: Any) -> bytes:
    """A value as JSON.

    >>> write_json({"a": [1, float("nan"), 2**70]})
    b'{"a": [1, NaN, 1180591620717411303424]}'
    >>> write_json({"a": [1, 2.5]})
    b'{"a":[1,2.5]}'
    """
    fast: Any = require("orjson", extra="serve", what="neuraltrees serve")
    try:
        written: bytes = fast.dumps(content)
    except (TypeError, ValueError):  # numbers of more than 64 bits
        return json.dumps(content).encode()
    # It writes NaN as null, which has another meaning.
    return json.dumps(content).encode() if b"null" in written and _has_nan(content) else written


def _has_nan(value: Any) -> bool:
    if isinstance(value, float):
        return value != value or value in (float("inf"), float("-inf"))
    if isinstance(value, dict):
        return any(map(_has_nan, value.values()))
    return isinstance(value, list) and any(map(_has_nan, value))
