"""Graph → tree decomposition."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import numpy as np

from neuraltrees._core import native
from neuraltrees.decomposition.decomposition import TreeDecomposition
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph

Method: TypeAlias = Literal["min_fill", "min_degree", "junction_tree", "exact", "best"]
METHODS: tuple[str, ...] = get_args(Method)

Progress: TypeAlias = Callable[[int, int], object]

DEFAULT_SECONDS = {"exact": 60.0, "best": 10.0}  # of the methods that search


def decompose(
    graph: Graph,
    method: Method = "min_fill",
    *,
    seed: int = 0,
    restarts: int = 4,
    time_limit: float | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> TreeDecomposition:
    """A tree decomposition of every connected component; no bag is contained in another.

    - `min_fill`, `min_degree`: greedy elimination after safe reductions; stops early at the MMD+ lower bound.
    - `junction_tree`: the paper's appendix: a minimal triangulation (MCS-M), its maximal cliques, and a maximum
      spanning tree of their intersections.
    - `exact`: proves the optimum where the time allows, else returns the best it found with its bounds.
    - `best`: looks for a narrower one in the time it has, by random triangulations, recombining their parts, and
      enumeration.

    Args:
        graph: the graph.
        method: one of the above.
        seed: breaks ties; seed 0 prefers the lowest node number. The same seed gives the same result, except that a
            time limit stops `exact` and `best` where the machine got to.
        restarts: how often the greedy methods run at most; the narrowest result counts. The first run is the plain
            rule, later ones break ties at random, and `min_fill` alternates with fill per neighbour.
        time_limit: seconds for `exact` (60 by default) and `best` (10 by default).
        threads: threads over components; all processors by default.
        progress: called with (lower bound, width) several times a second during `exact` and `best`.

    >>> td = decompose(Graph([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> td.width, td.optimal
    (2, True)
    """
    check_method(method)
    check_time_limit(time_limit)
    seconds = time_limit if time_limit is not None else DEFAULT_SECONDS.get(method, 0.0)
    bag_ptr, bag_nodes, edges, lower_bound = native.decompose(
        graph.indptr,
        graph.indices,
        method,
        check_seed(seed),
        check_restarts(restarts),
        float(seconds),
        count_threads(threads),
        progress,
    )
    return TreeDecomposition._from_arrays(graph.num_nodes, bag_ptr, bag_nodes, edges, lower_bound, made_for=graph)


def check_method(method: str) -> None:
    if method not in METHODS:
        raise InputError(f"Expected a method out of {', '.join(METHODS)}; got {method!r}.")


def check_time_limit(time_limit: float | None) -> None:
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"Expected a time_limit of more than 0 seconds; got {time_limit}.")


def check_restarts(restarts: int) -> int:
    return check_at_least("restarts", restarts, 1, 2**31 - 1)


def check_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise InputError(f"Expected a seed between 0 and 2^64 - 1; got {seed!r}.")
    return int(seed)


def check_at_least(name: str, value: int, least: int, most: int = 2**63 - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"Expected {name} as an integer of at least {least}; got {value!r}.")
    if value > most:
        raise InputError(f"Expected {name} as an integer of at most {most}; got {value}.")
    return int(value)


def count_threads(threads: int | None) -> int:
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return check_at_least("threads", threads, 1, 1024)
