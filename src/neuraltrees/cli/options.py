"""Options that several commands share, and options generated from the fields of a `Spec`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer

from neuraltrees.datasets.spec import DATA_ROOT_HELP
from neuraltrees.options import Spec, allowed_by

if TYPE_CHECKING:
    from neuraltrees.pools.execution import Execution, ExecutorName

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Threads = Annotated[int, typer.Option(min=1, help="Number of CPU threads.")]
Device = Annotated[str, typer.Option(help="cpu or cuda.")]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE:NAME",
        help="Your own code that the model may import; repeat for several.",
        show_default=False,
    ),
]
Executor = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="What does the work: processes of this machine, or ray; the results are the same."
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Address of a Ray cluster, such as auto or ray://HEAD:10001; by default Ray starts on this machine.",
        show_default=False,
    ),
]
DataRoot = Annotated[Path | None, typer.Option(help=DATA_ROOT_HELP, show_default=False)]


def with_options(
    spec: type[Spec], panels: Mapping[str, type[Spec]]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator that gives a command one option per field of a `Spec`; options that are not given are None.

    The command gets them as keyword arguments. The help shows one panel per part of the `Spec`. Values are checked when
    the `Spec` is created, so that the same rules hold for options and for configuration files.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = [
            parameter.replace(annotation=hints[name])
            for name, parameter in inspect.signature(command).parameters.items()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        types = get_type_hints(spec)
        parts: Mapping[str, Any] = panels
        added = [_option(each, types[each.name], panel) for panel, part in parts.items() for each in fields(part)]
        vars(command)["__signature__"] = inspect.Signature([*own, *added])
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *added)}
        return command

    return decorate


def _option(field: Field[Any], hint: Any, panel: str) -> inspect.Parameter:
    allowed = allowed_by(hint)
    kind = next((each for each in (bool, int, float) if each in allowed), str)
    choices = "|".join(each for each in allowed if isinstance(each, str))
    flag = field.name.replace("_", "-")
    option = typer.Option(
        f"--{flag}/--no-{flag}" if kind is bool else f"--{flag}",
        help=field.metadata["help"],
        show_default=False,
        metavar=choices or {bool: None, int: "N", float: "X", str: "TEXT"}[kind],
        rich_help_panel=panel,
    )
    annotation: Any = Annotated[kind | None, option]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def chosen_execution(executor: str, workers: int, ray_address: str | None) -> Execution:
    """The execution that the options describe; raises an error before the work if Ray is needed and missing."""
    from neuraltrees.pools.execution import Execution

    execution = Execution(cast("ExecutorName", executor), workers, ray_address)
    execution.check()
    return execution
