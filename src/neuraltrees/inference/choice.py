"""Graph and cardinalities → the decomposition of least state space that was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from neuraltrees._core import native
from neuraltrees.checks import check_seed
from neuraltrees.decomposition import TreeDecomposition, decompose
from neuraltrees.decomposition.decompose import Method as DecomposeMethod
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph

Method: TypeAlias = Literal["states"] | DecomposeMethod
METHODS: tuple[str, ...] = ("states", *get_args(DecomposeMethod))

# (power of the bag's states, power of its fill, noise in bits); each wins on some public networks. A negative power
# takes much fill among many neighbours for less than the same fill among few.
RULES = ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (-0.25, 1.0, 1.0), (0.5, 1.0, 0.0), (0.0, 1.0, 1.0))
MOST_RUNS = 240
# One greedy run costs about as much as so many table entries do for each node and edge of the graph.
ENTRIES_A_RUN = 80


def choose_decomposition(
    graph: Graph, cardinalities: Sequence[int], method: Method = "states", seed: int = 0
) -> TreeDecomposition:
    r"""The decomposition with the least :math:`\sum_B \prod_{v \in B} d_v` among many.

    `states` runs several greedy rules on the numbers of states and the fill, again and again with other ties while that
    costs little beside the tables that it may save. The other methods are those of `decompose`, which looks at widths.

    >>> star = Graph([[0, 0, 0], [1, 2, 3]])
    >>> choose_decomposition(star, [2, 3, 3, 3]).bags
    [(0, 3), (0, 2), (0, 1)]
    """
    check_seed(seed)
    if method not in METHODS:
        raise InputError(f"Expected a method out of {', '.join(METHODS)}; got {method!r}.")
    if method != "states":
        return decompose(graph, method, seed=seed, threads=1)
    bits = np.log2(np.asarray(cardinalities, dtype=np.float64))
    best = decompose(graph, seed=seed, restarts=1, threads=1)
    if graph.num_edges == 0:  # every node is a bag, whatever the order
        return best
    least = num_states(best, bits)
    for run, (rule, next_seed) in enumerate(_attempts(seed)):
        cost = ENTRIES_A_RUN * (graph.num_nodes + graph.num_edges)
        if run >= len(RULES) and (run >= MOST_RUNS or run * cost > least):
            break
        order = native.weighted_order(
            graph.indptr, graph.indices, bits, *rule, next_seed, float(np.log2(max(least, 1.0)))
        )
        if len(order) < graph.num_nodes:
            continue
        found = TreeDecomposition.from_elimination_order(graph, order)
        if (states := num_states(found, bits)) < least:
            best, least = found, states
    return best


def num_states(decomposition: TreeDecomposition, bits: npt.NDArray[np.float64]) -> float:
    """The sum over the bags of the number of their states; `bits` are the logarithms of the cardinalities to base 2."""
    if len(decomposition.bag_ptr) == 1:
        return 0.0
    filled = np.append(bits[decomposition.bag_nodes], 0.0)  # an empty bag may be the last
    sizes = np.add.reduceat(filled, decomposition.bag_ptr[:-1])
    sizes[np.diff(decomposition.bag_ptr) == 0] = 0.0
    with np.errstate(over="ignore"):
        return float(np.exp2(sizes).sum())


def _attempts(seed: int) -> Iterator[tuple[tuple[float, float, float], int]]:
    turn = 0
    while True:
        for rule in RULES:
            yield rule, (seed + turn) % 2**64
        turn += 1
