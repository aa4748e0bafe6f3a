"""Graph → tree decomposition."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from neuraltrees._core import native
from neuraltrees.checks import check_restarts, check_seed, check_time_limit, count_threads
from neuraltrees.decomposition.decomposition import TreeDecomposition
from neuraltrees.errors import InputError, NeuralTreesWarning, did_you_mean
from neuraltrees.graph import Graph

Method: TypeAlias = Literal["min_fill", "min_degree", "junction_tree", "exact", "best", "canonical"]
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
    refine: Literal["min_fill"] | None = None,
) -> TreeDecomposition:
    """A tree decomposition of every connected component; except with `canonical`, no bag is contained in another.

    - `min_fill`, `min_degree`: greedy elimination after safe reductions; stops early at the MMD+ lower bound. Where
      fill explodes, as in large random graphs, they continue by least degree without counting fill, and put the dense
      rest of the graph into one bag.
    - `junction_tree`: the paper's appendix: a minimal triangulation (MCS-M), its maximal cliques, and a maximum
      spanning tree of their intersections.
    - `exact`: a decomposition of minimum width, with proof; at the time limit the narrowest one found, with a lower
      bound.
    - `best`: starts from `min_fill` and searches for a narrower decomposition until the time limit, by random
      triangulations, recombination of their parts, and enumeration.
    - `canonical`: blocks and cut vertices, and the SPQR tree of every block, which do not depend on the numbers of the
      nodes. Each bag has a `BagKind` (`TreeDecomposition.kinds`), a cycle its cyclic order (`bag_order`). It takes
      linear time and ignores the time limit; 3-connected parts are bags of their own and may be wide (see `refine`).

    All methods can be interrupted (Ctrl-C). Where a cheaper method than the requested one was used, the `note` of the
    decomposition says so; without a `time_limit`, so does a `NeuralTreesWarning`.

    Args:
        graph: the graph; also a NetworkX graph, a PyG `Data`, a sparse matrix or an edge_index (see `Graph.of`).
        method: one of the above.
        seed: breaks ties; seed 0 prefers the lowest node number. The same seed gives the same result, unless the method
            stops at its time limit.
        restarts: maximum number of runs of the greedy methods; the narrowest result is returned. The first run follows
            the plain rule, later ones break ties at random, and `min_fill` alternates with fill per neighbour.
        time_limit: seconds, after which the best valid decomposition so far is returned; 60 by default for `exact`, 10
            for `best`, no limit for the others. `canonical` ignores it.
        threads: number of threads, which work on different components; all processors by default.
        progress: called with (lower bound, width) several times a second; the width is that of the best decomposition
            so far, which may have all nodes that are not eliminated yet in one bag.
        refine: with `min_fill`, the rigid bags of `canonical` are decomposed further, with their virtual edges. The
            resulting bags are of kind OTHER and depend on the numbers of the nodes; all other bags do not.

    >>> td = decompose(Graph([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> td.width, td.optimal
    (2, True)
    >>> from neuraltrees import BagKind
    >>> canonical = decompose(Graph([[0, 1, 2, 3, 0], [1, 2, 3, 0, 4]]), "canonical")
    >>> [(BagKind(kind).name, bag) for kind, bag in zip(canonical.kinds, canonical.bags)]
    [('CYCLE', (0, 1, 2, 3)), ('VERTEX', (0,)), ('BRIDGE', (0, 4))]
    """
    graph = Graph.of(graph)
    check_method(method)
    check_time_limit(time_limit)
    if refine not in (None, "min_fill"):
        raise InputError(f"Expected refine as None or min_fill; got {refine!r}.")
    if refine is not None and method != "canonical":
        raise InputError(f"Expected refine only with method canonical; got {method!r}. Leave refine out.")
    seconds = time_limit if time_limit is not None else DEFAULT_SECONDS.get(method, float("inf"))
    bag_ptr, bag_nodes, edges, lower_bound, shortcut, kinds, bag_order = native.decompose(
        graph.indptr,
        graph.indices,
        method,
        check_seed(seed),
        check_restarts(restarts),
        float(seconds),
        count_threads(threads),
        refine is not None,
        progress,
    )
    note = _note(method, shortcut, limited=seconds < float("inf"))
    if note is not None and time_limit is None:
        warnings.warn(note, NeuralTreesWarning, stacklevel=2)
    return TreeDecomposition._from_arrays(
        graph.num_nodes, bag_ptr, bag_nodes, edges, lower_bound, graph, note, kinds, bag_order
    )


def check_method(method: str) -> None:
    if method not in METHODS:
        raise InputError(
            f"Expected a method out of {', '.join(METHODS)}; got {method!r}.{did_you_mean(method, METHODS)}"
        )


def _note(method: Method, shortcut: int, limited: bool) -> str | None:
    """A sentence about the cheapest shortcut that the core took: 0 none, 1 least degree, 2 one bag."""
    if shortcut == 0:
        return None
    why = f"to keep the time limit of {method}" if limited else f"since the fill of {method} explodes"
    how = "in one bag" if shortcut == 2 else "eliminated by least degree"
    return f"The dense rest of the graph is {how}, {why}; the decomposition is valid, but wide."
