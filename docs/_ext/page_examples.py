"""Which pages show a public name at work: in Python that uses it, not in an import or a check of its type alone."""

from __future__ import annotations

import inspect
import re
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

DOCS = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(?:python|\{code-cell\}[^\n]*)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


def python_of(path: Path) -> list[str]:
    """The Python snippets of a page, in order."""
    return BLOCK.findall(path.read_text())


def has_example(value: Any) -> bool:
    """Whether the docstring of a class or function has an example, or that of a method or property of the class.

    >>> class Plain:
    ...     count: int = 3  # the docstring of int has an example, which is none of this class
    >>> has_example(Plain), has_example(has_example)
    (False, True)
    """
    documented = [value]
    if inspect.isclass(value):
        members = (getattr(each, "__func__", each) for each in vars(value).values())
        documented += [each for each in members if isinstance(each, FunctionType | property | cached_property)]
    return any(">>>" in (inspect.getdoc(each) or "") for each in documented)


def is_used(name: str, line: str) -> bool:
    """Whether a line of Python shows a name at work: it is called, subclassed, handed on, or named in a comment.

    >>> is_used("draw", "nt.draw(graph)"), is_used("Answer", "answer = infer(model)  # an Answer")
    (True, True)
    >>> is_used("draw", "draw = Generator()"), is_used("Answer", "from inference import Answer")
    (False, False)
    """
    if re.match(r"\s*(from|import)\s", line):
        return False
    shown = re.sub(r"is(instance|subclass)\(.*?\)", "", line)
    return re.search(rf"(?<![\w.]){name}\b(?!\s*=[^=])|\bnt\.(?:\w+\.)*{name}\b", shown) is not None


@cache
def _lines() -> list[tuple[str, str]]:
    """Every line of Python with its page, those of tutorials and guides first."""
    pages = sorted(DOCS.rglob("*.md"), key=lambda path: (path.parent == DOCS, path))
    return [
        (path.relative_to(DOCS).with_suffix("").as_posix(), line)
        for path in pages
        for code in python_of(path)
        for line in code.split("\n")
    ]


def pages_with(name: str) -> list[str]:
    """The pages whose Python shows a name at work, each once."""
    return list(dict.fromkeys(page for page, line in _lines() if is_used(name, line)))
