"""Graph and cardinalities → a decomposition with a small total state space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np

from neuraltrees._core import native
from neuraltrees.checks import check_seed
from neuraltrees.decomposition import TreeDecomposition, decompose
from neuraltrees.decomposition.decompose import Method as DecomposeMethod
from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.graph import Graph

Method: TypeAlias = Literal["states"] | DecomposeMethod
METHODS: tuple[str, ...] = ("states", *get_args(DecomposeMethod))


def choose_decomposition(
    graph: Graph, cardinalities: Sequence[int], method: Method = "states", seed: int = 0
) -> TreeDecomposition:
    r"""The decomposition with the smallest :math:`\sum_B \prod_{v \in B} d_v` among many.

    `states` runs several greedy rules on numbers of states and fill, repeatedly with random ties, as long as the search
    costs little compared with the tables that it may save. The other methods are those of `decompose`, which minimise
    the width.

    >>> star = Graph([[0, 0, 0], [1, 2, 3]])
    >>> choose_decomposition(star, [2, 3, 3, 3]).bags
    [(0, 1), (0, 2), (0, 3)]
    """
    check_seed(seed)
    if method not in METHODS:
        raise InputError(
            f"Expected a method out of {', '.join(METHODS)}; got {method!r}.{did_you_mean(method, METHODS)}"
        )
    if method != "states":
        return decompose(graph, method, seed=seed, threads=1)
    bits = np.log2(np.asarray(cardinalities, dtype=np.float64))
    found = native.least_states(graph.indptr, graph.indices, bits, seed)
    return TreeDecomposition._from_arrays(graph.num_nodes, *found, made_for=graph)
