"""Terminal output of the commands: results on standard output, progress and errors on standard error."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from neuraltrees.decomposition.decompose import ProgressCallback
from neuraltrees.errors import InputError, LostProcessError, NeuralTreesWarning

output = Console()
notes = Console(stderr=True)  # progress and remarks; silent with --quiet
errors = Console(stderr=True)

QUIET = 30.0  # seconds without output after which a log gets a line
PIPED = 200  # width in columns of tables written to a file or a pipe

Value = str | int | float | bool | list[int] | None


class Volume:
    """How much the commands print besides their results: `verbose` adds running times and tracebacks of errors."""

    verbose = False

    @classmethod
    def set(cls, quiet: bool, verbose: bool) -> None:
        """Sets the volume for this process; `InputError` if both are True."""
        if quiet and verbose:
            raise InputError("Expected one of --quiet and --verbose; got both.")
        cls.verbose, notes.quiet = verbose, quiet


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner with the elapsed time, removed at the end; without a terminal, a line if it takes long."""
    start = time.perf_counter()
    with _waiting(what):
        yield
    if Volume.verbose:
        say(f"{what}: {time.perf_counter() - start:.2f} s", notes)


@contextmanager
def _waiting(what: str) -> Iterator[None]:
    if not notes.is_terminal:
        told = threading.Timer(QUIET, lambda: notes.print(f"{what} …", highlight=False, markup=False))
        told.daemon = True
        told.start()
        try:
            yield
        finally:
            told.cancel()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=notes, transient=True) as progress:
        progress.add_task(what, total=None)
        yield


@contextmanager
def silent() -> Iterator[None]:
    """A context in which nothing is printed: for all processes of a training but the first, which reports for them."""
    consoles = (output, notes, errors)
    before = [console.quiet for console in consoles]
    for console in consoles:
        console.quiet = True
    try:
        yield
    finally:
        for console, quiet in zip(consoles, before, strict=True):
            console.quiet = quiet


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Yields a function that returns whether Ctrl-C was pressed, for a clean stop; a second Ctrl-C stops at once.

    SIGTERM, which torchrun and batch systems send, has the same effect.
    """
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield pressed.is_set
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def on_signal(number: int, _: object) -> None:
        pressed.set()
        signal.signal(number, before[signal.Signals(number)])

    for number, handler in before.items():
        if handler in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, on_signal)
    after = dict(before)
    try:
        yield pressed.is_set
    except LostProcessError:
        after[signal.SIGTERM] = signal.SIG_IGN  # torchrun ends all processes now; this one first says why
        raise
    finally:
        for number, handler in after.items():
            signal.signal(number, handler)


@contextmanager
def decomposing(what: str, seconds: float | None) -> Iterator[ProgressCallback]:
    """Shows the bounds that a decomposition reports, with a progress bar over its time limit, or else a spinner."""
    first = SpinnerColumn() if seconds is None else BarColumn()
    columns = (TextColumn("{task.description}"), first, TimeElapsedColumn(), TextColumn("{task.fields[bounds]}"))
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        task = progress.add_task(what, total=seconds, bounds="")
        start = time.perf_counter()

        def report(lower_bound: int, width: int) -> None:
            bounds = f"width at most {width:,}, at least {lower_bound:,}"
            progress.update(task, completed=time.perf_counter() - start, bounds=bounds)

        yield report


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Prints the library's warnings on standard error, without the line of code that raised them."""
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
        print(json.dumps({key_of(name): value for name, value in facts.items()}))
        return
    print_table(title, (), [(name, _text(value)) for name, value in facts.items()])


def print_table(
    title: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    best: Container[int] = (),
    console: Console = output,
) -> None:
    """Prints a table; all commands use this look. Numbers are aligned to the right, the first column never wraps.

    Args:
        title: a line above it; "" for none.
        header: names of the columns; none for a list of facts.
        rows: texts.
        best: places of rows to print in bold.
        console: where to print; off a terminal a table is as wide as it needs to be.
    """
    listed = [[str(cell) for cell in row] for row in rows]
    if title:
        console.print(Text(title, style="bold"), soft_wrap=True)
    table = Table(box=None, pad_edge=False, show_header=bool(header), header_style="dim")
    for place in range(max(len(header), *map(len, listed), 0) if listed else len(header)):
        cells = [row[place] for row in listed if place < len(row)]
        right = bool(header) and bool(cells) and all(map(_is_number, cells))
        table.add_column(
            Text(header[place]) if header else "",
            justify="right" if right else "left",
            style="dim" if not header and place == 0 else None,
            no_wrap=right or place == 0,
        )
    for place, row in enumerate(listed):
        table.add_row(*map(Text, row), style="bold" if place in best else None)
    if console.is_terminal:
        console.print(table)
        return
    wide = Console(width=PIPED, file=console.file)
    with wide.capture() as captured:
        wide.print(table)
    console.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def say(text: str, console: Console = output) -> None:
    """Prints a text as it is, without markup; without a terminal, lines are not wrapped."""
    console.print(Text(text), soft_wrap=True)


def _is_number(cell: str) -> bool:
    return (re.match(r"[+−-]?\d", cell) is not None and ":" not in cell) or cell in ("", "–", "nan", "✓")


def key_of(name: str) -> str:
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
