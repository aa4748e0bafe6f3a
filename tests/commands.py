"""Commands that tests start: none lasts for ever, and whatever they start in turn ends with them.

What a command says goes to files. A pipe would stay open as long as any process that has inherited it, such as a
training whose torchrun was killed, and reading it to its end would last as long.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

PATIENCE = 200.0  # seconds; below the limit of a test, so that what a command has said is told
MARK = "NEURALTREES_TEST_COMMAND"


class Started:
    """A command that runs; `out` and `errors` are what it has said so far."""

    def __init__(self, process: subprocess.Popen[str], folder: Path, mark: str) -> None:
        self.process, self.folder, self.mark = process, folder, mark
        self.pid = process.pid

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text()

    @property
    def errors(self) -> str:
        return (self.folder / "errors").read_text()

    def wait(self, timeout: float = PATIENCE) -> int:
        """The exit code; fails if there is none after so many seconds."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"no end after {timeout:.0f} s; {self._said()}") from None

    def until(self, condition: Callable[[], object], what: str, timeout: float = PATIENCE) -> None:
        """Waits until something is so; fails if the command ends before, or so many seconds go by."""
        end = time.monotonic() + timeout
        while not condition():
            assert self.process.poll() is None, f"ended by {self.process.returncode} before {what}; {self._said()}"
            assert time.monotonic() < end, f"no {what} after {timeout:.0f} s; {self._said()}"
            time.sleep(0.01)

    def lines(self, count: int, timeout: float = PATIENCE) -> list[str]:
        """The first so many lines that it prints."""
        self.until(lambda: self.out.count("\n") >= count, f"line {count}", timeout)
        return self.out.splitlines()[:count]

    def below(self) -> list[psutil.Process]:
        """The processes that it has started, in other sessions as well, and those that these have started."""
        found = []
        for each in psutil.process_iter():
            with suppress(psutil.Error):
                if each.pid != self.pid and each.environ().get(MARK) == self.mark:
                    found.append(each)
        return found

    def end(self) -> None:
        """Kills it, and then all that it has left behind."""
        self.process.kill()
        self.process.wait(30)
        until = time.monotonic() + 30
        while left := self.below():
            assert time.monotonic() < until, f"cannot end {left}"
            for each in left:
                with suppress(psutil.Error):
                    each.kill()
            psutil.wait_procs(left, timeout=1)

    def _said(self) -> str:
        return f"it said:\n{self.out[-2000:]}\n{self.errors[-4000:]}"


@contextmanager
def started(command: Sequence[object], env: dict[str, str] | None = None, **options: Any) -> Iterator[Started]:
    """A command that ends with the context, and everything that it has started with it."""
    mark = secrets.token_hex(8)
    environment = {**(os.environ if env is None else env), MARK: mark}
    with tempfile.TemporaryDirectory() as folder:
        with (Path(folder) / "out").open("w") as out, (Path(folder) / "errors").open("w") as errors:
            process = subprocess.Popen(
                [*map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                env=environment,
                text=True,
                preexec_fn=_heed_interrupts,
                **options,
            )
        running = Started(process, Path(folder), mark)
        try:
            yield running
        finally:
            running.end()


def _heed_interrupts() -> None:
    """A shell's background job ignores Ctrl-C, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ended(command: Sequence[object], timeout: float = PATIENCE, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command that has ended, with what it has said; fails if it does not end by itself."""
    with started(command, **options) as running:
        code = running.wait(timeout)
        return subprocess.CompletedProcess([*map(str, command)], code, running.out, running.errors)
