"""Results of benchmarks beside their bars."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

from rich.console import Console
from rich.table import Table

import neuraltrees as nt

NO_BAR = "–"
console = Console(width=150)


class Row(NamedTuple):
    """A result.

    Args:
        what: in words.
        measured: with its unit.
        bar: the target.
        met: whether it is reached.
    """

    what: str
    measured: str
    bar: str = NO_BAR
    met: bool = True


def report(benchmarks: Mapping[str, Callable[..., Iterable[Row]]], chosen: Iterable[str], *given: Any) -> NoReturn:
    """Runs some benchmarks, prints each result when it is there and all of them at the end; the exit code is 1 if a bar
    is missed.

    Args:
        benchmarks: by name; each takes what is `given`.
        chosen: the names of those to run.
    """
    machine = f"{os.cpu_count()} cores ({platform.machine()}), load {os.getloadavg()[0]:.1f}"
    table = Table(title=f"{machine}, Python {platform.python_version()}, neuraltrees {nt.__version__}")
    for column in ("what", "measured", "bar", ""):
        table.add_column(column)
    failed = False
    for name in chosen:
        with console.status(f"running {name}"):
            for row in benchmarks[name](*given):
                console.print(f"{row.what}: [bold]{row.measured}[/] (bar {row.bar})", highlight=False, soft_wrap=True)
                verdict = "" if row.bar == NO_BAR else "met" if row.met else "MISSED"
                table.add_row(row.what, row.measured, row.bar, verdict)
                failed |= not row.met
    console.print(table)
    sys.exit(failed)
