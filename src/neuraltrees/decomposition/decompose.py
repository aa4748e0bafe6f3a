"""Graph → tree decomposition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from neuraltrees._core import native
from neuraltrees.checks import check_restarts, check_seed, check_time_limit, count_threads
from neuraltrees.decomposition.decomposition import TreeDecomposition
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph

Method: TypeAlias = Literal["min_fill", "min_degree", "junction_tree", "exact", "best"]
METHODS: tuple[str, ...] = get_args(Method)

ProgressCallback: TypeAlias = Callable[[int, int], object]

DEFAULT_SECONDS = {"exact": 60.0, "best": 10.0}  # default time limits of the methods that search


def decompose(
    graph: Graph,
    method: Method = "min_fill",
    *,
    seed: int = 0,
    restarts: int = 4,
    time_limit: float | None = None,
    threads: int | None = None,
    progress: ProgressCallback | None = None,
) -> TreeDecomposition:
    """A tree decomposition of every connected component; no bag is contained in another.

    - `min_fill`, `min_degree`: greedy elimination after safe reductions; stops early at the MMD+ lower bound.
    - `junction_tree`: the paper's appendix: a minimal triangulation (MCS-M), its maximal cliques, and a maximum
      spanning tree of their intersections.
    - `exact`: a decomposition of minimum width, with proof; at the time limit the narrowest one found, with a lower
      bound.
    - `best`: searches for a narrow decomposition until the time limit, by random triangulations, recombination of their
      parts, and enumeration.

    Args:
        graph: the graph; also a NetworkX graph, a PyG `Data`, a sparse matrix or an edge_index (see `Graph.of`).
        method: one of the above.
        seed: breaks ties; seed 0 prefers the lowest node number. The same seed gives the same result, unless `exact` or
            `best` stops at its time limit.
        restarts: maximum number of runs of the greedy methods; the narrowest result is returned. The first run follows
            the plain rule, later ones break ties at random, and `min_fill` alternates with fill per neighbour.
        time_limit: seconds for `exact` (60 by default) and `best` (10 by default).
        threads: number of threads, over components; all processors by default.
        progress: called with (lower bound, width) several times a second during `exact` and `best`.

    >>> td = decompose(Graph([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> td.width, td.optimal
    (2, True)
    """
    graph = Graph.of(graph)
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
