"""Flags made from a value object: each of its fields is an option, with its type and its description."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Optional, get_type_hints

import typer
from pydantic import BaseModel


def with_fields(
    spec: type[BaseModel], panels: Mapping[str, type[BaseModel]]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command an option for every field of the value object; those not given are None.

    The help shows the fields of each part of the value object in a panel of their own, and those of no part first.

    The command takes them as keyword arguments beside its own. What a field allows is checked when the value object is
    made, so that flags and files are held to the same rules.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = [
            parameter.replace(annotation=hints[name])
            for name, parameter in inspect.signature(command).parameters.items()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        of_part = {name: panel for panel, part in panels.items() for name in part.model_fields}
        order = ["Data and runs", *panels]
        fields = [(of_part.get(name, order[0]), name, field) for name, field in spec.model_fields.items()]
        fields.sort(key=lambda each: order.index(each[0]))
        added = [_option(name, field, panel) for panel, name, field in fields]
        command.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *added)}
        return command

    return decorate


def _option(name: str, field: Any, panel: str) -> inspect.Parameter:
    flag = f"--{name.replace('_', '-')}"
    kind = next((each for each in (bool, int, float) if each in _alternatives(field.annotation)), str)
    flags = f"{flag}/--no-{flag[2:]}" if kind is bool else flag
    option = typer.Option(
        flags, help=field.description, show_default=False, metavar=_metavar(field, kind), rich_help_panel=panel
    )
    annotation = Annotated[Optional[kind], option]  # type: ignore[valid-type]  # noqa: UP045
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return getattr(annotation, "__args__", None) or (annotation,)


def _metavar(field: Any, kind: type) -> str | None:
    choices = [each for each in _alternatives(field.annotation) if isinstance(each, str)]
    return "|".join(choices) if choices else (None if kind is bool else {int: "N", float: "X", str: "TEXT"}[kind])
