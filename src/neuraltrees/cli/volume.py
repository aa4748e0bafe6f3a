"""--quiet and --verbose, the same for every command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from neuraltrees.cli.terminal import Volume

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only results, warnings and errors.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also print running times, and the traceback of an error.")
]


def with_volume(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options --quiet and --verbose."""

    @wraps(command)
    def run(*, quiet: bool, verbose: bool, **values: Any) -> None:
        Volume.set(quiet, verbose)
        command(**values)

    hints = get_type_hints(command, include_extras=True)
    own = [
        each.replace(annotation=hints.get(name, each.annotation))
        for name, each in inspect.signature(command).parameters.items()
    ]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in {"quiet": Quiet, "verbose": Verbose}.items()
    ]
    parameters = [*own, *added]
    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
