"""The number of CPU threads of a computation: one if it is small, whatever torch's setting is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, local

import torch

from neuraltrees.nn.network import Network
from neuraltrees.nn.plan import Plan

# Entries of the states per thread. A step consists of about a hundred operations, and threads wait for each other after
# each: if another program uses the same cores, each wait takes a time slice of some milliseconds. One thread computes
# smaller states in less time (see benchmarks/threads.py).
PER_THREAD = 2**20

_lock, _seen, _lowered = Lock(), local(), Counter[int]()
_full = 1


def threads_for(network: Network, plan: Plan) -> int:
    """The number of threads for a network on the graphs of a plan, at most torch's own number.

    It depends only on sizes, not on the load of the machine, since the number of threads changes the rounding of sums.
    """
    states = max(getattr(plan.rounds, "states", ()), default=plan.num_nodes or 1)
    width = max((each.shape[-1] for each in network.parameters() if each.dim()), default=1)
    return max(1, min(torch.get_num_threads(), states * width * (network.runs or 1) // PER_THREAD))


@contextmanager
def computing_with(threads: int) -> Iterator[None]:
    """A context with this number of threads; afterwards torch's own number is restored."""
    global _full
    with _lock:
        before = torch.get_num_threads()
        if not _lowered:
            _full = before
        elif before in _lowered and not hasattr(_seen, "before"):
            # A thread that was started inside another such context has inherited its number of threads.
            before = max(before, _full)
        _seen.before = before
        _lowered[threads] += 1
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        with _lock:
            _lowered[threads] -= 1
            if not _lowered[threads]:
                del _lowered[threads]
            torch.set_num_threads(before)
