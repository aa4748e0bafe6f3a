"""Terminal output of the commands: results on standard output, progress and errors on standard error."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from neuraltrees.decomposition.decompose import ProgressCallback

output = Console()
errors = Console(stderr=True)

QUIET = 30.0  # seconds of silence after which a log gets a line

Value = str | int | float | bool | list[int] | None


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner with the elapsed time, removed at the end; in a log a line, if it takes long."""
    if not errors.is_terminal:
        told = threading.Timer(QUIET, lambda: errors.print(f"{what} …", highlight=False, markup=False))
        told.daemon = True
        told.start()
        try:
            yield
        finally:
            told.cancel()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True) as progress:
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
def searching(what: str, seconds: float) -> Iterator[ProgressCallback]:
    """A progress bar over the time limit, with the bounds that the search reports."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[bounds]}"))
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task(what, total=seconds, bounds="")
        start = time.perf_counter()

        def report(lower_bound: int, width: int) -> None:
            bounds = f"width {width}, at least {lower_bound}"
            progress.update(task, completed=time.perf_counter() - start, bounds=bounds)

        yield report


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
