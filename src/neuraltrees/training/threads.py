"""How many CPU threads a computation uses: one where it is small, whatever torch is set to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, local

import torch

from neuraltrees.nn.network import Network
from neuraltrees.nn.plan import Plan

# Entries of the states per thread. A step is some hundred operations, and threads wait for each other after each: with
# another program on the same cores, that is a time slice of some milliseconds every time. Smaller states are computed
# by one thread in less (see benchmarks/threads.py).
PER_THREAD = 2**20

_lock, _seen, _lowered = Lock(), local(), Counter[int]()
_full = 1


def threads_for(network: Network, plan: Plan) -> int:
    """The number of threads that pays off for a network on the graphs of a plan, at most torch's own number.

    It depends on sizes alone, not on how busy the machine is, since the number of threads changes the rounding of sums.
    """
    states = max(getattr(plan.rounds, "states", ()), default=plan.num_nodes or 1)
    width = max((each.shape[-1] for each in network.parameters() if each.dim()), default=1)
    return max(1, min(torch.get_num_threads(), states * width * (network.runs or 1) // PER_THREAD))


@contextmanager
def computing_with(threads: int) -> Iterator[None]:
    """Computes with so many threads, and leaves torch's own number as it was."""
    global _full
    with _lock:
        before = torch.get_num_threads()
        if not _lowered:
            _full = before
        elif before in _lowered and not hasattr(_seen, "before"):
            # A thread that was born while another one computes here has got its number of threads.
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
