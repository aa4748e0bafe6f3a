"""Graph → H-tree."""

from __future__ import annotations

import warnings
from typing import Literal, TypeAlias, get_args

import torch

from neuraltrees._core import native
from neuraltrees.checks import check_at_least, check_restarts, check_seed, check_time_limit, count_threads
from neuraltrees.decomposition.decompose import Method, check_method, decompose
from neuraltrees.decomposition.decomposition import TreeDecomposition
from neuraltrees.errors import BYTES_PER_TREE_NODE, InputError, NeuralTreesWarning
from neuraltrees.graph import Graph
from neuraltrees.htree.htree import HTree

MOST_NODES = 2**40  # beyond any memory; keeps the core's counts far from overflow
LARGE_TREE = 20_000_000  # nodes, above which the memory is announced
BITS = {torch.int64: 64, torch.int32: 32, None: 0}

Terminal: TypeAlias = Literal["clique", "bag"]


def build_htree(
    graph: Graph,
    decomposition: TreeDecomposition | None = None,
    method: Method = "min_fill",
    *,
    terminal: Terminal = "clique",
    seed: int = 0,
    restarts: int = 4,
    time_limit: float | None = None,
    max_nodes: int = 50_000_000,
    threads: int | None = None,
    dtype: torch.dtype | None = torch.int64,
) -> HTree:
    """The H-tree: a tree decomposition whose bags are decomposed recursively, down to single nodes.

    The bags of the graph's decomposition are the roots. A bag whose induced subgraph is complete gets one leaf per
    node; any other bag gets the bags of a decomposition of its subgraph as children (Algorithm 1 of the paper). With
    `terminal="bag"` every root gets one leaf per node instead, whatever its subgraph, and the tree stays small. For
    many graphs, build the H-forest of their disjoint union in one call: `build_htree(Graph.union(graphs))`.

    Args:
        graph: the graph, possibly disconnected.
        decomposition: a decomposition of the graph; its trees are split into the graph's components, and bags contained
            in others are merged, unless it is canonical or the bags are terminal. By default
            `decompose(graph, method)`.
        method: how the graph and the bags are decomposed; below the roots `exact`, `best` and `canonical` mean
            `min_fill`.
        terminal: which bags have leaves as children: `clique`, those whose subgraph is complete, as in the paper; or
            `bag`, all roots. The leaves under a root that is a cycle are in its cyclic order.
        seed: breaks ties in the decompositions.
        restarts: see `decompose`.
        time_limit: see `decompose`.
        max_nodes: a larger tree raises `TreeTooLargeError` before memory is allocated for it; a far larger one does so
            within about a second. A `NeuralTreesWarning` announces a tree of more than 20 million nodes.
        threads: number of threads, which work on different components and bags; all processors by default. The tree
            does not depend on it.
        dtype: dtype of the tensors: `torch.int64`, or `torch.int32`, which takes half the memory and raises
            `InputError` for a tree whose numbers do not fit; None for 32 bits where they suffice, else 64.

    >>> square_with_tail = Graph([[0, 0, 1, 2, 2, 3], [1, 2, 3, 3, 4, 4]])
    >>> build_htree(square_with_tail)
    HTree(num_nodes=18, num_roots=3, num_leaves=11, num_components=1, treewidth=2)
    >>> tree = build_htree(square_with_tail, method="canonical", terminal="bag")
    >>> tree.kind.tolist(), tree.kappa.tolist()
    ([3, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0], [-1, -1, -1, 0, 1, 3, 2, 2, 3, 2, 3, 4])
    """
    graph = Graph.of(graph)
    check_method(method)
    check_terminal(terminal)
    if dtype not in BITS:
        raise InputError(f"Expected dtype as torch.int64, torch.int32 or None; got {dtype}.")
    check_time_limit(time_limit)
    if decomposition is not None and not isinstance(decomposition, TreeDecomposition):
        raise InputError(
            f"Expected decomposition as a TreeDecomposition; got {type(decomposition).__name__}. "
            f"Pass k to sample_bounded_treewidth, and a method as method=..."
        )
    if decomposition is None:
        decomposition = decompose(graph, method, seed=seed, restarts=restarts, time_limit=time_limit, threads=threads)
    trusted = decomposition.was_made_for(graph)
    if not trusted:
        decomposition.validate(graph)
    arrays = native.build_htree(
        graph.indptr,
        graph.indices,
        decomposition.bag_ptr,
        decomposition.bag_nodes,
        decomposition.edges,
        decomposition.kinds,
        decomposition.bag_order,
        method,
        check_seed(seed),
        check_restarts(restarts),
        min(check_at_least("max_nodes", max_nodes, 1, 10**30), MOST_NODES),
        count_threads(threads),
        terminal == "bag",
        trusted,
        BITS[dtype],
        _announce,
    )
    return HTree(*(torch.from_numpy(array) for array in arrays if array is not None))


def check_terminal(terminal: str) -> None:
    """Raises `InputError` for an unknown value of `terminal`."""
    if terminal not in get_args(Terminal):
        raise InputError(f"Expected terminal out of {', '.join(get_args(Terminal))}; got {terminal!r}.")


def _announce(nodes: int, bits: int) -> None:
    if nodes > LARGE_TREE:
        warnings.warn(
            f"The H-tree has {nodes:,} nodes and takes about {nodes * BYTES_PER_TREE_NODE * bits / 2**36:.1f} GiB.",
            NeuralTreesWarning,
            stacklevel=3,
        )
