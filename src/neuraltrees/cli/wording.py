"""Errors for the command line: options instead of Python arguments, and one style for errors of the parser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import get_args, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from neuraltrees.errors import NeuralTreesError, TreeTooLargeError, did_you_mean
from neuraltrees.options import rule_in_words

# The option that bounds the treewidth, per command.
BOUNDS = {"htree": "--k 4", "train": "--max-treewidth 4", "tune": "max_treewidth: 4 in --config"}


def error_in_words(error: NeuralTreesError, name: str, command: Callable[..., None] | None) -> str:
    """The message of an error of the library, with the options of the command in place of Python arguments.

    >>> def command(time_limit: float = 1.0, seed: int = 0) -> None: ...
    >>> error_in_words(NeuralTreesError("Expected seed as an integer. Set time_limit=2."), "x", command)
    'Expected --seed as an integer. Set --time-limit 2.'
    """
    if isinstance(error, TreeTooLargeError) and name in BOUNDS:
        error = error.advising(f"Bound its treewidth: {BOUNDS[name]}.")
    text = str(error)
    if re.match(r"[^:]+\.ya?ml(\.[gx]z)?: ", text):
        return text  # about a file, in which options have their own names
    for option, flag in {} if command is None else _flags(command).items():
        text = re.sub(rf"\b{option}=False\b", flag.replace("--", "--no-", 1), text)
        text = re.sub(rf"\b{option}=True\b", flag, text)
        text = re.sub(rf"(?<!\()\b{option}=(?=[\w.])", f"{flag} ", text)
        subject = rf"^Expected ({option}(?= )|an? {option}(?= (?:out of|between|of|as|such as) ))"
        text = re.sub(subject, f"Expected {flag}", text)
        if "_" in option:
            text = re.sub(rf"(?<![\w/.-])(?<!, ){option}\b(?![=/(]|\.\w)", flag, text)
    return text


def _flags(command: Callable[..., None]) -> Mapping[str, str]:
    """The names of a command's options, and their flags."""
    hints = get_type_hints(command, include_extras=True)
    found = {}
    for name, parameter in signature(command).parameters.items():
        infos = [each for each in get_args(hints.get(name)) if isinstance(each, OptionInfo | ArgumentInfo)]
        infos += [parameter.default] if isinstance(parameter.default, OptionInfo | ArgumentInfo) else []
        is_file = Path in (kinds := get_args(hints.get(name))) or any(Path in get_args(kind) for kind in kinds)
        if any(isinstance(each, ArgumentInfo) for each in infos) or is_file:
            continue
        found[name] = f"--{name.replace('_', '-')}"
    return found


def usage_in_words(error: typer.TyperException, arguments: Sequence[str] = (), commands: Iterable[str] = ()) -> str:
    """The message of an error of the parser: what was expected of which option, and what was given."""
    option = getattr(error, "option_name", None)
    if option is not None and getattr(error, "possibilities", None) is not None:
        context = getattr(error, "ctx", None)
        options = [] if context is None else [flag for each in context.command.params for flag in each.opts]
        where = "" if context is None else f" of {context.command_path}"
        return f"Expected an option{where}; got {option!r}.{did_you_mean(option, options)} See --help."
    unknown = re.match(r"No such command '([^']*)'", str(getattr(error, "message", "")))
    if unknown:
        listed = list(commands)
        return f"Expected a command out of {', '.join(listed)}; got {unknown[1]!r}.{did_you_mean(unknown[1], listed)}"
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    param, rule = getattr(error, "param", None), str(getattr(error, "message", ""))
    if param is None or not rule.startswith(("Input should be", "Value error")):
        return message
    flags = getattr(param, "opts", None) or [param.name]
    name = flags[0] if flags[0].startswith("-") else str(param.name).upper()
    choice = re.fullmatch(r"Value error, (?P<given>'.*') is not one of (?P<allowed>.*)\.", rule)
    if choice:
        hint = did_you_mean(choice["given"].strip("'"), re.findall(r"'([^']*)'", choice["allowed"]))
        return f"Expected {name} out of {choice['allowed'].replace(chr(39), '')}; got {choice['given']}.{hint}"
    after = [value for flag, value in pairwise(arguments) if flag in flags]
    after += [each.partition("=")[2] for each in arguments if each.partition("=")[0] in flags and "=" in each]
    return f"Expected {name} {rule_in_words(rule)}{f'; got {after[-1]!r}' if after else ''}."
