"""The commands of tests end, whatever they leave behind."""

from __future__ import annotations

import sys
import time

import psutil
import pytest

from tests.commands import ended, started

# A process in a session of its own, which outlives its parent and keeps what the parent printed to.
LEFT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(child.pid, flush=True)
"""


def runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_what_a_command_leaves_behind_keeps_nobody_waiting() -> None:
    start = time.monotonic()
    ran = ended([sys.executable, "-c", LEFT], timeout=60)
    assert ran.returncode == 0 and time.monotonic() - start < 60
    assert not runs(int(ran.stdout))


def test_a_command_that_does_not_end_fails_with_what_it_said() -> None:
    script = "import time; print('waiting', flush=True); time.sleep(600)"
    with started([sys.executable, "-c", script]) as running:
        assert running.lines(1, timeout=60) == ["waiting"]
        with pytest.raises(AssertionError, match="no end after 0 s; it said:\nwaiting"):
            running.wait(0.1)
        with pytest.raises(AssertionError, match="no miracle after 0 s"):
            running.until(lambda: False, "miracle", 0.1)
    assert not runs(running.pid)
    with (
        started([sys.executable, "-c", "raise SystemExit(3)"]) as running,
        pytest.raises(AssertionError, match="ended by 3 before line 1"),
    ):
        running.lines(1, timeout=60)
