"""Value objects whose fields are options: each has a type, a line of help and limits, checked on construction."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, field, fields, replace
from importlib import import_module
from math import isfinite
from types import NoneType
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from neuraltrees.errors import InputError, did_you_mean

_RULES: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "ge": ("at least", lambda value, limit: value >= limit),
    "gt": ("above", lambda value, limit: value > limit),
    "le": ("at most", lambda value, limit: value <= limit),
    "lt": ("below", lambda value, limit: value < limit),
}


def option(default: Any, help: str, **limits: float) -> Any:
    """A field with a line of help and limits such as `ge=1` (at least), `gt` (above), `le` (at most), `lt` (below)."""
    return field(default=default, metadata={"help": help, "limits": limits})


class Spec:
    """A frozen value object whose fields are options; a value that breaks a rule raises `InputError`."""

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for each in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, each.name)
            if self._is_free(each.name, value):
                continue
            rule = _broken_rule(value, hints[each.name], each.metadata["limits"])
            if rule is not None:
                hint = close_choice(value, hints[each.name])
                raise InputError(f"Expected {each.name} {rule}; got {value!r}.{hint}")

    def _is_free(self, name: str, value: Any) -> bool:
        """Whether a value is exempt from the rules of its type."""
        return False

    def replace(self, **changes: Any) -> Self:
        """A copy with some values changed."""
        return replace(self, **changes)  # type: ignore[type-var]  # subclasses are dataclasses

    def as_dict(self) -> dict[str, Any]:
        """All values by name."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]  # subclasses are dataclasses


def _broken_rule(value: Any, hint: Any, limits: dict[str, float]) -> str | None:
    """The rule that a value breaks, in words: its type or one of its limits; None if it breaks none."""
    allowed = allowed_by(hint)
    if value is None and NoneType in allowed:
        return None
    choices = [each for each in allowed if isinstance(each, str)]
    if choices:
        return None if value in choices else f"out of {', '.join(choices)}"
    kind = next(each for each in allowed if each is not NoneType)
    fits = isinstance(value, (int, float) if kind is float else kind) and (kind is bool or not isinstance(value, bool))
    if not fits or (kind is float and not isfinite(value)):
        return f"to be {({int: 'an integer', float: 'a number', bool: 'true or false', str: 'a text'})[kind]}"
    for name, limit in limits.items():
        words, holds = _RULES[name]
        if not holds(value, limit):
            return f"to be {words} {limit:g}"
    return None


def allowed_by(hint: Any) -> tuple[Any, ...]:
    """The types that a hint allows, with the choices of a `Literal` instead of the `Literal` itself.

    >>> from typing import Literal
    >>> allowed_by(Literal["mean", "sum"] | None)
    ('mean', 'sum', <class 'NoneType'>)
    """
    parts = get_args(hint) or (hint,)
    return tuple(each for part in parts for each in (get_args(part) if get_origin(part) is Literal else (part,)))


def close_choice(value: Any, hint: Any) -> str:
    """The end of an error about a value that is not among the choices of a `Literal`: a suggestion, if one is close.

    >>> from typing import Literal
    >>> close_choice("saeg", Literal["gcn", "sage"])
    ' Did you mean sage?'
    """
    return did_you_mean(value, [each for each in allowed_by(hint) if isinstance(each, str)])


def rule_in_words(rule: str) -> str:
    """A rule of pydantic, such as "Input should be a valid integer", in the words of this library's errors.

    >>> rule_in_words("Input should be a valid integer, unable to parse string as an integer")
    'to be a whole number'
    >>> rule_in_words("Input should be greater than or equal to 10")
    'to be at least 10'
    """
    for pattern, words in _PARSER_WORDS.items():
        if found := re.match(pattern, rule):
            return found.expand(words)
    return f"to be valid ({rule})"


_PARSER_WORDS = {
    r"Input should be a valid integer": "to be a whole number",
    r"Input should be a valid number": "to be a number",
    r"Input should be a finite number": "to be a finite number",
    r"Input should be a valid boolean": "to be true or false",
    r"Input should be a valid string": "to be a text",
    r"Input should be a valid list": "to be a list",
    r"Input should be a valid dictionary": "to be an object with names and values",
    r"Input should be greater than or equal to (\S+)": r"to be at least \1",
    r"Input should be greater than (\S+)": r"to be above \1",
    r"Input should be less than or equal to (\S+)": r"to be at most \1",
    r"Input should be less than (\S+)": r"to be below \1",
    r"Input should be (.*)": r"to be \1",
    r"Field required": "to be given",
    r"Extra inputs are not permitted": "not to be given: there is no such name",
    r"(?:List|Tuple|Set) should have at least (\d+) items?": r"to have at least \1",
    r"Value error, (.*)": r"to be valid: \1",
}


def find_place(place: Any) -> Any:
    """The class or function at a place such as `mypackage.convs:MyConv`; anything but a string is returned itself.

    >>> find_place("math:sqrt")(4)
    2.0
    """
    if not isinstance(place, str):
        return place
    module, colon, name = place.partition(":")
    if not (colon and module.strip(".") == module and module and name):
        raise InputError(f"Expected MODULE:NAME of something that can be imported; got {place!r}.")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise InputError(f"Expected MODULE:NAME of something that can be imported; got {place!r}: {error}.") from None
    return found
