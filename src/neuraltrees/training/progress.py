"""Progress of a training: a bar in a terminal, a line in a notebook, and a line every half minute in a log."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from neuraltrees.errors import InputError
from neuraltrees.objectives import Metric
from neuraltrees.training.runs import Epoch

if TYPE_CHECKING:
    from rich.console import Console

    from neuraltrees.training.trainer import Trainer

LOG_EVERY = 30.0  # seconds between two lines of a log
REFRESH_EVERY = 0.1
BAR = 5  # columns of the shortest bar, with the space before it

Show = Callable[[Epoch], None]


def wanted_console(progress: bool | None) -> Console | None:
    """The console to show the progress on; None for no progress.

    Args:
        progress: whether to show it; None to show it only in a terminal or in a notebook.
    """
    if progress not in (None, True, False):
        raise InputError(f"Expected progress as True, False or None; got {progress!r}.")
    if progress is False:
        return None
    from rich.console import Console

    console = Console(stderr=True)
    return console if progress or console.is_terminal or console.is_jupyter else None


@contextmanager
def show_progress(trainer: Trainer, console: Console | None) -> Iterator[Show]:
    """Yields a function that shows an epoch, at a rate that suits the console."""
    done, of, metric = trainer.epochs_done, trainer.training.epochs, trainer.objective.metric
    clock = Clock(done)
    if console is None:
        yield lambda epoch: None
    elif console.is_jupyter:
        yield _limited(_notebook_cell(metric, clock), REFRESH_EVERY)
    elif console.is_terminal:
        with _bar(console, done, of) as update:

            def show(epoch: Epoch) -> None:
                update(epoch, in_words(epoch, metric, clock.left(epoch), console.width - BAR))

            yield _limited(show, REFRESH_EVERY)
    else:
        yield _limited(
            lambda epoch: console.print(in_words(epoch, metric, clock.left(epoch)), highlight=False, soft_wrap=True),
            LOG_EVERY,
            at_end=False,
        )


class Clock:
    """Estimates the time that is left from the epochs since it was started.

    Args:
        done: number of epochs that were done before.
    """

    def __init__(self, done: int = 0) -> None:
        self.done, self.start = done, time.monotonic()

    def left(self, epoch: Epoch) -> float:
        """The seconds that are left, if all epochs take as long as those so far and no run stops early."""
        return (time.monotonic() - self.start) / max(1, epoch.number - self.done) * (epoch.of - epoch.number)


def in_words(epoch: Epoch, metric: Metric, left: float, width: int | None = None) -> str:
    """An epoch as a line of text, with means over the runs; if it is wider than `width`, its last parts are left out.

    >>> import torch
    >>> values = [torch.tensor([value]) for value in (0.5, 0.25, 0.3, 0.35)]
    >>> shown = Epoch(7, 1000, *values), Metric("accuracy", lambda answers, y: answers, percent=True), 83.0
    >>> in_words(*shown)
    'epoch    7/1000  0:01:23 left  val 25.0 %  best 35.0 %  loss 0.500'
    >>> in_words(*shown, width=60)
    'epoch    7/1000  0:01:23 left  val 25.0 %  best 35.0 %'
    >>> unknown = Epoch(1, 9, torch.tensor([0.5]), *[torch.tensor([float("nan")])] * 2, torch.tensor([-torch.inf]))
    >>> in_words(unknown, shown[1], 83.0)  # nothing was evaluated yet
    'epoch 1/9  0:01:23 left  val –  best –  loss 0.500'
    """
    minutes, seconds = divmod(round(left), 60)
    means = [float(each.nanmean()) for each in (epoch.val, epoch.best_val)]
    val, best = (metric.show(mean) if math.isfinite(mean) else "–" for mean in means)
    parts = [
        f"epoch {epoch.number:>{len(str(epoch.of))}}/{epoch.of}",
        f"{minutes // 60}:{minutes % 60:02}:{seconds:02} left",
        f"val {val}",
        f"best {best}",
        f"loss {float(epoch.loss.nanmean()):.3f}",
    ]
    while width is not None and len(parts) > 2 and len("  ".join(parts)) > width:
        parts.pop()
    return "  ".join(parts)


def _limited(show: Show, seconds: float, at_end: bool = True) -> Show:
    """The function, called at most once every `seconds`, and if `at_end` also with the last epoch."""
    last = time.monotonic() - (seconds if at_end else 0)

    def limited(epoch: Epoch) -> None:
        nonlocal last
        if time.monotonic() - last >= seconds or (at_end and epoch.number == epoch.of):
            last = time.monotonic()
            show(epoch)

    return limited


@contextmanager
def _bar(console: Console, done: int, of: int) -> Iterator[Callable[[Epoch, str], None]]:
    from rich.progress import BarColumn, Progress, TextColumn

    # The bar fills the width that the text leaves.
    columns = TextColumn("{task.description}", markup=False), BarColumn(bar_width=None)
    with Progress(*columns, console=console, transient=True, auto_refresh=False, expand=True) as progress:
        task = progress.add_task(f"epoch {done}/{of}", total=of, completed=done)
        progress.refresh()

        def update(epoch: Epoch, words: str) -> None:
            progress.update(task, completed=epoch.number, description=words, refresh=True)

        yield update


def _notebook_cell(metric: Metric, clock: Clock) -> Show:
    """Shows every epoch in the same place of a notebook; its last line stays."""
    display = import_module("IPython.display").display  # where there is a notebook, there is IPython
    place: Any = None

    def show(epoch: Epoch) -> None:
        nonlocal place
        content = {"text/plain": in_words(epoch, metric, clock.left(epoch))}
        if place is None:
            place = display(content, raw=True, display_id=True)
        else:
            place.update(content, raw=True)

    return show
