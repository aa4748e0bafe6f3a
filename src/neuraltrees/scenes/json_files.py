"""JSON files from any source: parsed, or an error that names the line; pickles are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from neuraltrees.errors import InputError, ParseError
from neuraltrees.files import PathLike, as_path, read_whole

PICKLES = {".pkl", ".pickle", ".p", ".pt", ".pth"}


def read_text(path: PathLike) -> str:
    """The text of a JSON file, plain, `.gz` or `.xz`; a pickle or a binary file raises `InputError`."""
    path = as_path(path)
    packed = {".gz", ".xz"}
    endings = [ending for ending in path.suffixes if ending not in packed]
    if endings and endings[-1] in PICKLES:
        _refuse_pickle(path)
    try:
        content = read_whole(path)
    except IsADirectoryError:
        raise InputError(f"Expected a JSON file; got the folder {path}.") from None
    if content[:1] == b"\x80":
        _refuse_pickle(path)
    if content.startswith(b"SPARK_DSG"):
        raise InputError(
            f"Expected a JSON file; got {path}, a scene in the binary form of Spark-DSG. Save it as JSON: "
            f'DynamicSceneGraph.load(path).save("scene.json").'
        )
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ParseError(f"{path}: expected text in UTF-8; got another byte at place {error.start}.") from None


def parse(text: str, where: object) -> Any:
    """The value of a JSON text.

    >>> parse('{"a": [1, 2', "scene.json")
    Traceback (most recent call last):
    neuraltrees.errors.ParseError: scene.json, line 1, column 12: Expecting ',' delimiter. Expected complete JSON; it \
may be cut short.
    """
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise ParseError(
            f"{where}, line {error.lineno}, column {error.colno}: {error.msg}. "
            f"Expected complete JSON; it may be cut short."
        ) from None
    except RecursionError:
        raise ParseError(f"{where}: expected JSON of moderate depth; got brackets nested too deep.") from None
    except ValueError as error:  # a number of thousands of digits
        raise ParseError(f"{where}: expected numbers of moderate length; got: {error}.") from None


def load_json(path: PathLike) -> Any:
    return parse(read_text(path), path)


def _refuse_pickle(path: Path) -> None:
    raise InputError(
        f"Expected a JSON file; got {path}, a pickle, which can run any code when it is opened. Save the scene as JSON "
        f"with the program that wrote it (ConceptGraphs: save_json), and read that."
    )
