"""Times of operations that are to be compared, and the memory of a process."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path

from neuraltrees.training import Trainer


def interleaved(works: Mapping[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """The shortest time of each operation, in seconds; they alternate, so that all see the same load of the machine."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    gc.collect()
    gc.disable()
    for _ in range(turns):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    gc.enable()
    return {name: min(taken) for name, taken in times.items()}


def seconds(work: Callable[[], object], repeats: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """The shortest of several runs; freeing the result of a run is not timed."""
    times = []
    gc.collect()
    gc.disable()
    for _ in range(repeats):
        start = clock()
        result = work()
        times.append(clock() - start)
        del result
    gc.enable()
    return min(times)


def shortest(work: Callable[[], object]) -> float:
    """Once to warm up, then the shortest of up to five runs; a run of more than two seconds is not repeated."""
    times: list[float] = []
    gc.collect()
    while not times or (len(times) < 6 and sum(times) < 2):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
        del result
    return min(times)


def epochs_of(trainer: Trainer) -> Callable[[], None]:
    """Runs the next epoch at every call: all steps, then the accuracies on the validation and the test nodes."""
    numbers = count()
    return lambda: trainer.run_epoch(next(numbers))


def high_water() -> float:
    """Peak memory of this process, in GiB."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    # ru_maxrss only as a fallback: on Linux a child process inherits the value of its parent.
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 2**20
