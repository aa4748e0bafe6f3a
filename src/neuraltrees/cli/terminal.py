"""Terminal output of the commands: results on standard output, progress and errors on standard error."""

from __future__ import annotations

import json
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from neuraltrees.decomposition.decompose import ProgressCallback
from neuraltrees.errors import NeuralTreesWarning

output = Console()
errors = Console(stderr=True)

Value = str | int | float | bool | list[int] | None


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner with the elapsed time, removed at the end."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        progress.add_task(what, total=None)
        yield


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether Ctrl-C was pressed, for a clean stop; a second Ctrl-C stops at once."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield pressed.is_set
        return
    before = signal.getsignal(signal.SIGINT)

    def on_signal(*_: object) -> None:
        pressed.set()
        signal.signal(signal.SIGINT, before)

    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, on_signal)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def decomposing(what: str, seconds: float | None) -> Iterator[ProgressCallback]:
    """The bounds that a decomposition reports, with a bar over its time limit or, without one, a spinner."""
    first = SpinnerColumn() if seconds is None else BarColumn()
    columns = (TextColumn("{task.description}"), first, TimeElapsedColumn(), TextColumn("{task.fields[bounds]}"))
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task(what, total=seconds, bounds="")
        start = time.perf_counter()

        def report(lower_bound: int, width: int) -> None:
            bounds = f"width at most {width:,}, at least {lower_bound:,}"
            progress.update(task, completed=time.perf_counter() - start, bounds=bounds)

        yield report


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Prints the library's warnings on standard error, each once and without the line of code that led to it."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", NeuralTreesWarning)
        usual = warnings.showwarning

        def show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, NeuralTreesWarning):
                errors.print(f"[bold yellow]Warning:[/] {escape(str(message))}", soft_wrap=True, highlight=False)
            else:
                usual(message, category, *where, **more)

        warnings.showwarning = show_warning
        yield


def show(title: str, facts: Mapping[str, Value], as_json: bool) -> None:
    """Prints facts as a table, or as JSON for programs."""
    if as_json:
        print(json.dumps({_key(name): value for name, value in facts.items()}))
        return
    output.print(title, style="bold", highlight=False)
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    for name, value in facts.items():
        table.add_row(name, _text(value))
    output.print(table)


def _key(name: str) -> str:
    return name.lower().replace("h-tree", "htree").replace("-", "_").replace(" ", "_")


def _text(value: Value) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.3g}"
        case list():
            return ", ".join(f"{item:,}" for item in value)
        case None:
            return "–"
    return value
