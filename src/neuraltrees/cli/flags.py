"""Help texts in which flags have no type: `--json`, not `--json <bool>`, which looks as if a value had to follow."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup


class PlainCommand(TyperCommand):
    """A command whose flags are listed without a type."""

    def get_params(self, ctx: Any) -> Any:
        return _without_types(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """The same for the command that has others."""

    def get_params(self, ctx: Any) -> Any:
        return _without_types(super().get_params(ctx))


def _without_types(params: Any) -> Any:
    for each in params:
        if getattr(each, "is_flag", False) and each.metavar is None:
            each.metavar = ""
    return params
